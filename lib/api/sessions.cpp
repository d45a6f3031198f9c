#include "api/sessions.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "api/private_file.hpp"
#include "base/ascii.hpp"
#include "base/base64.hpp"
#include "base/json_tree.hpp"
#include "base/sha256.hpp"
#include "model/auth/crypto.hpp"
#include "store/backend.hpp"

namespace millrace::api {
namespace {

using json::Tree;
namespace crypto = model::crypto;

constexpr std::size_t token_bytes = 32;
constexpr std::size_t most_sessions = 4096;
constexpr std::int64_t session_ms = std::int64_t{12} * 3600 * 1000;
constexpr std::string_view cookie_name = "millrace_session";

std::string_view without_scheme(std::string_view origin) {
  const std::size_t mark = origin.find("://");
  return mark == std::string_view::npos ? std::string_view() : origin.substr(mark + 3);
}

// The next part before a '$', which is cut off with it.
std::string_view next_part(std::string_view& rest) {
  const std::string_view part = rest.substr(0, rest.find('$'));
  rest.remove_prefix(std::min(rest.size(), part.size() + 1));
  return part;
}

std::size_t number_of(std::string_view text) {
  std::size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ec == std::errc() && read.ptr == end ? number : 0;
}

}  // namespace

Sessions::Sessions(std::string file) : file_(std::move(file)) {
  load();
}

Sessions::Begun Sessions::begin(const std::string& key_sha256, std::string_view password) {
  const std::int64_t now = store::system_clock()();
  std::erase_if(sessions_, [now](const auto& entry) { return entry.second.ends_ms <= now; });
  if (sessions_.size() >= most_sessions) {
    sessions_.erase(std::min_element(
        sessions_.begin(), sessions_.end(),
        [](const auto& a, const auto& b) { return a.second.ends_ms < b.second.ends_ms; }));
  }
  Begun begun{crypto::base64url(crypto::random_bytes(token_bytes)), now + session_ms};
  Session session{key_sha256, begun.ends_ms};
  if (!password.empty()) session.password = sha256_hex(password);
  sessions_.insert_or_assign(sha256_hex(begun.token), std::move(session));
  store();
  return begun;
}

std::optional<std::string> Sessions::key_of(std::string_view token) const {
  if (token.empty()) return std::nullopt;
  const auto found = sessions_.find(sha256_hex(token));
  const bool is_there = found != sessions_.end() && found->second.ends_ms > store::system_clock()();
  return is_there ? std::optional(found->second.key) : std::nullopt;
}

bool Sessions::has_old_password(std::string_view token, std::string_view password) const {
  const auto found = sessions_.find(sha256_hex(token));
  if (found == sessions_.end() || found->second.password.empty()) return false;
  return found->second.password != sha256_hex(password);
}

void Sessions::end(std::string_view token) {
  if (sessions_.erase(sha256_hex(token)) > 0) store();
}

// What cannot be read is as if it were not there: users log in again.
void Sessions::load() {
  if (file_.empty()) return;
  const auto text = read_private_file(file_);
  const auto parsed = text ? Tree::parse(*text) : Result<Tree>(Tree());
  if (!parsed) return;
  for (const Tree& item : parsed.value()["sessions"].items()) {
    Session session{std::string(item["key"].string()), item["endsAt"].integer_or(0),
                    std::string(item["password"].string())};
    sessions_.insert_or_assign(std::string(item["sha256"].string()), std::move(session));
  }
}

void Sessions::store() const {
  if (file_.empty()) return;
  Tree list = Tree::array();
  for (const auto& [hash, session] : sessions_) {
    Tree& item = list.push(Tree::object());
    item.set("sha256", hash);
    item.set("key", session.key);
    item.set("endsAt", Tree::integer(session.ends_ms));
    if (!session.password.empty()) item.set("password", session.password);
  }
  Tree all = Tree::object();
  all.set("version", Tree::integer(1));
  all.set("sessions", std::move(list));
  // Where it cannot be written, sessions end with the process.
  static_cast<void>(write_private_file(file_, all.to_json() + "\n"));
}

std::string_view session_token(const http::Headers& headers) {
  for (const http::Header& field : headers) {
    if (!equal_ignoring_case(field.name, "Cookie")) continue;
    std::string_view rest = field.value;
    while (!rest.empty()) {
      const std::string_view part = rest.substr(0, rest.find(';'));
      rest.remove_prefix(std::min(rest.size(), part.size() + 1));
      const std::string_view pair = json::trim(part);
      const std::size_t equals = pair.find('=');
      if (equals != pair.npos && pair.substr(0, equals) == cookie_name) {
        return pair.substr(equals + 1);
      }
    }
  }
  return {};
}

std::string session_cookie(std::string_view token, bool is_secure) {
  std::string cookie(cookie_name);
  cookie.append("=").append(token).append("; Path=/; HttpOnly; SameSite=Strict");
  if (token.empty()) cookie.append("; Max-Age=0");
  if (is_secure) cookie.append("; Secure");
  return cookie;
}

bool is_own_page(const http::Headers& headers, bool changes) {
  if (const auto site = headers.find("Sec-Fetch-Site")) {
    return *site == "same-origin" || (*site == "none" && !changes);
  }
  const auto origin = headers.find("Origin");
  if (!origin) return !changes;
  const std::string_view host = headers.find("Host").value_or("");
  return !host.empty() && equal_ignoring_case(without_scheme(*origin), host);
}

bool is_password(std::string_view encoded, std::string_view password) {
  const std::string_view method = next_part(encoded);
  crypto::ScryptCost cost;
  for (std::size_t* each : {&cost.cost, &cost.block_size, &cost.parallel}) {
    *each = number_of(next_part(encoded));
  }
  const auto salt = base64::decode(next_part(encoded));
  const auto hash = base64::decode(encoded);
  if (method != "scrypt" || !salt || !hash || hash->empty()) return false;
  const auto derived = crypto::scrypt(password, *salt, cost, hash->size());
  return derived && equal_in_constant_time(*derived, *hash);
}

}  // namespace millrace::api
