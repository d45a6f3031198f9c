#include "adapter/answer_facts.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/bytes.hpp"
#include "base/json_members.hpp"

namespace millrace::adapter {
namespace {

bool is_empty_value(const json::Value& value) {
  const bool is_list = value.is_array() || value.is_object();
  return value.is_nothing() || (is_list && value.size() == 0) ||
         (value.is_string() && value.string().empty());
}

template <class List>
auto find_in(List& list, std::string_view name) {
  return std::find_if(list.begin(), list.end(),
                      [&](const auto& row) { return same_text(row.first, name); });
}

// Whether `json` is the JSON of this text, for a text that is written without an escape.
bool is_json_of(std::string_view json, const json::Value& text) {
  const std::string_view plain = text.string();
  return text.is_string() && json.size() == plain.size() + 2 && json.front() == '"' &&
         plain.find('\\') == std::string_view::npos &&
         same_text(json.substr(1, plain.size()), plain);
}

// An object with the members that only an object before it has, as long as that is small: each
// record may have another one.
std::string with_earlier(const std::string& before, const json::Value& value) {
  constexpr std::size_t joined_limit_bytes = 64UL * 1024;
  if (before.size() > joined_limit_bytes) return value.to_json();
  json::Document document;
  const auto earlier = document.parse(before);
  if (!earlier || !earlier.value().is_object()) return value.to_json();
  std::string out = "{";
  const json::MemberIndex members(value);
  for (const json::Member& member : value.members()) json::append_member(out, member);
  for (const json::Member& member : earlier.value().members()) {
    if (!members[member.key].exists()) json::append_member(out, member);
  }
  return out + "}";
}

}  // namespace

void AnswerFacts::restart() {
  const std::uint64_t answer = answer_ + 1;
  *this = {};
  answer_ = answer;
}

void AnswerFacts::note(const json::Value& object, std::span<const FactName> names,
                       std::span<const std::string_view> left_out) {
  for (const json::Member& member : object.members()) {
    const bool is_left_out =
        std::find(left_out.begin(), left_out.end(), member.key) != left_out.end();
    if (is_left_out || is_empty_value(member.value)) continue;
    const auto row = std::find_if(names.begin(), names.end(), [&](const FactName& name) {
      return name.member == member.key &&
             (name.is_number ? member.value.is_number() : member.value.is_string());
    });
    if (row != names.end()) {
      const auto known = find_in(facts_, row->name);
      // A time that is none does not take the place of one.
      const bool is_known = known != facts_.end();
      if (is_known && row->is_number && member.value.integer() == 0) continue;
      put(facts_, known, row->name, member.value.to_json());
    } else {
      set_detail(member.key, member.value);
    }
  }
}

void AnswerFacts::set(std::string_view name, std::string_view text) {
  if (text.empty()) return;
  std::string json;
  json::append_string(json, text);
  put(facts_, find_in(facts_, name), name, std::move(json));
}

void AnswerFacts::set_detail(std::string_view member, const json::Value& value) {
  if (is_empty_value(value)) return;
  const auto known = find_detail(member);
  if (known == details_.end()) return put_detail(member, value.to_json());
  // Records repeat it, mostly.
  if (is_json_of(known->second, value)) return;
  json_.clear();
  value.write(json_);
  if (known->second == json_) return;
  put(details_, known, member, value.is_object() ? with_earlier(known->second, value) : json_);
}

void AnswerFacts::set_detail_json(std::string_view member, std::string json) {
  put_detail(member, std::move(json));
}

bool AnswerFacts::carry(std::string_view member, const json::Value& value) {
  const bool is_full = details_.size() >= most_carried;
  if (is_full && find_detail(member) == details_.end()) return is_empty_value(value);
  set_detail(member, value);
  return true;
}

AnswerFacts::List::iterator AnswerFacts::find_detail(std::string_view name) {
  if (places_->empty()) return find_in(details_, name);
  const auto place = places_->find(name);
  if (place == places_->end()) return details_.end();
  return details_.begin() + static_cast<std::ptrdiff_t>(place->second);
}

void AnswerFacts::put_detail(std::string_view name, std::string json) {
  put(details_, find_detail(name), name, std::move(json));
  if (details_.size() <= most_carried) return;
  auto& places = places_.edit();
  for (std::size_t at = places.size(); at < details_.size(); ++at) {
    places.emplace(details_[at].first, at);
  }
}

// Names that are left out are not kept: one that comes again counts again.
bool AnswerFacts::add_name(std::string_view list, std::string name) {
  std::vector<Names>& lists = names_.edit();
  auto names =
      std::find_if(lists.begin(), lists.end(), [&](const Names& row) { return row.list == list; });
  if (names == lists.end()) names = lists.insert(lists.end(), Names{list, {}, {}, 0});
  if (names->seen.contains(name)) return true;
  if (names->seen.size() == most_names) {
    set_detail_json(std::string(list) + "LeftOut", std::to_string(++names->left_out));
    return false;
  }
  if (!names->json.empty()) names->json.push_back(',');
  json::append_string(names->json, name);
  set_detail_json(list, "[" + names->json + "]");
  names->seen.insert(std::move(name));
  return true;
}

void AnswerFacts::put(List& list, List::iterator known, std::string_view name, std::string json) {
  if (known == list.end()) {
    // In small steps: mostly there are few, and each open stream keeps them.
    if (list.size() == list.capacity()) list.reserve(list.size() + 1 + list.size() / 8);
    list.emplace_back(name, std::move(json));
  } else if (known->second != json) {
    known->second = std::move(json);
  } else {
    return;
  }
  has_changes_ = true;
}

std::string AnswerFacts::take() {
  has_changes_ = false;
  const auto object_of = [](const List& list) {
    std::string out = "{";
    for (const auto& [name, json] : list) {
      if (out.size() > 1) out.push_back(',');
      json::append_string(out, name);
      out.append(":").append(json);
    }
    return out;
  };
  std::string out = object_of(facts_);
  if (!details_.empty()) json::append_raw_member(out, "details", object_of(details_) + "}");
  out.push_back('}');
  return out;
}

}  // namespace millrace::adapter
