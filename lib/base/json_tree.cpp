#include "base/json_tree.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>

namespace millrace::json {
namespace {

Error misfit(std::string_view what, std::string_view path) {
  std::string message("The JSON Patch cannot be applied: ");
  message.append(what).append(" at \"").append(path).append("\".");
  return make_error(Errc::invalid_json, std::move(message));
}

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

// The reference tokens of a JSON Pointer (RFC 6901), or nothing when it is malformed.
std::optional<std::vector<std::string>> tokens_of(std::string_view pointer) {
  std::vector<std::string> tokens;
  if (pointer.empty()) return tokens;
  if (pointer.front() != '/') return std::nullopt;
  for (std::size_t at = 0; at < pointer.size(); ++at) {
    const char c = pointer[at];
    if (c == '/') {
      tokens.emplace_back();
    } else if (c != '~') {
      tokens.back().push_back(c);
    } else {
      const char kind = at + 1 < pointer.size() ? pointer[++at] : '\0';
      if (kind != '0' && kind != '1') return std::nullopt;
      tokens.back().push_back(kind == '0' ? '~' : '/');
    }
  }
  return tokens;
}

// The index a token names in an array of `size`, or nothing.
std::optional<std::size_t> index_of(std::string_view token, std::size_t size) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), index);
  const bool whole = !token.empty() && error == std::errc() && end == token.data() + token.size();
  const bool plain = token.size() == 1 || (!token.empty() && token.front() != '0');
  if (!whole || !plain || index >= size) return std::nullopt;
  return index;
}

}  // namespace

Tree::Tree(const Value& value) {
  if (value.is_array()) {
    type_ = Type::array;
    Items& items = items_.edit();
    items.reserve(value.size());
    for (const Value item : value.items()) items.emplace_back(item);
  } else if (value.is_object()) {
    type_ = Type::object;
    Members& members = members_.edit();
    members.reserve(value.size());
    for (const auto& [key, item] : value.members()) members.emplace_back(key, Tree(item));
  } else if (value.is_string()) {
    type_ = Type::string;
    text_ = value.string();
  } else if (value.is_number()) {
    type_ = Type::number;
    text_ = value.number_text();
  } else if (value.is(Type::boolean_true) || value.is(Type::boolean_false)) {
    type_ = value.is_true() ? Type::boolean_true : Type::boolean_false;
  }
}

Tree Tree::object() {
  Tree made;
  made.type_ = Type::object;
  return made;
}

Tree Tree::array() {
  Tree made;
  made.type_ = Type::array;
  return made;
}

Tree Tree::text(std::string_view text) {
  Tree made;
  made.type_ = Type::string;
  made.text_ = text;
  return made;
}

Tree Tree::flag(bool value) {
  Tree made;
  made.type_ = value ? Type::boolean_true : Type::boolean_false;
  return made;
}

Tree Tree::integer(std::int64_t number) {
  Tree made;
  made.type_ = Type::number;
  made.text_ = std::to_string(number);
  return made;
}

Tree Tree::number(double number) {
  Tree made;
  if (!std::isfinite(number)) return made;
  made.type_ = Type::number;
  std::array<char, 40> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  made.text_.assign(digits.data(), error == std::errc() ? end : digits.data());
  return made;
}

Result<Tree> Tree::parse(std::string_view json) {
  Document document(512);
  auto value = document.parse(json);
  if (!value) return std::move(value).error();
  return Tree(value.value());
}

bool Tree::truthy() const {
  if (type_ == Type::string) return !text_.empty();
  if (type_ == Type::number) return number_or(0) != 0;
  return type_ != Type::null && type_ != Type::boolean_false;
}

std::string_view Tree::string() const {
  return type_ == Type::string ? std::string_view(text_) : std::string_view();
}

double Tree::number_or(double otherwise) const {
  return type_ == Type::number ? number_of(text_).value_or(otherwise) : otherwise;
}

std::int64_t Tree::integer_or(std::int64_t otherwise) const {
  if (type_ != Type::number) return otherwise;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
  if (error == std::errc() && end == text_.data() + text_.size()) return value;
  const double number = number_or(static_cast<double>(otherwise));
  constexpr double largest = 9e15;
  return std::abs(number) < largest ? static_cast<std::int64_t>(number) : otherwise;
}

