// Which members the records of a wire have and which JSON types these may be of, as tables, and the
// walk that names what of a record is not in them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "adapter/answer_facts.hpp"
#include "base/json.hpp"

namespace millrace::adapter {

// JSON types, as bits. Null is of every type.
using JsonTypes = std::uint8_t;
inline constexpr JsonTypes text_type = 1;
inline constexpr JsonTypes number_type = 2;
inline constexpr JsonTypes whole_type = 4;  // a number of 0, 1, 2 ...
inline constexpr JsonTypes flag_type = 8;
inline constexpr JsonTypes list_type = 16;
inline constexpr JsonTypes object_type = 32;
inline constexpr JsonTypes any_type = 63;

struct Shape;

// A member of an object.
struct Field {
  std::string_view name;
  JsonTypes types;
  JsonTypes items = any_type;    // of a list
  const Shape* shape = nullptr;  // of an object, or of the objects in a list; null for any
  bool carried = false;          // goes into the details of the answer as it is
  std::uint32_t mark = json::detail::key_mark(name);
};

// What becomes of the members of an object that its shape does not have.
enum class Unknown : std::uint8_t {
  named,         // in the details of the answer, `unknownMembers`
  named_beside,  // the same, but not the only member of an object, which its adapter passes on
  carried,       // go into the details as they are; of an object of index 0, as most are
  passed_on,     // the adapter gives or names them
};

struct Variant;

// Lifetime: shapes are constants, and so is what they refer to.
struct Shape {
  std::string_view place;  // how the object is called in names; "" for the text of its tag
  std::span<const Field> fields;
  Unknown unknown = Unknown::named;
  // A member whose text says which of the variants the object is of; without one it is this shape.
  std::string_view tag = {};
  std::span<const Variant> variants = {};
  std::string_view tag_prefix = {};     // is not part of names
  std::string_view unknown_place = {};  // how it is called in names of unknown members, if not so
};

struct Variant {
  std::string_view tag;
  const Shape* shape;
};

// What a record was found to be. Of the next one of its shape the same is known, when the values
// that decide it are the same: most records of a stream cost no more than that.
// Thread: any, one at a time.
// Lifetime: it views the document that has the record, which is looked at while its shape is the
// same.
class CheckedRecord {
 public:
  // `shape` is that of the document which has the record, `name` the event name of its frame.
  void begin(std::uint64_t shape, std::string_view name, const AnswerFacts& facts);
  // Whether the document's record is known, which gives its carried members to the facts.
  [[nodiscard]] bool repeats(std::uint64_t shape, std::string_view name, AnswerFacts& facts) const;

  // Notes a value that decided: a text that is the tag of a variant, another text, or a number that
  // had to be 0, 1, 2 ...
  void add_tag(const json::Value& value, std::string_view tag);
  void add_text(const json::Value& value);
  void add_whole(const json::Value& value);
  // Notes a member of an object whose value goes into the details of the answer.
  void add_carried(const json::Value& object, const json::Member& member);
  // The next record must be looked at again, whatever its shape.
  void spoil() { is_good_ = false; }

 private:
  static constexpr std::size_t most_values = 8;
  // A text or number that decided. While it stands where it stood when the document was parsed, it
  // is the same; what differs between records stands elsewhere.
  struct Decisive {
    json::Value value;
    const char* place = nullptr;
    std::string_view text = {};  // of a tag
  };
  struct Text {
    json::Value value;
    std::string text;
  };
  struct Carried {
    json::Value object;
    json::Member member;
  };
  // A list that needs no memory of its own.
  template <class T>
  class Few {
   public:
    // False where it is full.
    bool add(const T& value) {
      if (size_ == values_.size()) return false;
      values_[size_++] = value;
      return true;
    }
    void clear() { size_ = 0; }
    [[nodiscard]] const T* begin() const { return values_.data(); }
    [[nodiscard]] const T* end() const { return values_.data() + size_; }

   private:
    std::array<T, most_values> values_{};
    std::size_t size_ = 0;
  };
  Few<Decisive> tags_;
  std::vector<Text> texts_;  // that are no tags of variants
  Few<Decisive> wholes_;
  Few<Carried> carried_;
  std::string name_;
  std::uint64_t shape_ = 0;
  std::uint64_t answer_ = 0;  // which has what was named
  bool is_good_ = false;
  bool is_new_ = false;  // no record of the shape was looked at before
};

// Where the names go.
struct Report {
  AnswerFacts& facts;
  CheckedRecord& checked;
};

// Names, in the details of the answer, the members of an object that are unknown, neither null nor
// empty, and those of another type than their wire's (`wrongTypes`). A record that is no object is
// a wrong type, too.
void check_record(const Report& report, const Shape& shape, const json::Value& record);

// The tables: `name` is the event name of the frame.
namespace shapes {

using Check = void (*)(const Report& report, std::string_view name, const json::Value& record);

void check_anthropic(const Report& report, std::string_view name, const json::Value& record);
void check_bedrock(const Report& report, std::string_view name, const json::Value& record);
void check_chat(const Report& report, std::string_view name, const json::Value& record);
void check_cohere(const Report& report, std::string_view name, const json::Value& record);
void check_gemini(const Report& report, std::string_view name, const json::Value& record);
void check_interactions(const Report& report, std::string_view name, const json::Value& record);
void check_langgraph(const Report& report, std::string_view name, const json::Value& record);
void check_ollama(const Report& report, std::string_view name, const json::Value& record);
void check_responses(const Report& report, std::string_view name, const json::Value& record);

// How the tables are written.
constexpr Field raw(std::string_view name) {
  return {name, any_type};
}
constexpr Field text(std::string_view name) {
  return {name, text_type};
}
constexpr Field number(std::string_view name) {
  return {name, number_type};
}
constexpr Field whole(std::string_view name) {
  return {name, whole_type};
}
constexpr Field flag(std::string_view name) {
  return {name, flag_type};
}
// An object, or a list, of whatever kind.
constexpr Field map(std::string_view name) {
  return {name, object_type};
}
constexpr Field list(std::string_view name) {
  return {name, list_type};
}
constexpr Field object(std::string_view name, const Shape& shape) {
  return {name, object_type, any_type, &shape};
}
constexpr Field list(std::string_view name, const Shape& shape) {
  return {name, list_type, object_type, &shape};
}
constexpr Field objects(std::string_view name) {
  return {name, list_type, object_type};
}
constexpr Field texts(std::string_view name) {
  return {name, list_type, text_type};
}
// A text, or a list of texts and objects.
constexpr Field text_or_list(std::string_view name, const Shape& shape) {
  return {name, text_type | list_type, text_type | object_type, &shape};
}
constexpr Field carried(std::string_view name) {
  return {name, any_type, any_type, nullptr, true};
}

}  // namespace shapes

}  // namespace millrace::adapter
