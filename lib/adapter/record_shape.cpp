#include "adapter/record_shape.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "adapter/unknown_members.hpp"
#include "base/bytes.hpp"

namespace millrace::adapter {
namespace {

bool fits(JsonTypes types, const json::Value& value) {
  if (value.is_string()) return (types & text_type) != 0;
  if (value.is_number()) {
    const bool is_index = (types & number_type) == 0 && (types & whole_type) != 0;
    return is_index ? value.integer().value_or(-1) >= 0 : (types & number_type) != 0;
  }
  if (value.is_object()) return (types & object_type) != 0;
  if (value.is_array()) return (types & list_type) != 0;
  return value.is_null() || (types & flag_type) != 0;
}

// Finds members in the order of a table, in which they mostly come.
class FieldSearch {
 public:
  explicit FieldSearch(std::span<const Field> fields) : fields_(fields) {}

  const Field* find(std::string_view name) {
    for (std::size_t at = next_; at < fields_.size(); ++at) {
      if (same_text(fields_[at].name, name)) return found(at);
    }
    for (std::size_t at = 0; at < next_; ++at) {
      if (same_text(fields_[at].name, name)) return found(at);
    }
    return nullptr;
  }

 private:
  const Field* found(std::size_t at) {
    next_ = at + 1;
    return &fields_[at];
  }

  std::span<const Field> fields_;
  std::size_t next_ = 0;
};

class RecordCheck {
 public:
  explicit RecordCheck(const Report& report) : facts_(report.facts), checked_(report.checked) {}

  void check(const Shape& shape, const json::Value& object) const;

 private:
  bool carry(const json::Value& object, const json::Member& member) const;
  void check_member(const Field& field, std::string_view place, const json::Value& value) const;
  void note_unknown(const Shape& shape, std::string_view place, const json::Value& object,
                    const json::Member& member) const;

  void note_type(std::string_view place, std::string_view member, const json::Value& value) const {
    checked_.spoil();
    UnknownMembers::note_type(&facts_, place, member, value);
  }

  AnswerFacts& facts_;
  CheckedRecord& checked_;
};

// Of several answers that come together the first one's.
bool is_first(const json::Value& object) {
  return object["index"].integer().value_or(0) == 0;
}

void RecordCheck::check(const Shape& shape, const json::Value& object) const {
  const Shape* known = &shape;
  std::string_view place = shape.place;
  if (!shape.tag.empty()) {
    const json::Value value = object[shape.tag];
    std::string_view tag = value.string();
    if (value.is_string()) checked_.add_tag(value);
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
    if (field->carried) carry(object, member);
  }
}

// False where it is a further answer's, or one too many.
bool RecordCheck::carry(const json::Value& object, const json::Member& member) const {
  checked_.spoil();
  return is_first(object) && facts_.carry(member.key, member.value);
}

void RecordCheck::check_member(const Field& field, std::string_view place,
                               const json::Value& value) const {
  if (!fits(field.types, value)) return note_type(place, field.name, value);
  if (field.types == whole_type && value.is_number()) checked_.add_whole(value);
  if (field.shape != nullptr && value.is_object()) return check(*field.shape, value);
  if (field.items == any_type) return;
  for (const json::Value item : value.items()) {
    if (!fits(field.items, item)) {
      note_type(place, std::string(field.name) + "[]", item);
    } else if (field.shape != nullptr && item.is_object()) {
      check(*field.shape, item);
    }
  }
}

void RecordCheck::note_unknown(const Shape& shape, std::string_view place,
                               const json::Value& object, const json::Member& member) const {
  if (shape.unknown == Unknown::named_beside && object.size() == 1) return;
  if (shape.unknown == Unknown::carried && carry(object, member)) return;
  checked_.spoil();
  UnknownMembers::note_member(&facts_, shape.unknown_place.empty() ? place : shape.unknown_place,
                              member);
}

}  // namespace

void CheckedRecord::begin(std::uint64_t shape, std::string_view name) {
  tags_.clear();
  wholes_.clear();
  name_ = name;
  shape_ = shape;
  is_good_ = true;
}

bool CheckedRecord::is_same(std::uint64_t shape, std::string_view name) const {
  if (!is_good_ || shape != shape_ || !same_text(name, name_)) return false;
  const auto is_tag = [](const Tag& tag) { return same_text(tag.value.string(), tag.text); };
  const auto is_whole = [](const json::Value& value) { return value.integer().value_or(-1) >= 0; };
  return std::all_of(tags_.begin(), tags_.end(), is_tag) &&
         std::all_of(wholes_.begin(), wholes_.end(), is_whole);
}

void CheckedRecord::add_tag(const json::Value& value) {
  if (tags_.size() == most_values) return spoil();
  tags_.push_back({value, std::string(value.string())});
}

void CheckedRecord::add_whole(const json::Value& value) {
  if (wholes_.size() == most_values) return spoil();
  wholes_.push_back(value);
}

void check_record(const Report& report, const Shape& shape, const json::Value& record) {
  if (record.is_object()) return RecordCheck(report).check(shape, record);
  report.checked.spoil();
  UnknownMembers::note_type(&report.facts, "stream", "record", record);
}

}  // namespace millrace::adapter