Tree* Tree::find(std::string_view key) {
  const std::size_t at = place_of(key);
  return at == members_.get().size() ? nullptr : &members_.edit()[at].second;
}

const Tree& Tree::operator[](std::string_view key) const {
  static const Tree missing;
  const Tree* found = find(key);
  return found == nullptr ? missing : *found;
}

Tree& Tree::set(std::string_view key, Tree value) {
  if (type_ != Type::object) *this = object();
  if (Tree* found = find(key)) {
    *found = std::move(value);
    return *found;
  }
  return members_.edit().emplace_back(key, std::move(value)).second;
}

Tree& Tree::at(std::string_view key) {
  if (type_ != Type::object) *this = object();
  Tree* found = find(key);
  return found != nullptr ? *found : members_.edit().emplace_back(key, object()).second;
}

void Tree::erase(std::string_view key) {
  if (place_of(key) == members_.get().size()) return;
  std::erase_if(members_.edit(), [&](const Member& member) { return member.first == key; });
}

Tree& Tree::push(Tree value) {
  if (type_ != Type::array) *this = array();
  return items_.edit().emplace_back(std::move(value));
}

std::string Tree::to_json(Surrogates surrogates) const {
  std::string out;
  write(out, surrogates);
  return out;
}

const Tree* Tree::find(std::string_view key) const {
  const std::size_t at = place_of(key);
  return at == members_.get().size() ? nullptr : &members_.get()[at].second;
}

std::size_t Tree::place_of(std::string_view key) const {
  const Members& members = members_.get();
  for (std::size_t at = members.size(); at > 0; --at) {
    if (members[at - 1].first == key) return at - 1;
  }
  return members.size();
}

bool Tree::operator==(const Tree& other) const {
  if (type_ != other.type_) return false;
  if (type_ == Type::number) {
    return text_ == other.text_ || number_of(text_) == number_of(other.text_);
  }
  if (items_.shares_with(other.items_) && members_.shares_with(other.members_)) {
    return text_ == other.text_;
  }
  if (text_ != other.text_ || items() != other.items()) return false;
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
  std::size_t weight = sizeof(Tree) + text_.size();
  for (const Tree& item : items()) weight += item.weight();
  for (const auto& [key, value] : members()) weight += key.size() + value.weight();
  return weight;
}

// Applies single operations to one value; an operation that fails changes nothing.
class Tree::Patcher {
  static constexpr std::size_t depth_limit = 512;
  static constexpr std::size_t copy_limit = 16UL * 1024 * 1024;  // as Tree::weight counts

 public:
  explicit Patcher(Tree& root) : root_(root) {}

