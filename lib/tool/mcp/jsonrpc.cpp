#include "tool/mcp/jsonrpc.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/json_tree.hpp"

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
  if (const json::Value error = value["error"]; error.is_object()) {
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
  read.message = error["message"].string();
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

bool names_session(std::string_view message) {
  constexpr std::array<std::string_view, 3> words{"session", "not initialized", "uninitialized"};
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    const auto same = [](char a, char b) {
      return std::tolower(static_cast<unsigned char>(a)) == b;
    };
    return std::search(message.begin(), message.end(), word.begin(), word.end(), same) !=
           message.end();
  });
}

}  // namespace millrace::mcp
