#include "event/usage_list.hpp"

#include <cstddef>
#include <utility>

#include "base/json.hpp"
#include "base/json_tree.hpp"
#include "event/codec.hpp"

namespace millrace::event {
namespace {

constexpr std::size_t longest_fitted = 4096;

// The members of an object with `marks`, an object's as well, beside what their metadata has.
std::string marked(std::string_view members, const std::string& marks) {
  if (members.find("\"metadata\"") == std::string_view::npos) {
    std::string all(members);
    if (!all.empty()) all.push_back(',');
    return all.append(R"("metadata":{"millrace":{)").append(marks).append("}}");
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
  json::Document document;
  if (const auto parsed_marks = document.parse("{" + marks + "}"))
    level->merge(parsed_marks.value());
  const std::string json = tree.to_json();
  return json.substr(1, json.size() - 2);
}

}  // namespace

std::string UsageList::add(const Usage& usage) {
  std::string tokens;
  write_usage(tokens, usage);
  if (tokens == "{}") return tokens;
  if (!items_.empty()) items_.push_back(',');
  items_.append(tokens);
  // What a run counted of its first turns is held without room for more while it waits.
  if (items_.size() < longest_fitted) items_.shrink_to_fit();
  estimated_ = estimated_ || usage.estimated;
  return tokens;
}

void UsageList::add_reported(std::string_view json) {
  if (!reported_.empty()) reported_.push_back(',');
  reported_.append(json);
}

void UsageList::end(const Finish& finish, bool usual) {
  incomplete_.clear();
  reason_.clear();
  if (!usual && !finish.incomplete) json::append_string(reason_, finish.reason);
  if (!finish.incomplete) return;
  incomplete_ = "{";
  json::append_member(incomplete_, "reason", finish.reason);
  if (!finish.continue_json.empty()) {
    json::append_raw_member(incomplete_, "continue", finish.continue_json);
  }
  incomplete_.push_back('}');
}

void UsageList::append_to(std::string& object, std::string_view members) const {
  std::string marks;
  const auto mark = [&](std::string_view name, std::string_view json) {
    if (!json.empty()) json::append_raw_member(marks, name, json);
  };
  mark("usageSource", estimated_ ? R"("estimated")" : "");
  mark("incomplete", incomplete_);
  mark("finishReason", reason_);
  mark("reportedUsage", reported_.empty() ? "" : "[" + reported_ + "]");
  const std::string all = marks.empty() ? std::string(members) : marked(members, marks);
  if (!all.empty() && object.back() != '{') object.push_back(',');
  object.append(all);
  if (!items_.empty()) json::append_raw_member(object, "usage", "[" + items_ + "]");
}

}  // namespace millrace::event
