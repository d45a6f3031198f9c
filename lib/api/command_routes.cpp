#include "api/command_routes.hpp"

#include <algorithm>
#include <utility>

#include "api/api_answers.hpp"

namespace millrace::api {
namespace {

using json::Tree;

constexpr std::size_t command_place = 3;  // /api/v1/commands/<name>

// The query of a request, whose parts a CatalogueQuery looks at.
struct CommandQuery {
  std::string scope;
  std::string text;
  std::string sender;
  std::string user;
  std::string group;
  std::string hidden;
  std::string unavailable;

  explicit CommandQuery(const http::Request& request)
      : scope(request.query_value("scope").value_or("")),
        text(request.query_value("q").value_or("")),
        sender(request.query_value("sender_id").value_or("")),
        user(request.query_value("user_id").value_or("")),
        group(request.query_value("group_id").value_or("")),
        hidden(request.query_value("include_hidden").value_or("")),
        unavailable(request.query_value("include_unavailable").value_or("")) {}

  [[nodiscard]] chat::CatalogueQuery view() const {
    return {scope, text, hidden, unavailable, sender, user, group};
  }
};

chat::CatalogueSettings settings_of(const ApiOptions& options) {
  chat::CatalogueSettings settings;
  settings.superadmin = options.superadmin_id;
  settings.virtual_user = options.user_id;
  settings.permission_of = [&options](std::int64_t id) {
    if (id == options.superadmin_id) return chat::Permission::superadmin;
    const auto& admins = options.admin_ids;
    return std::find(admins.begin(), admins.end(), id) == admins.end() ? chat::Permission::everyone
                                                                       : chat::Permission::admin;
  };
  return settings;
}

}  // namespace

Commands::Commands(ApiContextPtr context)
    : context_(std::move(context)), dispatcher_(chat::CommandTexts::compatible()) {}

void Commands::refresh(std::function<void(const Result<void>&)> ready) {
  context_->ask("commands", Tree::integer(revision_),
                [weak = weak_from_this(), ready = std::move(ready)](const Result<Tree>& declared) {
                  const auto self = weak.lock();
                  if (!self) return ready(make_error(Errc::engine_closed));
                  if (!declared) return ready(declared.error());
                  ready(self->take(declared.value()));
                });
}

Result<void> Commands::take(const Tree& declared) {
  const std::int64_t revision = declared["revision"].integer_or(0);
  if (revision == revision_) return {};
  chat::CommandRegistry registry;
  for (const Tree& declaration : declared["commands"].items()) {
    auto command = chat::read_command(declaration);
    if (!command) return std::move(command).error();
    registry.add(std::move(command).value());
  }
  dispatcher_.registry = std::move(registry);
  revision_ = revision;
  return {};
}

chat::CommandDecision Commands::decide(std::string_view text, const std::string& principal) {
  chat::CommandSender sender;
  sender.id = principal;
  sender.permission = chat::Permission::superadmin;
  return dispatcher_.decide(text, sender, store::system_clock()());
}

std::vector<ApiRoute> command_routes(const ApiContextPtr& context, const CommandsPtr& commands) {
  const auto answer = [context, commands](const http::Request& request, const ResponsePtr& response,
                                          bool is_one) {
    commands->refresh([context, commands, response, query = CommandQuery(request),
                       name = request.path_segment(command_place),
                       is_one](const Result<void>& refreshed) {
      if (!refreshed) return send_failure(response, refreshed.error());
      const auto settings = settings_of(context->options);
      const chat::CommandRegistry& registry = commands->dispatcher().registry;
      if (!is_one) {
        return send_json(response, 200, chat::command_catalogue(registry, query.view(), settings));
      }
      const auto detail = chat::command_detail(registry, name, query.view(), settings);
      if (!detail) return send_refusal(response, 404, "Command not found");
      send_json(response, 200, *detail);
    });
  };
  constexpr std::string_view query =
      "scope:string q:string include_hidden:boolean include_unavailable:boolean sender_id:integer "
      "user_id:integer group_id:integer";
  return {
      {"GET", "/api/v1/commands", "read", "Slash commands.",
       [answer](http::Request&& request, const ResponsePtr& response) {
         answer(request, response, false);
       },
       "", "Commands", 200, 0, query},
      {"GET", "/api/v1/commands/{command_name}", "read", "One slash command.",
       [answer](http::Request&& request, const ResponsePtr& response) {
         answer(request, response, true);
       },
       "", "Commands", 200, 0, query},
  };
}

}  // namespace millrace::api
