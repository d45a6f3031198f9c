#include "api/api_zone.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "api/api_answers.hpp"
#include "api/chat_reply.hpp"
#include "api/console_routes.hpp"
#include "api/trpc_answer.hpp"
#include "base/ascii.hpp"
#include "base/sha256.hpp"
#include "http/response.hpp"

namespace millrace::api {
namespace {

using http::Answer;

constexpr std::string_view prefix = "/api/";
constexpr std::string_view metrics_path = "/metrics";
constexpr std::string_view provider_prefix =
    "/webapi/chat/";  // behind it, the name of the provider
constexpr std::string_view lobe_prefix = "/api/agent/";
constexpr std::string_view storage_prefix = "/api/storage/";
// Without a key; their answers tell nothing about anybody.
constexpr std::array<std::string_view, 4> open_paths{"/health", "/livez", "/readyz",
                                                     "/openapi.json"};
constexpr std::array<std::string_view, 2> key_fields{"X-Millrace-API-Key", "X-Undefined-API-Key"};
constexpr std::array<std::string_view, 3> lobe_key_fields{"X-Millrace-API-Key",
                                                          "X-Undefined-API-Key", "X-API-Key"};

constexpr std::chrono::minutes failure_span{1};
constexpr int most_failures = 30;  // of one address in the span
// A check of a password takes time and memory: others who need the pool must not wait for many.
constexpr int most_checks = 2;
constexpr std::size_t most_addresses = 4096;
// Where there are many, those that were used since then stay known.
constexpr std::chrono::hours known_span{24};

Answer json_answer(int status, std::string_view message) {
  return {status,
          {{"Content-Type", "application/json; charset=utf-8"}},
          R"({"error":")" + std::string(message) + R"("})"};
}

// Units: whole seconds.
Answer too_often(std::string_view message, std::chrono::seconds wait) {
  Answer answer = json_answer(429, message);
  answer.headers.add("Retry-After", std::to_string(wait.count()));
  return answer;
}

// Pages of this machine, whatever their port is.
bool is_loopback_origin(std::string_view origin) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!origin.starts_with(scheme)) continue;
    std::string_view host = origin.substr(scheme.size());
    if (host.starts_with("[::1]")) return host.size() == 5 || host[5] == ':';
    host = host.substr(0, host.find(':'));
    if (host == "localhost") return true;
    const bool is_number =
        std::all_of(host.begin(), host.end(), [](char c) { return is_ascii_digit(c) || c == '.'; });
    return is_number && host.starts_with("127.") && std::count(host.begin(), host.end(), '.') == 3;
  }
  return false;
}

bool is_api(std::string_view path) {
  return path.starts_with(prefix) || path.starts_with(trpc_prefix);
}

// Whether clients of LobeHub's ask for it.
bool is_of_lobe(std::string_view path) {
  return path.starts_with(lobe_prefix) || path.starts_with(trpc_prefix);
}

// Where the key of a request for this path may be.
std::span<const std::string_view> key_fields_of(std::string_view path) {
  if (is_of_lobe(path)) return lobe_key_fields;
  return key_fields;
}

// Whether its errors have the shape of the Runtime API's.
bool is_described(std::string_view path) {
  return path.starts_with(prefix) || path == metrics_path;
}

// The body of an error on a path that is not the Runtime API's.
std::string other_error(const Error& error, std::string_view path) {
  if (path.starts_with(trpc_prefix)) return trpc_error_body(error, path);
  return path.starts_with(provider_prefix)
             ? chat_error_json(error, path.substr(provider_prefix.size()))
             : http::error_body(error);
}

bool is_open(std::string_view path) {
  return is_console_path(path) || path == session_path ||
         std::find(open_paths.begin(), open_paths.end(), path) != open_paths.end();
}

// The token of an Authorization header; "" is none.
std::string_view bearer_of(const http::RequestHead& head) {
  constexpr std::string_view scheme = "Bearer ";
  const std::string_view value = head.headers.find("Authorization").value_or("");
  const bool is_bearer =
      value.size() > scheme.size() && equal_ignoring_case(value.substr(0, scheme.size()), scheme);
  return is_bearer ? json::trim(value.substr(scheme.size())) : std::string_view();
}

// The keys that a request has, in the order in which they count.
struct GivenKeys {
  std::vector<std::string_view> fields;
  std::string_view bearer;  // behind a session; "" is none
};

std::string address_and_key(std::string_view remote_address, const http::Caller& caller) {
  return std::string(remote_address).append(1, '\n').append(caller.key);
}

}  // namespace

// Source: contract B.1.
bool takes_bearer(std::string_view path) {
  return !is_api(path) || is_of_lobe(path) || path.starts_with(storage_prefix);
}

