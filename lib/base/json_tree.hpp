// JSON that can be changed, for values that live longer than one text: state and activities that
// JSON Patch edits. Reading is json.hpp's; numbers stay text here as well.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"

namespace millrace::json {

class Key;

// One value and what it holds. Of a repeated key the last value counts. Copies cost next to
// nothing: they share what they hold until one of them changes, and texts for good. Sixteen bytes
// and no allocation for what is short: a run that waits is some hundreds of them.
// Lifetime: what may be changed (references that are not const) only until the value, or one that
// holds it, is copied.
// Thread: copies may be used by different threads, one copy by one at a time.
class Tree {
 public:
  using Member = std::pair<Key, Tree>;
  using Items = std::vector<Tree>;
  using Members = std::vector<Member>;

  Tree() = default;
  explicit Tree(const Value& value);
  Tree(const Tree& other) noexcept : slot_(other.slot_) {
    if (has_cell()) cell()->shares.fetch_add(1, std::memory_order_relaxed);
  }
  Tree(Tree&& other) noexcept : slot_(std::exchange(other.slot_, {})) {}
  // The other is a value of its own, where it was a part of this one as well.
  Tree& operator=(Tree other) noexcept {
    if (has_cell()) leave_cell();
    slot_ = std::exchange(other.slot_, {});
    return *this;
  }
  ~Tree() {
    if (has_cell()) leave_cell();
  }

  static Tree object();
  static Tree array();
  static Tree text(std::string_view text);
  static Tree flag(bool value);
  static Tree integer(std::int64_t number);
  // A number that JSON cannot carry becomes null.
  static Tree number(double number);
  // Errors: invalid_json, json_too_deep.
  static Result<Tree> parse(std::string_view json);

  [[nodiscard]] Type type() const { return slot_.type; }
  [[nodiscard]] bool is_null() const { return slot_.type == Type::null; }
  [[nodiscard]] bool is_object() const { return slot_.type == Type::object; }
  [[nodiscard]] bool is_array() const { return slot_.type == Type::array; }
  [[nodiscard]] bool is_string() const { return slot_.type == Type::string; }
  [[nodiscard]] bool is_number() const { return slot_.type == Type::number; }
  [[nodiscard]] bool is_true() const { return slot_.type == Type::boolean_true; }
  // Truth as JavaScript has it.
  [[nodiscard]] bool truthy() const;
  // The text of a string, or "".
  // Lifetime: until the value changes, moves or ends.
  [[nodiscard]] std::string_view string() const {
    return slot_.type == Type::string ? written() : std::string_view();
  }
  // The number, or `otherwise`.
  [[nodiscard]] double number_or(double otherwise) const;
  [[nodiscard]] std::int64_t integer_or(std::int64_t otherwise) const;

  // A member of an object, or nothing; null stands for a missing one in operator[].
  // Lifetime: until the value changes.
  [[nodiscard]] const Tree* find(std::string_view key) const;
  [[nodiscard]] Tree* find(std::string_view key);
  const Tree& operator[](std::string_view key) const;
  // Nearly all names are literals, of which everything is known when this is compiled.
  template <std::size_t size>
  const Tree& operator[](const char (&literal)[size]) const {
    constexpr std::size_t length = size - 1;
    if constexpr (length > most_in_place) return (*this)[std::string_view(literal, length)];
    return value_of(short_name({literal, length}));
  }
  // Sets a member in place, or appends it. A value that is no object becomes one.
  Tree& set(std::string_view key, Tree value);
  Tree& set(std::string_view key, std::string_view text) { return set(key, Tree::text(text)); }
  // The member, made an empty object when there is none.
  Tree& at(std::string_view key);
  void erase(std::string_view key);

  // The elements of an array, the members of an object. Of any other value there are none, and
  // what is added to them is lost.
  [[nodiscard]] const Items& items() const;
  [[nodiscard]] Items& items();
  [[nodiscard]] const Members& members() const;
  [[nodiscard]] Members& members();
  // Appends an element. A value that is no array becomes one.
  Tree& push(Tree value);

  // Gives back the room for more that building it has left, for what is kept for long. What it
  // shares with other values stays as it is.
  void fit();
  // The same of its own list alone, not of what is in it: takes no longer for large values.
  void fit_list();

  // Applies a JSON Patch (RFC 6902): all of it or nothing.
  // Errors: invalid_json when the patch is malformed, does not fit the value, nests deeper than 512
  // levels or copies more than 16 MiB.
  Result<void> patch(const Value& patch);
  // Applies a JSON merge patch (RFC 7396).
  void merge(const Value& patch);

