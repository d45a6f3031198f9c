#include "adapter/record_shape.hpp"

#include <string>
#include <utility>

#include "adapter/unknown_members.hpp"
#include "base/bytes.hpp"

namespace millrace::adapter {
namespace {

JsonTypes types_of(const json::Value& value) {
  if (value.is_string()) return text_type;
  if (value.is_object()) return object_type;
  if (value.is_array()) return list_type;
  if (!value.is_number()) return value.is_null() ? any_type : flag_type;
  return value.integer().value_or(-1) >= 0 ? number_type | whole_type : number_type;
}

// Finds members in the order of a table, in which they mostly come.
class FieldSearch {
 public:
  explicit FieldSearch(std::span<const Field> fields) : fields_(fields) {}

  const Field* find(std::string_view name) {
    for (std::size_t step = 0; step < fields_.size(); ++step) {
      if (next_ >= fields_.size()) next_ = 0;
      const Field& field = fields_[next_++];
      if (same_text(field.name, name)) return &field;
    }
    return nullptr;
  }

 private:
  std::span<const Field> fields_;
  std::size_t next_ = 0;
};

class RecordCheck {
 public:
  explicit RecordCheck(AnswerFacts& facts) : facts_(facts) {}

  void check(const Shape& shape, const json::Value& object) const;

 private:
  void check_member(const Field& field, std::string_view place, const json::Value& value) const;
  void note_unknown(const Shape& shape, std::string_view place, const json::Value& object,
                    const json::Member& member) const;

  AnswerFacts& facts_;
};

// Of several answers that come together the first one's.
bool is_first(const json::Value& object) {
  return object["index"].integer().value_or(0) == 0;
}

void RecordCheck::check(const Shape& shape, const json::Value& object) const {
  const Shape* known = &shape;
  std::string_view place = shape.place;
  if (!shape.tag.empty()) {
    std::string_view tag = object[shape.tag].string();
    for (const Variant& variant : shape.variants) {
      if (!same_text(variant.tag, tag)) continue;
      known = variant.shape;
      if (tag.starts_with(shape.tag_prefix)) tag.remove_prefix(shape.tag_prefix.size());
      place = known->place.empty() ? tag : known->place;
      break;
    }
  }
  FieldSearch search(known->fields);
  for (const json::Member& member : object.members()) {
    const Field* field = search.find(member.key);
    if (field == nullptr) {
      if (known->unknown != Unknown::passed_on) note_unknown(*known, place, object, member);
      continue;
    }
    if (field->types != any_type) check_member(*field, place, member.value);
    if (field->carried && is_first(object)) facts_.carry(member.key, member.value);
  }
}

void RecordCheck::check_member(const Field& field, std::string_view place,
                               const json::Value& value) const {
  if ((types_of(value) & field.types) == 0) {
    return UnknownMembers::note_type(&facts_, place, field.name, value);
  }
  if (field.shape != nullptr && value.is_object()) return check(*field.shape, value);
  if (field.items == any_type) return;
  for (const json::Value item : value.items()) {
    if ((types_of(item) & field.items) == 0) {
      UnknownMembers::note_type(&facts_, place, std::string(field.name) + "[]", item);
    } else if (field.shape != nullptr && item.is_object()) {
      check(*field.shape, item);
    }
  }
}

void RecordCheck::note_unknown(const Shape& shape, std::string_view place,
                               const json::Value& object, const json::Member& member) const {
  if (shape.unknown == Unknown::named_beside && object.size() == 1) return;
  if (shape.unknown == Unknown::carried && is_first(object)) {
    if (facts_.carry(member.key, member.value)) return;
  }
  UnknownMembers::note_member(&facts_, shape.unknown_place.empty() ? place : shape.unknown_place,
                              member);
}

}  // namespace

void check_record(AnswerFacts& facts, const Shape& shape, const json::Value& record) {
  if (record.is_object()) return RecordCheck(facts).check(shape, record);
  UnknownMembers::note_type(&facts, "stream", "record", record);
}

}  // namespace millrace::adapter