namespace {

GivenKeys keys_given(const http::RequestHead& head) {
  GivenKeys given;
  for (const std::string_view field : key_fields_of(head.path)) {
    if (const auto key = head.headers.find(field)) given.fields.push_back(*key);
  }
  // Clients of AG-UI have one header for all servers.
  if (takes_bearer(head.path)) given.bearer = bearer_of(head);
  return given;
}

}  // namespace

ApiZone::ApiZone(const ApiOptions& options, std::shared_ptr<ApiKeys> keys)
    : keys_(std::move(keys)),
      sessions_(options.files.empty() ? std::string() : options.files + ".sessions"),
      origins_(options.origins),
      principal_(options.principal) {}

// Where there are keys, nothing but the open paths is without.
bool ApiZone::has(std::string_view path) const {
  return keys_->are_needed() || is_api(path) || is_open(path);
}

bool ApiZone::trusts(std::string_view given) const {
  const std::string origin = lowered(given);
  return origin == "tauri://localhost" || is_loopback_origin(origin) ||
         std::any_of(origins_.begin(), origins_.end(), [&](const std::string& allowed) {
           return allowed == "*" || equal_ignoring_case(allowed, origin);
         });
}

http::Headers ApiZone::fields(const http::RequestHead& head) const {
  http::Headers fields{{"Vary", "Origin"},
                       {"Access-Control-Allow-Methods", "GET,POST,PATCH,DELETE,OPTIONS"},
                       {"Access-Control-Allow-Headers",
                        "Authorization, Cache-Control, Content-Type, X-Undefined-API-Key, "
                        "X-Millrace-API-Key, X-API-Key, "
                        "Last-Event-ID, Idempotency-Key, X-Request-ID, traceparent"},
                       {"Access-Control-Expose-Headers",
                        "Content-Disposition, Content-Range, ETag, Location, Retry-After, "
                        "X-Request-ID"},
                       {"Access-Control-Max-Age", "86400"}};
  const auto origin = head.headers.find("Origin");
  if (origin && trusts(*origin)) {
    fields.add("Access-Control-Allow-Origin", std::string(*origin));
    fields.add("Access-Control-Allow-Credentials", "true");
  }
  return fields;
}

http::Zone::Admission ApiZone::admit(const http::RequestHead& head, std::string_view remote_address,
                                     bool counts) {
  if (head.method == "OPTIONS") return {Answer{204, {}, {}}, nullptr};
  if (is_open(head.path)) return {};
  if (!keys_->are_needed()) return admit_without_keys(head, remote_address);
  if (has_failed_too_often(remote_address)) return admit_in_spite(head, remote_address, counts);
  const GivenKeys given = keys_given(head);
  for (const std::string_view key : given.fields) {
    if (auto admission = admit_with(key, head, remote_address, counts)) {
      return *std::move(admission);
    }
    count_failure(remote_address);
  }
  if (auto admission = admit_session(head, counts)) return *std::move(admission);
  if (!given.bearer.empty()) {
    if (auto admission = admit_with(given.bearer, head, remote_address, counts)) {
      return *std::move(admission);
    }
    count_failure(remote_address);
  }
  ++counts_.rejected_keys;
  if (is_described(head.path)) return {json_answer(401, "Unauthorized"), nullptr};
  // As all errors of the routes that are not the Runtime API's.
  return {Answer{401,
                 {{"Content-Type", "application/json"}, {"WWW-Authenticate", "Bearer"}},
                 other_error(make_error(Errc::unauthorized), head.path)},
          nullptr};
}

http::Zone::Admission ApiZone::admit_without_keys(const http::RequestHead& head,
                                                  std::string_view remote_address) const {
  // The address of the client of a host is not known here.
  if (remote_address.empty()) {
    return {json_answer(401, "Unauthorized: requests that a host passes on need `api.keys`"),
            nullptr};
  }
  // A page of another site must not use what only this machine can reach.
  const auto origin = head.headers.find("Origin");
  const std::string_view site = head.headers.find("Sec-Fetch-Site").value_or("");
  const bool is_foreign = origin ? !trusts(*origin) : site == "cross-site";
  if (is_foreign) return {json_answer(403, "The origin is not allowed"), nullptr};
  return {std::nullopt, std::make_shared<const http::Caller>(http::Caller{principal_, {}, {}})};
}

std::optional<http::Zone::Admission> ApiZone::admit_with(std::string_view key,
                                                         const http::RequestHead& head,
                                                         std::string_view remote_address,
                                                         bool counts) {
  ApiKeys::Found found = keys_->find(key, counts);
  if (!found.caller) return std::nullopt;
  remember(remote_address, *found.caller);
  return admitted(std::move(found), head.path);
}

