// JSON Patch (RFC 6902) on a tree.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/json_depth.hpp"
#include "base/json_tree.hpp"

namespace millrace::json {
namespace {

Error misfit(std::string_view what, std::string_view path) {
  std::string message("The JSON Patch cannot be applied: ");
  message.append(what).append(" at \"").append(path).append("\".");
  return make_error(Errc::invalid_json, std::move(message));
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

// Applies single operations to one value; an operation that fails changes nothing.
class Tree::Patcher {
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
    if (parent.is_object()) return parent.find(token);
    if (!parent.is_array()) return nullptr;
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
    if (path->size() + value.depth() > data_depth_limit)
      return misfit("too deep", pointer.string());
    if (path->empty()) {
      root_ = std::move(value);
      return {};
    }
    Tree* parent = walk(*path, path->size() - 1);
    const std::string& token = path->back();
    if (parent != nullptr && parent->is_object()) {
      if (Tree* before = child(*parent, token)) {
        *before = std::move(value);
      } else {
        parent->members().emplace_back(token, std::move(value));
      }
      return {};
    }
    if (parent != nullptr && parent->is_array()) {
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
    if (parent->is_object()) {
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

void Tree::merge(const Value& patch) {
  if (!patch.is_object()) {
    *this = Tree(patch);
    return;
  }
  if (!is_object()) *this = object();
  for (const auto& [key, value] : patch.members()) {
    const std::string_view name(key);
    if (value.is_null()) {
      erase(name);
    } else if (value.is_object()) {
      at(name).merge(value);
    } else {
      set(name, Tree(value));
    }
  }
}

}  // namespace millrace::json
