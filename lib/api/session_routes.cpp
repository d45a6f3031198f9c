#include "api/session_routes.hpp"

#include <optional>
#include <string>
#include <utility>

#include "api/api_answers.hpp"
#include "base/sha256.hpp"

namespace millrace::api {
namespace {

using json::Tree;
using ZonePtr = std::shared_ptr<ApiZone>;

constexpr std::string_view foreign_page = "A session begins and ends on a page of this server";
constexpr std::size_t longest_secret = 1024;
// A hash of no password: checking an unknown name takes as long as checking a wrong password.
constexpr std::string_view no_password =
    "scrypt$32768$8$1$AAAAAAAAAAAAAAAAAAAAAA==$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

// A browser sends the scheme of its page with each POST. What another client makes of it concerns
// its own cookie alone.
bool is_secure(const http::Headers& headers) {
  return headers.find("Origin").value_or("").starts_with("https://") ||
         headers.find("X-Forwarded-Proto").value_or("") == "https";
}

void describe(Tree& body, const http::Caller& caller) {
  body.set("principal", caller.principal);
  body.set("key", caller.key);
  Tree& scopes = body.set("scopes", Tree::array());
  for (const std::string& scope : caller.scopes) scopes.push(Tree::text(scope));
  if (!caller.scopes.empty()) return;
  for (const std::string_view scope : key_scopes) scopes.push(Tree::text(scope));
}

void send_with_cookie(const ResponsePtr& response, const Tree& body, std::string cookie) {
  http::Headers headers{{"Content-Type", "application/json; charset=utf-8"},
                        {"Cache-Control", "no-store"}};
  headers.add("Set-Cookie", std::move(cookie));
  (void)response->send(200, headers, body.to_json(json::Surrogates::replace));
}

// Units: `wait` in seconds.
void send_too_many(const ResponsePtr& response, std::string_view what, int wait) {
  Tree body = Tree::object();
  body.set("error", what);
  (void)response->send(
      429,
      {{"Content-Type", "application/json; charset=utf-8"}, {"Retry-After", std::to_string(wait)}},
      body.to_json());
}

// What failures are counted by: the address, or without one the user whose password was tried. A
// key without an address is not counted: it is too long to be guessed.
std::string counted_for(const http::Request& request, const Tree& given) {
  if (!request.remote_address.empty() || !given["user"].is_string()) return request.remote_address;
  return "user " + sha256_hex(given["user"].string());
}

// What a login has proved.
struct Proof {
  std::string who;       // for whom failures are counted
  std::string sha256;    // of the key
  std::string password;  // of the key, encoded; "": the key itself was sent
};

// The attempt was counted as a failure, until it is known to be none.
void begin_session(const ZonePtr& zone, const http::Request& request, const Proof& proof,
                   const ResponsePtr& response) {
  const ApiKeys::Found found = zone->keys().find_hash(proof.sha256, false);
  // Another password may have been set while this one was checked.
  const bool is_old = !proof.password.empty() && proof.password != found.password;
  if (!found.caller || is_old) return send_refusal(response, 401, "Unauthorized");
  zone->forgive(proof.who);
  const Sessions::Begun begun = zone->sessions().begin(proof.sha256, proof.password);
  Tree body = Tree::object();
  body.set("ok", Tree::flag(true));
  describe(body, *found.caller);
  body.set("expires_at", Tree::integer(begun.ends_ms));
  send_with_cookie(response, body, session_cookie(begun.token, is_secure(request.headers)));
}

void begin_with_password(const ApiContextPtr& context, const ZonePtr& zone, http::Request&& request,
                         const std::string& who, const Tree& given, const ResponsePtr& response) {
  const ApiKey* const key = zone->keys().by_name(given["user"].string());
  const bool has_password = key != nullptr && !key->password.empty();
  const std::string encoded(has_password ? std::string_view(key->password) : no_password);
  auto shared = std::make_shared<http::Request>(std::move(request));
  const auto ticket = context->pool.run(
      [zone, shared, response, who, encoded, sha256 = has_password ? key->sha256 : std::string(),
       password = std::string(given["password"].string())]() -> std::function<void()> {
        const bool is_right = is_password(encoded, password);
        return [zone, shared, response, proof = Proof{who, sha256, encoded}, is_right] {
          zone->end_check();
          if (!is_right) return send_refusal(response, 401, "Unauthorized");
          begin_session(zone, *shared, proof, response);
        };
      });
  if (ticket) return;
  zone->end_check();
  zone->forgive(who);
  send_failure(response, ticket.error());
}

void log_in(const ApiContextPtr& context, const ZonePtr& zone, http::Request&& request,
            const ResponsePtr& response) {
  const bool is_of_browser =
      request.headers.find("Sec-Fetch-Site") || request.headers.find("Origin");
  if (is_of_browser && !is_own_page(request.headers, true)) {
    return send_refusal(response, 403, foreign_page);
  }
  if (!zone->keys().are_needed()) return send_refusal(response, 400, "The server needs no key");
  const auto body = object_in(request, response);
  if (!body) return;
  const Tree& given = *body;
  const bool has_key = given["key"].is_string();
  const bool has_user = given["user"].is_string() && given["password"].is_string();
  const std::size_t bytes = given["key"].string().size() + given["password"].string().size();
  if (has_key == has_user || bytes > longest_secret) {
    return send_refusal(response, 400, "The body must have a key, or a user and a password");
  }
  // An attempt that is not made is no failure.
  if (has_user && !zone->begin_check()) {
    return send_too_many(response, "Too many logins at once", 1);
  }
  const std::string who = counted_for(request, given);
  if (!zone->may_try(who)) {
    if (has_user) zone->end_check();
    return send_too_many(response, "Too many failed attempts", 60);
  }
  if (has_user) return begin_with_password(context, zone, std::move(request), who, given, response);
  begin_session(zone, request, {who, sha256_hex(given["key"].string()), {}}, response);
}

void log_out(const ZonePtr& zone, const http::Request& request, const ResponsePtr& response) {
  if (!is_own_page(request.headers, true)) return send_refusal(response, 403, foreign_page);
  zone->sessions().end(session_token(request.headers));
  Tree body = Tree::object();
  body.set("ok", Tree::flag(true));
  send_with_cookie(response, body, session_cookie({}, is_secure(request.headers)));
}

void show(const ZonePtr& zone, const http::Request& request, const ResponsePtr& response) {
  const auto found = is_own_page(request.headers, false)
                         ? zone->find_session(session_token(request.headers), false)
                         : ApiKeys::Found();
  Tree body = Tree::object();
  body.set("required", Tree::flag(zone->keys().are_needed()));
  body.set("active", Tree::flag(found.caller != nullptr));
  if (found.caller) describe(body, *found.caller);
  (void)response->send(
      200, {{"Content-Type", "application/json; charset=utf-8"}, {"Cache-Control", "no-store"}},
      body.to_json(json::Surrogates::replace));
}

}  // namespace

std::vector<ApiRoute> session_routes(const ApiContextPtr& context, const ZonePtr& zone) {
  const std::string_view path = session_path;
  return {
      {"GET", path, "", "Whether requests need a key, and whether a session has one.",
       [zone](http::Request&& request, const ResponsePtr& response) {
         show(zone, request, response);
       },
       "", "Session"},
      {"POST", path, "", "Begins a session with a key, or with a user and a password.",
       [context, zone](http::Request&& request, const ResponsePtr& response) {
         log_in(context, zone, std::move(request), response);
       },
       "Login", "SessionBegun"},
      {"DELETE", path, "", "Ends the session.",
       [zone](http::Request&& request, const ResponsePtr& response) {
         log_out(zone, request, response);
       },
       "", "Ok"},
  };
}

}  // namespace millrace::api
