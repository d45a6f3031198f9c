#include "adapter/record_shape.hpp"

#include <string>

#include "adapter/unknown_members.hpp"
#include "base/bytes.hpp"

namespace millrace::adapter {
namespace {

// Whether the number is 0, 1, 2 ...
bool is_whole_number(const json::Value& value) {
  const std::string_view text = value.number_text();
  return text.size() == 1 || value.integer().value_or(-1) >= 0;
}

bool fits(JsonTypes types, const json::Value& value) {
  if (value.is_string()) return (types & text_type) != 0;
  if (value.is_number()) {
    const bool is_index = (types & number_type) == 0 && (types & whole_type) != 0;
    return is_index ? is_whole_number(value) : (types & number_type) != 0;
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
    if (next_ < fields_.size() && same_text(fields_[next_].name, name)) return &fields_[next_++];
    const std::uint32_t mark = json::detail::key_mark(name);
    for (std::size_t at = 0; at < fields_.size(); ++at) {
      const Field& field = fields_[at];
      if (field.mark != mark || !same_text(field.name, name)) continue;
      next_ = at + 1;
      return &field;
    }
    return nullptr;
  }

 private:
  std::span<const Field> fields_;
  std::size_t next_ = 0;
};

// An object's shape, and how the object is called in names, which most objects need not be.
struct Known {
  const Shape& tagged;
  const Variant* variant = nullptr;

  [[nodiscard]] const Shape& shape() const { return variant == nullptr ? tagged : *variant->shape; }
  [[nodiscard]] std::string_view place() const {
    if (variant == nullptr || !shape().place.empty()) return shape().place;
    std::string_view tag = variant->tag;
    if (tag.starts_with(tagged.tag_prefix)) tag.remove_prefix(tagged.tag_prefix.size());
    return tag;
  }
};

// Of several answers that come together the first one's.
bool is_first(const json::Value& object) {
  return object["index"].integer().value_or(0) == 0;
}

// Whose members are checked. There may be very many of them.
struct Owner {
  json::Value object;
  bool is_first;
};

class RecordCheck {
 public:
  explicit RecordCheck(const Report& report) : facts_(report.facts), checked_(report.checked) {}

  void check(const Shape& shape, const json::Value& object) const;

 private:
  const Variant* find_variant(const Shape& shape, const json::Value& value) const;
  bool carry(const Owner& owner, const json::Member& member) const;
  void check_member(const Field& field, const Known& known, const json::Value& value) const;
  void note_unknown(const Known& known, const Owner& owner, const json::Member& member) const;

  void note_type(std::string_view place, std::string_view member, const json::Value& value) const {
    if (!UnknownMembers::note_type(&facts_, place, member, value)) checked_.spoil();
  }

  AnswerFacts& facts_;
  CheckedRecord& checked_;
};

// The variant of an object whose tag has this value, or null.
const Variant* RecordCheck::find_variant(const Shape& shape, const json::Value& value) const {
  if (!value.is_string()) return nullptr;
  const std::string_view tag = value.string();
  for (const Variant& variant : shape.variants) {
    if (!same_text(variant.tag, tag)) continue;
    checked_.add_tag(value, variant.tag);
    return &variant;
  }
  checked_.add_text(value);
  return nullptr;
}

void RecordCheck::check(const Shape& shape, const json::Value& object) const {
  Known known{shape};
  if (!shape.tag.empty()) known.variant = find_variant(shape, object[shape.tag]);
  FieldSearch search(known.shape().fields);
  const Owner owner{object, is_first(object)};
  for (const json::Member& member : object.members()) {
    const Field* field = search.find(member.key);
    if (field == nullptr) {
      if (known.shape().unknown != Unknown::passed_on) note_unknown(known, owner, member);
      continue;
    }
    // Most members are one text.
    if (field->types == text_type && member.value.is_string()) continue;
    if (field->types != any_type) check_member(*field, known, member.value);
    if (field->carried) carry(owner, member);
  }
}

// False where it is a further answer's, or one too many.
bool RecordCheck::carry(const Owner& owner, const json::Member& member) const {
  if (member.value.is_null()) return true;
  checked_.add_carried(owner.object, member);
  return owner.is_first && facts_.carry(member.key, member.value);
}

void RecordCheck::check_member(const Field& field, const Known& known,
                               const json::Value& value) const {
  if (!fits(field.types, value)) {
    // The next number may be one.
    if (value.is_number() && (field.types & whole_type) != 0) checked_.spoil();
    return note_type(known.place(), field.name, value);
  }
  if (field.types == whole_type && value.is_number()) checked_.add_whole(value);
  if (field.shape != nullptr && value.is_object()) return check(*field.shape, value);
  if (field.items == any_type) return;
  for (const json::Value item : value.items()) {
    if (!fits(field.items, item)) {
      note_type(known.place(), std::string(field.name) + "[]", item);
    } else if (field.shape != nullptr && item.is_object()) {
      check(*field.shape, item);
    }
  }
}

void RecordCheck::note_unknown(const Known& known, const Owner& owner,
                               const json::Member& member) const {
  const Shape& shape = known.shape();
  if (shape.unknown == Unknown::named_beside && owner.object.size() == 1) return;
  if (shape.unknown == Unknown::carried && carry(owner, member)) return;
  const std::string_view called = shape.unknown_place.empty() ? known.place() : shape.unknown_place;
  if (!UnknownMembers::note_member(&facts_, called, member)) checked_.spoil();
}

}  // namespace

void CheckedRecord::begin(std::uint64_t shape, std::string_view name, const AnswerFacts& facts) {
  tags_.clear();
  texts_.clear();
  wholes_.clear();
  carried_.clear();
  if (!same_text(name, name_)) name_ = name;
  is_new_ = shape != shape_;
  shape_ = shape;
  answer_ = facts.answer();
  is_good_ = true;
}

bool CheckedRecord::repeats(std::uint64_t shape, std::string_view name, AnswerFacts& facts) const {
  const bool is_known = is_good_ && shape == shape_ && facts.answer() == answer_;
  if (!is_known || !same_text(name, name_)) return false;
  for (const Decisive& tag : tags_) {
    const std::string_view text = tag.value.string();
    if (text.data() == tag.place) continue;
    if (!same_text(text, tag.text)) return false;
  }
  for (const Text& tag : texts_) {
    if (!same_text(tag.value.string(), tag.text)) return false;
  }
  for (const Decisive& whole : wholes_) {
    if (whole.value.number_text().data() == whole.place) continue;
    if (!is_whole_number(whole.value)) return false;
  }
  for (const Carried& one : carried_) {
    if (!is_first(one.object) || !facts.carry(one.member.key, one.member.value)) return false;
  }
  return true;
}

void CheckedRecord::add_tag(const json::Value& value, std::string_view tag) {
  if (!tags_.add({value, is_new_ ? value.string().data() : nullptr, tag})) spoil();
}

void CheckedRecord::add_text(const json::Value& value) {
  if (texts_.size() == most_values) return spoil();
  texts_.push_back({value, std::string(value.string())});
}

void CheckedRecord::add_carried(const json::Value& object, const json::Member& member) {
  if (!carried_.add({object, member})) spoil();
}

void CheckedRecord::add_whole(const json::Value& value) {
  if (!wholes_.add({value, is_new_ ? value.number_text().data() : nullptr, {}})) spoil();
}

void check_record(const Report& report, const Shape& shape, const json::Value& record) {
  if (record.is_object()) return RecordCheck(report).check(shape, record);
  if (!UnknownMembers::note_type(&report.facts, "stream", "record", record)) report.checked.spoil();
}

}  // namespace millrace::adapter