  void write(std::string& out, Surrogates surrogates = Surrogates::replace) const;
  [[nodiscard]] std::string to_json(Surrogates surrogates = Surrogates::keep) const;

  // Equality of JSON values: members in any order, numbers by value.
  [[nodiscard]] bool operator==(const Tree& other) const;
  // True for copies of one value of which none was changed, and for equal short values. Takes no
  // longer for large ones; the keeper of a copy finds out so whether the original was changed.
  [[nodiscard]] bool is_same(const Tree& other) const {
    return slot_.body == other.slot_.body && slot_.length == other.slot_.length &&
           slot_.type == other.slot_.type;
  }

 private:
  friend class Key;
  class Patcher;
  // What copies share.
  struct Cell {
    std::atomic<std::uint32_t> shares{1};
  };
  struct TextCell;
  template <class List>
  struct ListCell;
  // What fits into the value itself.
  static constexpr std::size_t most_in_place = 14;
  // In place of a length: a pointer to a cell is there.
  static constexpr std::uint8_t in_cell = 0xff;

  struct Slot {
    alignas(void*) std::array<char, most_in_place> body{};  // a text, or a pointer to a cell
    std::uint8_t length = 0;                                // of a text in place
    Type type = Type::null;
  };

  Tree(Type type, std::string_view text);
  [[nodiscard]] bool has_cell() const { return slot_.length == in_cell; }
  [[nodiscard]] Cell* cell() const {
    Cell* found = nullptr;
    std::memcpy(&found, slot_.body.data(), sizeof(void*));
    return found;
  }
  void set_cell(Cell* cell);
  void leave_cell() noexcept;
  template <class List>
  [[nodiscard]] const List& list(Type type) const;
  template <class List>
  [[nodiscard]] List& editable(Type type);
  // A string, or a number as it was written.
  [[nodiscard]] std::string_view written() const {
    return has_cell() ? cell_text() : std::string_view(slot_.body.data(), slot_.length);
  }
  [[nodiscard]] std::string_view cell_text() const;

  // A name that fits into a value, as it lies in memory: names are compared without a call, and
  // nothing behind a pointer is read for those of another length.
  struct ShortName {
    std::uint64_t head;
    std::uint64_t tail;
  };
  static ShortName short_name(std::string_view key) {
    constexpr unsigned length_shift = 48;
    constexpr unsigned type_shift = 56;
    return {word_of(key.substr(0, 8)),
            word_of(key.substr(key.size() < 8 ? key.size() : 8)) |
                (std::uint64_t{key.size()} << length_shift) |
                (static_cast<std::uint64_t>(Type::string) << type_shift)};
  }
  // Up to eight bytes as a number, made without writing them anywhere: what is written byte by byte
  // and read as a whole makes the processor wait.
  static std::uint64_t word_of(std::string_view bytes) {
    const auto read = [&](std::size_t at, auto number) {
      std::memcpy(&number, bytes.data() + at, sizeof number);
      return std::uint64_t{number};
    };
    const std::size_t size = bytes.size();
    if (size == 8) return read(0, std::uint64_t{});
    if (size >= 4)
      return read(0, std::uint32_t{}) | (read(size - 4, std::uint32_t{}) << (8 * (size - 4)));
    if (size >= 2)
      return read(0, std::uint16_t{}) | (read(size - 2, std::uint16_t{}) << (8 * (size - 2)));
    return size == 1 ? read(0, std::uint8_t{}) : 0;
  }

  // The member of this name, or nullptr.
  [[nodiscard]] const Member* member_of(ShortName name) const;
  [[nodiscard]] const Member* member_named(std::string_view key) const;
  [[nodiscard]] const Tree& value_of(ShortName name) const;
  Tree& add(std::string_view key, Tree value);
  // Levels of arrays and objects, the value itself counting as one.
  [[nodiscard]] std::size_t depth() const;
  // Bytes in memory, roughly.
  [[nodiscard]] std::size_t weight() const;

  Slot slot_;
};

// The name of a member. The long ones that a thread writes again and again are shared.
class Key {
  friend class Tree;

 public:
  explicit Key(std::string_view text);

  [[nodiscard]] std::string_view view() const { return text_.written(); }
  operator std::string_view() const { return view(); }
  explicit operator std::string() const { return std::string(view()); }
  [[nodiscard]] std::size_t size() const { return view().size(); }
  [[nodiscard]] bool empty() const { return view().empty(); }

  friend bool operator==(const Key& one, const Key& other) { return one.view() == other.view(); }
  friend bool operator==(const Key& one, std::string_view other) { return one.view() == other; }
  friend bool operator<(const Key& one, const Key& other) { return one.view() < other.view(); }

 private:
  Tree text_;
};

}  // namespace millrace::json
