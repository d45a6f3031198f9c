#include "api/absent_routes.hpp"

#include <array>

#include "api/api_answers.hpp"

namespace millrace::api {
namespace {

struct AbsentRow {
  std::string_view method;
  std::string_view path;
  int status;
  std::string_view message;
  std::string_view summary;
};

constexpr int bad_request = 400;
constexpr int unavailable = 503;
constexpr std::string_view no_memes = "Meme service disabled";
constexpr std::string_view no_scheduler = "Scheduler unavailable";
constexpr std::string_view no_cognition = "Cognitive service disabled";
constexpr std::string_view no_wechat = "WeChat service not ready";

constexpr std::array<AbsentRow, 36> rows{{
    {"GET", "/api/v1/memes", bad_request, no_memes, "Lists or finds memes."},
    {"GET", "/api/v1/memes/stats", bad_request, no_memes, "Counts memes."},
    {"GET", "/api/v1/memes/{uid}", bad_request, no_memes, "Describes a meme."},
    {"PATCH", "/api/v1/memes/{uid}", bad_request, no_memes, "Changes a meme."},
    {"DELETE", "/api/v1/memes/{uid}", bad_request, no_memes, "Removes a meme."},
    {"GET", "/api/v1/memes/{uid}/blob", bad_request, no_memes, "The file of a meme."},
    {"GET", "/api/v1/memes/{uid}/preview", bad_request, no_memes, "The preview of a meme."},
    {"POST", "/api/v1/memes/{uid}/reanalyze", bad_request, no_memes, "Describes a meme anew."},
    {"POST", "/api/v1/memes/{uid}/reindex", bad_request, no_memes, "Indexes a meme anew."},
    {"GET", "/api/v1/schedules", unavailable, no_scheduler, "Lists schedules."},
    {"POST", "/api/v1/schedules", unavailable, no_scheduler, "Creates a schedule."},
    {"GET", "/api/v1/schedules/{task_id}", unavailable, no_scheduler, "Describes a schedule."},
    {"PATCH", "/api/v1/schedules/{task_id}", unavailable, no_scheduler, "Changes a schedule."},
    {"DELETE", "/api/v1/schedules/{task_id}", unavailable, no_scheduler, "Removes a schedule."},
    {"GET", "/api/v1/automations", unavailable, no_scheduler, "Lists automations."},
    {"POST", "/api/v1/automations", unavailable, no_scheduler, "Creates an automation."},
    {"GET", "/api/v1/automations/catalog", unavailable, no_scheduler,
     "What automations can be made of."},
    {"POST", "/api/v1/automations/validate", unavailable, no_scheduler, "Checks an automation."},
    {"GET", "/api/v1/automations/{task_id}", unavailable, no_scheduler, "Describes an automation."},
    {"PATCH", "/api/v1/automations/{task_id}", unavailable, no_scheduler, "Changes an automation."},
    {"DELETE", "/api/v1/automations/{task_id}", unavailable, no_scheduler,
     "Removes an automation."},
    {"GET", "/api/v1/cognitive/events", bad_request, no_cognition, "Finds events."},
    {"GET", "/api/v1/cognitive/profiles", bad_request, no_cognition, "Finds profiles."},
    {"GET", "/api/v1/cognitive/profile/{entity_type}/{entity_id}", bad_request, no_cognition,
     "A profile."},
    {"GET", "/api/v1/weixin", unavailable, no_wechat, "The state of the channel."},
    {"POST", "/api/v1/weixin/login", unavailable, no_wechat, "Begins a login."},
    {"GET", "/api/v1/weixin/login/{session_id}", unavailable, no_wechat, "The state of a login."},
    {"DELETE", "/api/v1/weixin/login/{session_id}", unavailable, no_wechat, "Ends a login."},
    {"POST", "/api/v1/weixin/login/{session_id}/refresh", unavailable, no_wechat,
     "Begins a login anew."},
    {"POST", "/api/v1/weixin/login/{session_id}/verify", unavailable, no_wechat,
     "Gives the code of a login."},
    {"GET", "/api/v1/weixin/login/{session_id}/qr.png", unavailable, no_wechat,
     "The picture of a login."},
    {"PATCH", "/api/v1/weixin/accounts/{alias}", unavailable, no_wechat, "Changes an account."},
    {"DELETE", "/api/v1/weixin/accounts/{alias}", unavailable, no_wechat, "Removes an account."},
    {"GET", "/api/v1/weixin/pending", unavailable, no_wechat, "Senders that are not known."},
    {"DELETE", "/api/v1/weixin/pending/{id}", unavailable, no_wechat, "Drops an unknown sender."},
    {"GET", "/api/v1/weixin/audit", unavailable, no_wechat, "What was done with accounts."},
}};

}  // namespace

std::vector<ApiRoute> absent_routes() {
  std::vector<ApiRoute> routes;
  for (const AbsentRow& row : rows) {
    routes.push_back({row.method, row.path, "read", row.summary,
                      [&row](http::Request&&, const ResponsePtr& response) {
                        send_refusal(response, row.status, row.message);
                      },
                      "", "Refusal", row.status});
  }
  return routes;
}

}  // namespace millrace::api
