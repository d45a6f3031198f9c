#include "event/usage_list.hpp"

#include <utility>

#include "base/json.hpp"
#include "base/json_tree.hpp"
#include "event/codec.hpp"

namespace millrace::event {
namespace {

// The members of an object with the mark of an estimate beside what their metadata has.
std::string marked(std::string_view members) {
  if (members.find("\"metadata\"") == std::string_view::npos) {
    std::string all(members);
    if (!all.empty()) all.push_back(',');
    return all.append(R"("metadata":{"millrace":{"usageSource":"estimated"}})");
  }
  auto parsed = json::Tree::parse("{" + std::string(members) + "}");
  if (!parsed) return std::string(members);
  json::Tree tree = std::move(parsed).value();
  json::Tree* level = &tree;
  for (const std::string_view name : {"metadata", "millrace"}) {
    level = &level->at(name);
    if (level->is_null()) *level = json::Tree::object();
    // Somebody else's, of which nobody knows how to read it.
    if (!level->is_object()) return std::string(members);
  }
  level->set("usageSource", "estimated");
  const std::string json = tree.to_json();
  return json.substr(1, json.size() - 2);
}

}  // namespace

void UsageList::add(const Usage& usage) {
  std::string tokens;
  write_usage(tokens, usage);
  if (tokens == "{}") return;
  if (!items_.empty()) items_.push_back(',');
  items_.append(tokens);
  estimated_ = estimated_ || usage.estimated;
}

void UsageList::append_to(std::string& object, std::string_view members) const {
  const std::string all = estimated_ ? marked(members) : std::string(members);
  if (!all.empty() && object.back() != '{') object.push_back(',');
  object.append(all);
  if (!items_.empty()) json::append_raw_member(object, "usage", "[" + items_ + "]");
}

}  // namespace millrace::event