// Many clients may share an address, and one of them must not lock the others out. Any other key
// has the same answer whether it is right or wrong, so that guesses learn nothing.
http::Zone::Admission ApiZone::admit_in_spite(const http::RequestHead& head,
                                              std::string_view remote_address, bool counts) {
  if (auto admission = admit_session(head, counts)) return *std::move(admission);
  GivenKeys given = keys_given(head);
  if (!given.bearer.empty()) given.fields.push_back(given.bearer);
  for (const std::string_view key : given.fields) {
    const ApiKeys::Found found = keys_->find(key, false);
    const bool is_known =
        found.caller && known_.contains(address_and_key(remote_address, *found.caller));
    if (!is_known) continue;
    if (auto admission = admit_with(key, head, remote_address, counts)) {
      return *std::move(admission);
    }
  }
  ++counts_.limited_addresses;
  Admission admission{too_often("Too many failed attempts", std::chrono::minutes{1}), nullptr};
  if (!is_described(head.path)) {
    admission.refusal->body =
        other_error(make_error(Errc::rate_limited, "Too many failed attempts."), head.path);
  }
  return admission;
}

void ApiZone::remember(std::string_view remote_address, const http::Caller& caller) {
  if (remote_address.empty()) return;
  const auto now = Clock::now();
  if (known_.size() >= most_addresses) {
    std::erase_if(known_, [&](const auto& entry) { return now - entry.second > known_span; });
  }
  std::string entry = address_and_key(remote_address, caller);
  if (known_.size() < most_addresses || known_.contains(entry)) {
    known_.insert_or_assign(std::move(entry), now);
  }
}

ApiKeys::Found ApiZone::find_session(std::string_view token, bool counts) {
  const auto key = sessions_.key_of(token);
  if (!key) return {};
  ApiKeys::Found found = keys_->find_hash(*key, counts);
  if (found.caller && !sessions_.has_old_password(token, found.password)) return found;
  sessions_.end(token);
  return {};
}

// A cookie is sent by the browser, whatever page has the request made: only one of this server
// counts.
std::optional<http::Zone::Admission> ApiZone::admit_session(const http::RequestHead& head,
                                                            bool counts) {
  ApiKeys::Found found = find_session(session_token(head.headers), counts);
  if (!found.caller) return std::nullopt;
  const bool changes = head.method != "GET" && head.method != "HEAD";
  if (is_own_page(head.headers, changes)) return admitted(std::move(found), head.path);
  constexpr std::string_view why = "A session counts on a page of this server alone";
  Admission admission{json_answer(403, why), nullptr};
  if (!is_described(head.path)) {
    const Error error = make_error(Errc::origin_not_allowed, std::string(why) + ".");
    admission.refusal->body = other_error(error, head.path);
  }
  return admission;
}

http::Zone::Admission ApiZone::admitted(ApiKeys::Found found, std::string_view path) {
  Admission admission{std::nullopt, std::move(found.caller)};
  if (!found.wait) return admission;
  ++counts_.limited_keys;
  admission.refusal = too_often("The limit of the key is reached", *found.wait);
  if (is_described(path)) return admission;
  const Error error = make_error(Errc::rate_limited, "The limit of the key is reached.");
  admission.refusal->body = other_error(error, path);
  return admission;
}

bool ApiZone::may_try(std::string_view who) {
  if (has_failed_too_often(who)) return false;
  count_failure(who);
  return true;
}

bool ApiZone::begin_check() {
  if (checks_ >= most_checks) return false;
  ++checks_;
  return true;
}

void ApiZone::forgive(std::string_view who) {
  const auto found = failures_.find(who);
  if (found != failures_.end() && found->second.count > 0) --found->second.count;
}

bool ApiZone::has_failed_too_often(std::string_view who) {
  const auto found = failures_.find(who);
  if (found == failures_.end()) return false;
  if (Clock::now() - found->second.since > failure_span) {
    failures_.erase(found);
    return false;
  }
  return found->second.count >= most_failures;
}

// A host that does not know who asks must not lock all out for the guesses of one.
void ApiZone::count_failure(std::string_view who) {
  if (who.empty()) return;
  if (failures_.size() >= most_addresses) {
    std::erase_if(failures_, [now = Clock::now()](const auto& entry) {
      return now - entry.second.since > failure_span;
    });
    if (failures_.size() >= most_addresses) return;
  }
  Failures& failures = failures_[std::string(who)];
  if (failures.count++ == 0) failures.since = Clock::now();
}

Answer ApiZone::unknown(std::string_view allow) const {
  const http::Headers text{{"Content-Type", "text/plain; charset=utf-8"}};
  if (allow.empty()) return {404, text, "404: Not Found"};
  Answer answer{405, text, "405: Method Not Allowed"};
  answer.headers.add("Allow", std::string(allow));
  return answer;
}

http::ErrorBody ApiZone::error_body(std::string_view path) const {
  return is_described(path) || is_open(path) ? api_error_body : nullptr;
}

}  // namespace millrace::api
