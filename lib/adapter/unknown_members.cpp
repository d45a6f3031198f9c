#include "adapter/unknown_members.hpp"

#include <algorithm>
#include <string>

namespace millrace::adapter {
namespace {

bool has_no_value(const json::Value& value) {
  const bool is_list = value.is_array() || value.is_object();
  return value.is_nothing() || (is_list && value.size() == 0) ||
         (value.is_string() && value.string().empty());
}

// The head of a name, which ends between two characters.
std::string_view cut(std::string_view name) {
  if (name.size() <= most_name_bytes) return name;
  std::size_t end = most_name_bytes;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0U) == 0x80U) --end;
  return name.substr(0, end);
}

}  // namespace

void UnknownMembers::note(AnswerFacts* facts, std::string_view place, const json::Value& object,
                          std::span<const std::string_view> known) {
  if (facts == nullptr) return;
  for (const json::Member& member : object.members()) {
    const bool is_known = std::find(known.begin(), known.end(), member.key) != known.end();
    if (!is_known) note_member(facts, place, member);
  }
}

bool UnknownMembers::note_member(AnswerFacts* facts, std::string_view place,
                                 const json::Member& member) {
  if (facts == nullptr || has_no_value(member.value)) return !member.value.is_string();
  return facts->add_name("unknownMembers",
                         std::string(cut(place)) + "." + std::string(cut(member.key)));
}

bool UnknownMembers::note_type(AnswerFacts* facts, std::string_view place, std::string_view member,
                               const json::Value& value) {
  if (facts == nullptr || has_no_value(value)) return !value.is_string();
  return facts->add_name("wrongTypes", std::string(cut(place)) + "." + std::string(cut(member)));
}

void UnknownEvents::note(AnswerFacts* facts, std::string_view name, const json::Value& record) {
  if (facts == nullptr) return;
  for (const std::string_view member : {"type", "event_type"}) {
    if (const auto type = record[member].filled_string()) name = *type;
  }
  if (name.empty() && record.size() > 0 && record.is_object()) {
    name = (*record.members().begin()).key;
  }
  if (!name.empty()) facts->add_name("unknownEvents", std::string(cut(name)));
}

}  // namespace millrace::adapter