  Result<void> apply(const Value& operation) {
    struct Row {
      std::string_view name;
      Result<void> (Patcher::*handler)(const Value&);
    };
    static constexpr std::array<Row, 6> rows{{{"add", &Patcher::add},
                                              {"replace", &Patcher::replace},
                                              {"remove", &Patcher::remove},
                                              {"move", &Patcher::move},
                                              {"copy", &Patcher::copy},
                                              {"test", &Patcher::test}}};
    const std::string_view name = operation["op"].string();
    const auto* row =
        std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.name == name; });
    if (row == rows.end()) return misfit("unknown operation", operation["path"].string());
    return (this->*row->handler)(operation);
  }

 private:
  using Path = std::vector<std::string>;

  Result<void> add(const Value& operation) {
    if (!operation["value"].exists()) return misfit("no value", operation["path"].string());
    Tree value(operation["value"]);
    return insert(operation["path"], value);
  }

  Result<void> replace(const Value& operation) {
    const Value value = operation["value"];
    Tree* target = find(operation["path"]);
    if (target == nullptr || !value.exists()) {
      return misfit("nothing to replace", operation["path"].string());
    }
    *target = Tree(value);
    return {};
  }

  Result<void> remove(const Value& operation) {
    if (!take(operation["path"])) return misfit("nothing to remove", operation["path"].string());
    return {};
  }

  Result<void> move(const Value& operation) {
    const std::string_view from = operation["from"].string();
    const std::string_view path = operation["path"].string();
    if (path.starts_with(from) && path.substr(from.size()).starts_with("/")) {
      return misfit("a value cannot move into itself", path);
    }
    auto taken = take(operation["from"]);
    if (!taken) return misfit("nothing to move", from);
    auto result = insert(operation["path"], *taken);
    if (!result && !insert(operation["from"], *taken)) return misfit("nowhere to put back", from);
    return result;
  }

  Result<void> copy(const Value& operation) {
    const Tree* source = find(operation["from"]);
    if (source == nullptr) return misfit("nothing to copy", operation["from"].string());
    // Copies of copies grow without end.
    copied_ += source->weight();
    if (copied_ > copy_limit) return misfit("too much is copied", operation["from"].string());
    Tree value(*source);
    return insert(operation["path"], value);
  }

  Result<void> test(const Value& operation) {
    const Tree* target = find(operation["path"]);
    const bool same =
        target != nullptr && operation["value"].exists() && *target == Tree(operation["value"]);
    if (!same) return misfit("the value is another", operation["path"].string());
    return {};
  }

  static Tree* child(Tree& parent, std::string_view token) {
    if (parent.type_ == Type::object) return parent.find(token);
    if (parent.type_ != Type::array) return nullptr;
    const auto index = index_of(token, std::as_const(parent).items().size());
    return index ? &parent.items()[*index] : nullptr;
  }

  // The value behind the first `count` tokens.
  Tree* walk(const Path& path, std::size_t count) {
    Tree* at = &root_;
    for (std::size_t i = 0; i < count && at != nullptr; ++i) at = child(*at, path[i]);
    return at;
  }

  Tree* find(const Value& pointer) {
    const auto path = tokens_of(pointer.string());
    return pointer.is_string() && path ? walk(*path, path->size()) : nullptr;
  }

  // Moves from `value` when it succeeds.
  Result<void> insert(const Value& pointer, Tree& value) {
    const auto path = tokens_of(pointer.string());
    if (!pointer.is_string() || !path) return misfit("malformed pointer", pointer.string());
    if (path->size() + value.depth() > depth_limit) return misfit("too deep", pointer.string());
    if (path->empty()) {
      root_ = std::move(value);
      return {};
    }
    Tree* parent = walk(*path, path->size() - 1);
    const std::string& token = path->back();
    if (parent != nullptr && parent->type_ == Type::object) {
      if (Tree* before = child(*parent, token)) {
        *before = std::move(value);
      } else {
        parent->members().emplace_back(token, std::move(value));
      }
      return {};
    }
    if (parent != nullptr && parent->type_ == Type::array) {
      Items& items = parent->items();
      const std::size_t size = items.size();
      const auto index = token == "-" ? size : index_of(token, size + 1);
      if (index) {
        items.insert(items.begin() + static_cast<std::ptrdiff_t>(*index), std::move(value));
        return {};
      }
    }
    return misfit("no such place", pointer.string());
  }

  std::optional<Tree> take(const Value& pointer) {
    const auto path = tokens_of(pointer.string());
    if (!pointer.is_string() || !path || path->empty()) return std::nullopt;
    Tree* parent = walk(*path, path->size() - 1);
    Tree* target = parent == nullptr ? nullptr : child(*parent, path->back());
    if (target == nullptr) return std::nullopt;
    Tree taken = std::move(*target);
    if (parent->type_ == Type::object) {
      parent->erase(path->back());
    } else {
      Items& items = parent->items();
      items.erase(items.begin() + (target - items.data()));
    }
    return taken;
  }

  Tree& root_;
  std::size_t copied_ = 0;
};

Result<void> Tree::patch(const Value& patch) {
  if (!patch.is_array()) return misfit("the patch is no array", "");
  // One operation is all or nothing by itself; several need a way back.
  const bool several = patch.size() > 1;
  const Tree before = several ? *this : Tree();
  Patcher patcher(*this);
  for (const Value operation : patch.items()) {
    auto result = patcher.apply(operation);
    if (result) continue;
    if (several) *this = before;
    return result;
  }
  return {};
}

void Tree::write(std::string& out, Surrogates surrogates) const {
  bool first = true;
  const auto comma = [&] {
    if (!first) out.push_back(',');
    first = false;
  };
  switch (type_) {
    case Type::null: out.append("null"); return;
    case Type::boolean_false: out.append("false"); return;
    case Type::boolean_true: out.append("true"); return;
    case Type::number: out.append(text_); return;
    case Type::string: append_string(out, text_, surrogates); return;
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
