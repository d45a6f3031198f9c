#include "adapter/unknown_members.hpp"

#include <algorithm>
#include <utility>

namespace millrace::adapter {
namespace {

bool has_no_value(const json::Value& value) {
  const bool is_list = value.is_array() || value.is_object();
  return value.is_nothing() || (is_list && value.size() == 0) ||
         (value.is_string() && value.string().empty());
}

// The head of a name, which ends between two characters.
std::string_view cut(std::string_view name) {
  if (name.size() <= UnknownNames::most_bytes) return name;
  std::size_t end = UnknownNames::most_bytes;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0U) == 0x80U) --end;
  return name.substr(0, end);
}

}  // namespace

void UnknownMembers::note(AnswerFacts* facts, std::string_view place, const json::Value& object,
                          std::span<const std::string_view> known) {
  if (facts == nullptr) return;
  for (const json::Member& member : object.members()) {
    const bool is_known = std::find(known.begin(), known.end(), member.key) != known.end();
    if (is_known || has_no_value(member.value)) continue;
    names_.add(*facts, std::string(place) + "." + std::string(cut(member.key)));
  }
}

void UnknownMembers::note_type(AnswerFacts* facts, std::string_view place, std::string_view member,
                               const json::Value& value) {
  if (facts == nullptr || has_no_value(value)) return;
  types_.add(*facts, std::string(cut(place)) + "." + std::string(cut(member)));
}

std::string_view UnknownMembers::text(AnswerFacts* facts, std::string_view place,
                                      const json::Value& object, std::string_view member) {
  const json::Value value = object[member];
  if (!value.is_string()) note_type(facts, place, member, value);
  return value.string();
}

// Names that are left out are not kept: one that comes again counts again.
void UnknownNames::add(AnswerFacts& facts, std::string name) {
  if (seen_->names.contains(name)) return;
  Seen& seen = seen_.edit();
  if (seen.names.size() == most) {
    facts.set_detail_json(std::string(detail_) + "LeftOut", std::to_string(++seen.left_out));
    return;
  }
  if (!seen.list.empty()) seen.list.push_back(',');
  json::append_string(seen.list, name);
  facts.set_detail_json(detail_, "[" + seen.list + "]");
  seen.names.insert(std::move(name));
}

void UnknownEvents::note(AnswerFacts* facts, std::string_view name, const json::Value& record) {
  if (facts == nullptr) return;
  for (const std::string_view member : {"type", "event_type"}) {
    if (const auto type = record[member].filled_string()) name = *type;
  }
  if (!name.empty()) names_.add(*facts, std::string(cut(name)));
}

}  // namespace millrace::adapter
