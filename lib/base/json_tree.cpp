#include "base/json_tree.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>

#include "base/json_depth.hpp"
#include "base/read_float.hpp"

namespace millrace::json {
namespace {

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = read_float(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

static_assert(std::endian::native == std::endian::little);

const Tree& missing() {
  // Never destroyed: at the end of a process the engine's thread may still read it.
  static const Tree& value = *new Tree;
  return value;
}

// With room for one more; doubling would leave too much of it in what is built member by member.
template <class List>
List& roomy(List& list) {
  const std::size_t size = list.size();
  if (size == list.capacity()) list.reserve(size + size / 2 + 4);
  return list;
}

}  // namespace

struct Tree::TextCell : Cell {
  std::uint32_t size = 0;  // texts are shorter than 4 GiB, as everything is that the engine reads
  [[nodiscard]] const char* bytes() const { return reinterpret_cast<const char*>(this + 1); }
  [[nodiscard]] char* bytes() { return reinterpret_cast<char*>(this + 1); }
};

template <class List>
struct Tree::ListCell : Cell {
  List list;
};

void Tree::set_cell(Cell* cell) {
  std::memcpy(slot_.body.data(), &cell, sizeof(void*));
  slot_.length = in_cell;
}

void Tree::leave_cell() noexcept {
  Cell* left = cell();
  if (left->shares.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (slot_.type == Type::array) {
    delete static_cast<ListCell<Items>*>(left);
  } else if (slot_.type == Type::object) {
    delete static_cast<ListCell<Members>*>(left);
  } else {
    ::operator delete(static_cast<TextCell*>(left));
  }
}

template <class List>
const List& Tree::list(Type type) const {
  // Never destroyed: at the end of a process the engine's thread may still read it.
  static const List& none = *new List;
  return slot_.type == type && has_cell() ? static_cast<const ListCell<List>*>(cell())->list : none;
}

template <class List>
List& Tree::editable(Type type) {
  if (slot_.type != type) {
    thread_local List nobodys;
    nobodys.clear();
    return nobodys;
  }
  if (!has_cell()) {
    set_cell(new ListCell<List>);
  } else if (cell()->shares.load(std::memory_order_acquire) != 1) {
    auto own = std::make_unique<ListCell<List>>();
    own->list = static_cast<const ListCell<List>*>(cell())->list;
    leave_cell();
    set_cell(own.release());
  }
  return static_cast<ListCell<List>*>(cell())->list;
}

Tree::Tree(Type type, std::string_view text) {
  slot_.type = type;
  if (text.size() <= most_in_place) {
    std::copy(text.begin(), text.end(), slot_.body.begin());
    slot_.length = static_cast<std::uint8_t>(text.size());
    return;
  }
  auto* made = new (::operator new(sizeof(TextCell) + text.size())) TextCell;
  made->size = static_cast<std::uint32_t>(text.size());
  std::copy(text.begin(), text.end(), made->bytes());
  set_cell(made);
}

std::string_view Tree::cell_text() const {
  const auto* found = static_cast<const TextCell*>(cell());
  return {found->bytes(), found->size};
}

Key::Key(std::string_view text) {
  constexpr std::size_t most_shared = 64;
  if (text.size() <= Tree::most_in_place) {
    const Tree::ShortName name = Tree::short_name(text);
    std::memcpy(static_cast<void*>(&text_), &name, sizeof name);
    return;
  }
  if (text.size() > most_shared) {
    text_ = Tree::text(text);
    return;
  }
  thread_local std::array<Tree, 64> seen;
  Tree& last = seen[detail::key_mark(text) * 0x9E3779B1U >> 26U];
  if (last.written() != text) last = Tree::text(text);
  text_ = last;
}

// A name is a text and nothing else: member_of() reads it as it lies in memory.
static_assert(sizeof(Tree) == 16 && sizeof(Key) == 16);

const Tree::Items& Tree::items() const {
  return list<Items>(Type::array);
}
Tree::Items& Tree::items() {
  return editable<Items>(Type::array);
}
const Tree::Members& Tree::members() const {
  return list<Members>(Type::object);
}
Tree::Members& Tree::members() {
  return editable<Members>(Type::object);
}

Tree::Tree(const Value& value) {
  if (value.is_array()) {
    slot_.type = Type::array;
    if (value.size() == 0) return;
    Items& made = items();
    made.reserve(value.size());
    for (const Value item : value.items()) made.emplace_back(item);
  } else if (value.is_object()) {
    slot_.type = Type::object;
    if (value.size() == 0) return;
    Members& made = members();
    made.reserve(value.size());
    for (const auto& [key, item] : value.members()) made.emplace_back(key, Tree(item));
  } else if (value.is_string()) {
    *this = Tree(Type::string, value.string());
  } else if (value.is_number()) {
    *this = Tree(Type::number, value.number_text());
  } else if (value.is(Type::boolean_true) || value.is(Type::boolean_false)) {
    slot_.type = value.is_true() ? Type::boolean_true : Type::boolean_false;
  }
}

Tree Tree::object() {
  return {Type::object, {}};
}
Tree Tree::array() {
  return {Type::array, {}};
}
Tree Tree::text(std::string_view text) {
  return {Type::string, text};
}
Tree Tree::flag(bool value) {
  return {value ? Type::boolean_true : Type::boolean_false, {}};
}

Tree Tree::integer(std::int64_t number) {
  std::array<char, 24> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  return {Type::number, {digits.data(), error == std::errc() ? end : digits.data()}};
}

Tree Tree::number(double number) {
  if (!std::isfinite(number)) return {};
  std::array<char, 40> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  return {Type::number, {digits.data(), error == std::errc() ? end : digits.data()}};
}

Result<Tree> Tree::parse(std::string_view json) {
  Document document(data_depth_limit);
  auto value = document.parse(json);
  if (!value) return std::move(value).error();
  return Tree(value.value());
}

bool Tree::truthy() const {
  if (slot_.type == Type::string) return slot_.length != 0;
  if (slot_.type == Type::number) return number_or(0) != 0;
  return slot_.type != Type::null && slot_.type != Type::boolean_false;
}

double Tree::number_or(double otherwise) const {
  return slot_.type == Type::number ? number_of(written()).value_or(otherwise) : otherwise;
}

std::int64_t Tree::integer_or(std::int64_t otherwise) const {
  if (slot_.type != Type::number) return otherwise;
  const std::string_view text = written();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  const double number = number_or(static_cast<double>(otherwise));
  constexpr double largest = 9e15;
  return std::abs(number) < largest ? static_cast<std::int64_t>(number) : otherwise;
}

Tree& Tree::set(std::string_view key, Tree value) {
  if (slot_.type != Type::object) *this = object();
  if (Tree* found = find(key)) {
    *found = std::move(value);
    return *found;
  }
  return add(key, std::move(value));
}

Tree& Tree::at(std::string_view key) {
  if (slot_.type != Type::object) *this = object();
  Tree* found = find(key);
  return found != nullptr ? *found : add(key, object());
}

Tree& Tree::add(std::string_view key, Tree value) {
  return roomy(members()).emplace_back(Key(key), std::move(value)).second;
}

void Tree::erase(std::string_view key) {
  if (member_named(key) == nullptr) return;
  std::erase_if(members(), [&](const Member& member) { return member.first == key; });
}

Tree& Tree::push(Tree value) {
  if (slot_.type != Type::array) *this = array();
  return roomy(items()).emplace_back(std::move(value));
}

void Tree::fit() {
  if (!has_cell() || cell()->shares.load(std::memory_order_acquire) != 1) return;
  fit_list();
  if (slot_.type == Type::array) {
    for (Tree& item : items()) item.fit();
  } else if (slot_.type == Type::object) {
    for (auto& [key, value] : members()) value.fit();
  }
}

void Tree::fit_list() {
  if (!has_cell() || cell()->shares.load(std::memory_order_acquire) != 1) return;
  if (slot_.type == Type::array) items().shrink_to_fit();
  if (slot_.type == Type::object) members().shrink_to_fit();
}

std::string Tree::to_json(Surrogates surrogates) const {
  std::string out;
  write(out, surrogates);
  return out;
}

const Tree* Tree::find(std::string_view key) const {
  const Member* found = member_named(key);
  return found == nullptr ? nullptr : &found->second;
}

Tree* Tree::find(std::string_view key) {
  const Member* found = member_named(key);
  if (found == nullptr) return nullptr;
  const auto at = static_cast<std::size_t>(found - std::as_const(*this).members().data());
  return &members()[at].second;
}

const Tree::Member* Tree::member_of(ShortName name) const {
  const Members& all = members();
  for (const Member* at = all.data() + all.size(); at != all.data();) {
    --at;
    std::array<std::uint64_t, 2> words{};
    std::memcpy(words.data(), static_cast<const void*>(&at->first), sizeof words);
    if (words[0] == name.head && words[1] == name.tail) return at;
  }
  return nullptr;
}

const Tree::Member* Tree::member_named(std::string_view key) const {
  if (key.size() <= most_in_place) return member_of(short_name(key));
  const Members& all = members();
  for (const Member* at = all.data() + all.size(); at != all.data();) {
    --at;
    if (at->first.text_.has_cell() && at->first.text_.cell_text() == key) return at;
  }
  return nullptr;
}

const Tree& Tree::value_of(ShortName name) const {
  const Member* found = member_of(name);
  return found == nullptr ? missing() : found->second;
}

const Tree& Tree::operator[](std::string_view key) const {
  const Member* found = member_named(key);
  return found == nullptr ? missing() : found->second;
}

bool Tree::operator==(const Tree& other) const {
  if (slot_.type != other.slot_.type) return false;
  if (has_cell() && other.has_cell() && cell() == other.cell()) return true;
  if (slot_.type == Type::string) return written() == other.written();
  if (slot_.type == Type::number) {
    return written() == other.written() || number_of(written()) == number_of(other.written());
  }
  if (items() != other.items()) return false;
  if (members().size() != other.members().size()) return false;
  for (std::size_t i = 0; i < members().size(); ++i) {
    const auto& [key, value] = members()[i];
    const bool in_place = other.members()[i].first == key;
    const Tree* counterpart = in_place ? &other.members()[i].second : other.find(key);
    if (counterpart == nullptr || !(value == *counterpart)) return false;
  }
  return true;
}

std::size_t Tree::depth() const {
  std::size_t deepest = 0;
  for (const Tree& item : items()) deepest = std::max(deepest, item.depth());
  for (const auto& [key, value] : members()) deepest = std::max(deepest, value.depth());
  return deepest + 1;
}

std::size_t Tree::weight() const {
  std::size_t weight = sizeof(Tree) + (is_string() || is_number() ? written().size() : 0);
  for (const Tree& item : items()) weight += item.weight();
  for (const auto& [key, value] : members()) weight += key.size() + value.weight();
  return weight;
}

void Tree::write(std::string& out, Surrogates surrogates) const {
  bool first = true;
  const auto comma = [&] {
    if (!first) out.push_back(',');
    first = false;
  };
  switch (slot_.type) {
    case Type::null: out.append("null"); return;
    case Type::boolean_false: out.append("false"); return;
    case Type::boolean_true: out.append("true"); return;
    case Type::number: out.append(written()); return;
    case Type::string: append_string(out, written(), surrogates); return;
    case Type::array:
      out.push_back('[');
      for (const Tree& item : items()) {
        comma();
        item.write(out, surrogates);
      }
      out.push_back(']');
      return;
    case Type::object:
      out.push_back('{');
      for (const auto& [key, value] : members()) {
        comma();
        append_string(out, key, surrogates);
        out.push_back(':');
        value.write(out, surrogates);
      }
      out.push_back('}');
      return;
  }
}

}  // namespace millrace::json
