#include "tool/details.hpp"

#include <string_view>

#include "base/result_parts.hpp"

namespace millrace::tool {

using json::Tree;

Details read_details(const Tree& members) {
  Details details;
  for (const auto& [key, value] : members.members()) {
    const std::string_view name = key;
    if (name == "state" && !value.is_null()) {
      details.state = value;
    } else if (name == "citations" && value.is_array()) {
      details.citations = value;
    } else if (name == "attachments" && value.is_array()) {
      details.attachments = value;
    } else if (name == result_parts_member && value.is_array()) {
      details.parts = value;
    } else {
      if (details.others.is_null()) details.others = Tree::object();
      details.others.set(name, value);
    }
  }
  return details;
}

void set_details(Tree& object, const Details& details) {
  const auto set = [&](std::string_view key, const Tree& value) {
    if (!value.is_null()) object.set(key, value);
  };
  set("state", details.state);
  set("citations", details.citations);
  set("attachments", details.attachments);
  set(result_parts_member, details.parts);
  for (const auto& [key, value] : details.others.members()) object.set(key, value);
}

std::string members_json(const Details& details) {
  if (details.empty()) return {};
  Tree object = Tree::object();
  set_details(object, details);
  const std::string json = object.to_json(json::Surrogates::replace);
  return json.substr(1, json.size() - 2);
}

}  // namespace millrace::tool
