#include "api/api_answers.hpp"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <system_error>

#include "api/jobs.hpp"
#include "base/json.hpp"
#include "chat/text.hpp"
#include "os/random_ids.hpp"
#include "store/types.hpp"

namespace millrace::api {
using json::Tree;

void send_json(const ResponsePtr& response, int status, const Tree& body) {
  (void)response->send(
      status, {{"Content-Type", "application/json; charset=utf-8"}, {"Cache-Control", "no-store"}},
      body.to_json(json::Surrogates::replace));
}

void send_refusal(const ResponsePtr& response, int status, std::string_view message) {
  Tree body = Tree::object();
  body.set("error", message);
  send_json(response, status, body);
}

void send_failure(const ResponsePtr& response, const Error& error) {
  (void)response->send_error(error);
}

std::string api_error_body(const Error& error, std::string_view path) {
  static_cast<void>(path);
  std::string body = "{";
  json::append_member(body, "error", error.message);
  json::append_member(body, "code", error.code_name());
  return body + "}";
}

std::optional<Tree> object_in(const http::Request& request, const ResponsePtr& response) {
  auto parsed = Tree::parse(request.body);
  if (parsed && parsed.value().is_object()) return std::move(parsed).value();
  send_refusal(response, 400, parsed ? "JSON body must be an object" : "Invalid JSON");
  return std::nullopt;
}

std::optional<Tree> turn_in(const http::Request& request, const ResponsePtr& response) {
  auto body = object_in(request, response);
  if (!body || (*body)["body"].is_null()) return body;
  send_failure(response, make_error(Errc::invalid_body,
                                    "`body` is a setting of the host, which no request gives."));
  return std::nullopt;
}

bool is_known(const http::Request& request, std::string_view tag) {
  std::string_view tags = request.headers.find("If-None-Match").value_or("");
  while (!tags.empty()) {
    const std::size_t comma = std::min(tags.find(','), tags.size());
    std::string_view one = json::trim(tags.substr(0, comma));
    if (one.starts_with("W/")) one.remove_prefix(2);
    if (one == tag || one == "*") return true;
    tags.remove_prefix(std::min(comma + 1, tags.size()));
  }
  return false;
}

std::optional<std::int64_t> number_in(const http::Request& request, std::string_view name,
                                      std::int64_t least) {
  const auto text = request.query_value(name);
  if (!text) return std::nullopt;
  const std::string_view digits = json::trim(*text);
  std::int64_t number = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_whole = failed == std::errc() && end == digits.data() + digits.size();
  if (!is_whole || number < least) return std::nullopt;
  return number;
}

std::string hex_id() {
  std::string id = os::RandomIds().next_id();
  std::erase(id, '-');
  return id;
}

std::string ordered_hex_id() {
  return job_id(store::RunId::next());
}

std::int64_t utc_offset_minutes(std::int64_t now_ms) {
  const std::time_t seconds = now_ms / 1000;
  std::tm parts{};
  localtime_r(&seconds, &parts);
  return parts.tm_gmtoff / 60;
}

std::string local_time(std::int64_t at_ms, char separator) {
  return chat::time_text(at_ms, utc_offset_minutes(at_ms), separator);
}

}  // namespace millrace::api
