#include "tool/mcp/jsonrpc.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/ascii.hpp"
#include "base/json_tree.hpp"
#include "base/name_character.hpp"

namespace millrace::mcp {
namespace {

bool is_id(const json::Value& id) {
  return id.is_string() || id.is_number();
}

std::string opened(std::string_view id_json) {
  std::string text = R"({"jsonrpc":"2.0","id":)";
  text.append(id_json.empty() ? "null" : id_json);
  return text;
}

// The text between the braces of an object; "" for anything else.
std::string_view inside(std::string_view object_json) {
  object_json = json::trim(object_json);
  if (object_json.size() < 2 || object_json.front() != '{' || object_json.back() != '}') return {};
  return json::trim(object_json.substr(1, object_json.size() - 2));
}

// The words in small letters, each with a space after it; without those that change no phrase.
std::string plain_words(std::string_view text) {
  constexpr std::array<std::string_view, 4> idle{"the", "your", "mcp", "id"};
  std::string words;
  std::string word;
  const auto end_word = [&] {
    const bool is_idle = std::find(idle.begin(), idle.end(), word) != idle.end();
    if (!word.empty() && !is_idle) words.append(word).push_back(' ');
    word.clear();
  };
  for (const char c : text) {
    if (is_name_character(c)) {
      word.push_back(to_lower(c));
    } else {
      end_word();
    }
  }
  end_word();
  return words;
}

bool begins_with_loss(std::string_view words) {
  constexpr std::array<std::string_view, 22> losses{"session not found ",
                                                    "session was not found ",
                                                    "session does not exist ",
                                                    "session expired ",
                                                    "session has expired ",
                                                    "session terminated ",
                                                    "session has been terminated ",
                                                    "session not initialized ",
                                                    "no valid session ",
                                                    "no active session ",
                                                    "no session found ",
                                                    "unknown session ",
                                                    "invalid session ",
                                                    "missing session ",
                                                    "expired session ",
                                                    "invalid or missing session ",
                                                    "invalid or expired session ",
                                                    "missing or invalid session ",
                                                    "server not initialized ",
                                                    "server is not initialized ",
                                                    "server uninitialized ",
                                                    "not initialized "};
  return std::any_of(losses.begin(), losses.end(),
                     [&](std::string_view loss) { return words.starts_with(loss); });
}

std::string joined(std::string_view members, std::string_view more) {
  std::string text = "{";
  text.append(members);
  if (!members.empty() && !more.empty()) text.push_back(',');
  text.append(more).push_back('}');
  return text;
}

json::Tree object_of(std::string_view text) {
  auto tree = json::Tree::parse(text);
  return tree && tree.value().is_object() ? std::move(tree).value() : json::Tree::object();
}

}  // namespace

std::optional<RequestId> Message::our_id() const {
  if (!id.is_string()) {
    const auto whole = id.integer();
    const auto number = whole ? std::nullopt : id.number();
    // JSON has one kind of number: 1.0 and 1e0 are 1.
    constexpr double most_exact = 9007199254740992;
    const bool is_whole =
        number && std::trunc(*number) == *number && std::abs(*number) < most_exact;
    return is_whole ? std::optional(static_cast<RequestId>(*number)) : whole;
  }
  const std::string_view text = id.string();
  RequestId number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number ? std::optional(number) : std::nullopt;
}

Message read_message(const json::Value& value) {
  Message message;
  if (!value.is_object()) return message;
  message.id = value["id"];
  const json::Value method = value["method"];
  if (method.is_string()) {
    message.method = method.string();
    message.body = value["params"];
    if (message.id.is_nothing()) {
      message.kind = MessageKind::notification;
    } else if (is_id(message.id)) {
      message.kind = MessageKind::request;
    }
    return message;
  }
  if (const json::Value error = value["error"]; error.is_object() || error.is_string()) {
    message.kind = MessageKind::error;
    message.body = error;
  } else if (const json::Value result = value["result"]; result && is_id(message.id)) {
    message.kind = MessageKind::result;
    message.body = result;
  }
  return message;
}

RpcError read_rpc_error(const json::Value& error) {
  RpcError read;
  read.code = error["code"].integer().value_or(0);
  // Some servers say only what went wrong.
  read.message = error.is_string() ? error.string() : error["message"].string();
  if (const json::Value data = error["data"]) read.data_json = data.to_json();
  return read;
}

std::string request_text(RequestId id, std::string_view method, std::string_view params_json) {
  std::string text = opened(std::to_string(id));
  json::append_member(text, "method", method);
  if (!params_json.empty()) json::append_raw_member(text, "params", params_json);
  text.push_back('}');
  return text;
}

std::string notification_text(std::string_view method, std::string_view params_json) {
  std::string text = R"({"jsonrpc":"2.0")";
  json::append_member(text, "method", method);
  if (!params_json.empty()) json::append_raw_member(text, "params", params_json);
  text.push_back('}');
  return text;
}

std::string result_text(std::string_view id_json, std::string_view result_json) {
  std::string text = opened(id_json);
  json::append_raw_member(text, "result", result_json.empty() ? "{}" : result_json);
  text.push_back('}');
  return text;
}

std::string error_text(std::string_view id_json, std::int64_t code, std::string_view message) {
  std::string text = opened(id_json);
  std::string error = "{";
  json::append_member(error, "code", code);
  json::append_member(error, "message", message);
  error.push_back('}');
  json::append_raw_member(text, "error", error);
  text.push_back('}');
  return text;
}

std::string with_meta(std::string_view params_json, std::string_view members) {
  const std::string_view params = inside(params_json);
  if (members.empty()) return joined(params, {});
  if (params.find("\"_meta\"") == std::string_view::npos) {
    std::string meta = R"("_meta":{)";
    meta.append(members).push_back('}');
    return joined(params, meta);
  }
  json::Tree whole = object_of(params_json);
  json::Tree& meta = whole.at("_meta");
  const json::Tree added = object_of(joined(members, {}));
  for (const auto& [key, value] : added.members()) meta.set(key, value);
  return whole.to_json(json::Surrogates::replace);
}

std::string with_member(std::string_view object_json, std::string_view key, std::string_view json) {
  json::Tree whole = object_of(object_json);
  auto value = json::Tree::parse(json);
  whole.set(key, value ? std::move(value).value() : json::Tree());
  return whole.to_json(json::Surrogates::replace);
}

bool names_lost_session(std::string_view message) {
  constexpr std::size_t heard = 512;
  message = message.substr(0, heard);
  while (!message.empty()) {
    const std::size_t end = std::min(message.find(':'), message.size());
    std::string clause = plain_words(message.substr(0, end));
    message.remove_prefix(std::min(end + 1, message.size()));
    if (begins_with_loss(clause)) return true;
    // "Session 5f3a not found".
    constexpr std::string_view subject = "session ";
    if (!clause.starts_with(subject)) continue;
    clause.erase(subject.size(), clause.find(' ', subject.size()) + 1 - subject.size());
    if (begins_with_loss(clause)) return true;
  }
  return false;
}

}  // namespace millrace::mcp
