#include "growth_shapes.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <utility>
#include <vector>

namespace millrace::fuzz {
namespace {

using json::Tree;

constexpr std::string_view repeat_mark = "$repeat";
constexpr std::string_view long_mark = "$long:";
constexpr std::string_view number_mark = "$number";

class Writer {
 public:
  explicit Writer(std::size_t n) : n_(n) {}

  void value(const Tree& shape) {
    if (shape.is_array()) {
      list(shape);
    } else if (shape.is_object()) {
      out.push_back('{');
      bool is_first = true;
      members(shape, is_first);
      out.push_back('}');
    } else if (shape.is_string()) {
      text(shape.string());
    } else {
      shape.write(out);
    }
  }

  std::string out;

 private:
  // Does `work` for each repetition.
  template <class Work>
  void repeat(Work work) {
    const std::size_t count = is_inside_ ? 2 : n_;
    const bool was_inside = std::exchange(is_inside_, true);
    const std::size_t number = number_;
    for (std::size_t at = 0; at < count; ++at) {
      if (!was_inside) number_ = at;
      work();
    }
    number_ = number;
    is_inside_ = was_inside;
  }

  void list(const Tree& shape) {
    out.push_back('[');
    bool is_first = true;
    const auto item = [&](const Tree& one) {
      if (!std::exchange(is_first, false)) out.push_back(',');
      value(one);
    };
    for (const Tree& one : shape.items()) {
      const Tree* repeated = one.find(repeat_mark);
      if (repeated == nullptr) {
        item(one);
      } else {
        repeat([&] { item(*repeated); });
      }
    }
    out.push_back(']');
  }

  void members(const Tree& shape, bool& is_first) {
    for (const auto& [key, member] : shape.members()) {
      if (key == repeat_mark) {
        repeat([&, &repeated = member] { members(repeated, is_first); });
        continue;
      }
      if (!std::exchange(is_first, false)) out.push_back(',');
      text(key);
      out.push_back(':');
      value(member);
    }
  }

  void text(std::string_view given) {
    if (given == number_mark) {
      out.append(std::to_string(number_));
      return;
    }
    std::string made;
    const bool is_long = given.starts_with(long_mark);
    if (is_long) given.remove_prefix(long_mark.size());
    for (std::size_t count = is_long ? (is_inside_ ? 2 : n_) : 1; count > 0; --count) {
      for (const char c : given) add(made, c);
    }
    json::append_string(out, made);
  }

  void add(std::string& made, char c) const {
    if (c == '#') {
      made.append(std::to_string(number_));
    } else if (c == '@') {
      made.append(std::to_string(number_ + 1));
    } else {
      made.push_back(c);
    }
  }

  std::size_t n_;
  std::size_t number_ = 0;
  bool is_inside_ = false;
};

// Names and values that the readers know.
constexpr auto words = std::to_array<std::string_view>({"role",
                                                        "user",
                                                        "assistant",
                                                        "tool",
                                                        "system",
                                                        "developer",
                                                        "reasoning",
                                                        "activity",
                                                        "content",
                                                        "id",
                                                        "type",
                                                        "text",
                                                        "thinking",
                                                        "signature",
                                                        "name",
                                                        "arguments",
                                                        "function",
                                                        "tool_calls",
                                                        "toolCalls",
                                                        "tool_call_id",
                                                        "toolCallId",
                                                        "tool_use",
                                                        "tool_result",
                                                        "tool_use_id",
                                                        "input",
                                                        "image_url",
                                                        "url",
                                                        "source",
                                                        "data",
                                                        "media_type",
                                                        "mimeType",
                                                        "file",
                                                        "file_id",
                                                        "image",
                                                        "document",
                                                        "metadata",
                                                        "millrace",
                                                        "providerState",
                                                        "citations",
                                                        "provider",
                                                        "kind",
                                                        "state",
                                                        "messages",
                                                        "tools",
                                                        "parameters",
                                                        "input_schema",
                                                        "properties",
                                                        "required",
                                                        "anyOf",
                                                        "oneOf",
                                                        "allOf",
                                                        "$ref",
                                                        "#/anyOf/0",
                                                        "enum",
                                                        "const",
                                                        "items",
                                                        "additionalProperties",
                                                        "object",
                                                        "string",
                                                        "array",
                                                        "choices",
                                                        "index",
                                                        "delta",
                                                        "message",
                                                        "finish_reason",
                                                        "stop",
                                                        "usage",
                                                        "parts",
                                                        "functionCall",
                                                        "functionResponse",
                                                        "response",
                                                        "model",
                                                        "candidates",
                                                        "toolUse",
                                                        "toolUseId",
                                                        "toolResult",
                                                        "cachePoint",
                                                        "cache_control",
                                                        "encryptedValue",
                                                        "function_call",
                                                        "function_call_output",
                                                        "call_id",
                                                        "output",
                                                        "summary",
                                                        "responseItems",
                                                        "extra",
                                                        "stream",
                                                        "thoughtSignature",
                                                        "reasoning_content",
                                                        "reasoning_details",
                                                        "context",
                                                        "description",
                                                        "value",
                                                        "resume",
                                                        "interruptId",
                                                        "payload",
                                                        "stepName",
                                                        "messageId",
                                                        "event",
                                                        "snapshot",
                                                        "patch",
                                                        "op",
                                                        "add",
                                                        "remove",
                                                        "path",
                                                        "/#",
                                                        "delta",
                                                        "annotations",
                                                        "item",
                                                        "output_index",
                                                        "arguments",
                                                        "activityType",
                                                        "subagentRunId",
                                                        "error",
                                                        "isError",
                                                        "title",
                                                        "web_search",
                                                        "strict",
                                                        "filename",
                                                        "custom",
                                                        "tool_choice",
                                                        "thinking_delta"});
constexpr std::array<std::string_view, 12> texts{"",
                                                 "#",
                                                 "x#",
                                                 "$long:a",
                                                 "$long:<think>",
                                                 "$long:[",
                                                 "$long:{\"a\":",
                                                 "{}",
                                                 "[]",
                                                 "data:image/png;base64,AAAA",
                                                 "$long:\\",
                                                 "$long:a-"};

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  void change(Tree& root) {
    places_.clear();
    collect(root);
    Tree& place = *places_[below(places_.size())];
    switch (below(6)) {
      case 0: place = leaf(); return;
      case 1: return wrap(place);
      case 2: return add_member(place);
      case 3: return rename_member(place);
      case 4: return repeat_items(place);
      default: return take_from(place, root);
    }
  }

 private:
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  void collect(Tree& place) {
    places_.push_back(&place);
    for (Tree& item : place.items()) collect(item);
    for (auto& [key, member] : place.members()) collect(member);
  }

  std::string_view word() { return words[below(words.size())]; }

  Tree leaf() {
    switch (below(5)) {
      case 0: return Tree::integer(static_cast<std::int64_t>(below(3)));
      case 1: return Tree::flag(below(2) == 0);
      case 2: return Tree::text(texts[below(texts.size())]);
      default: return Tree::text(word());
    }
  }

  void wrap(Tree& place) {
    Tree inner = std::move(place);
    place = Tree();
    if (below(2) == 0) {
      place.push(std::move(inner));
    } else {
      place.set(word(), std::move(inner));
    }
  }

  void add_member(Tree& place) {
    if (place.is_array()) {
      place.push(place.items().empty() ? leaf() : place.items()[below(place.items().size())]);
    } else if (below(4) == 0) {
      place.set(repeat_mark, Tree::object()).set("x#", leaf());
    } else {
      place.set(word(), leaf());
    }
  }

  void rename_member(Tree& place) {
    auto& members = place.members();
    if (members.empty()) return add_member(place);
    auto& [key, member] = members[below(members.size())];
    if (key != repeat_mark) key = json::Key(word());
  }

  void repeat_items(Tree& place) {
    auto& items = place.items();
    if (items.empty()) return add_member(place);
    Tree& item = items[below(items.size())];
    if (Tree* repeated = item.find(repeat_mark)) {
      Tree inner = std::move(*repeated);
      item = std::move(inner);
    } else {
      Tree wrapped = Tree::object();
      wrapped.set(repeat_mark, std::move(item));
      item = std::move(wrapped);
    }
  }

  // What stands elsewhere stands here as well.
  void take_from(Tree& place, const Tree& root) {
    const Tree* from = &root;
    for (std::size_t depth = 1 + below(6); depth > 0; --depth) {
      const auto& items = from->items();
      const auto& members = from->members();
      if (!items.empty()) {
        from = &items[below(items.size())];
      } else if (!members.empty()) {
        from = &members[below(members.size())].second;
      }
    }
    if (from == &root) return;
    // As a value of its own: the place may be inside of it.
    if (auto copied = Tree::parse(from->to_json())) place = std::move(copied).value();
  }

  std::mt19937 random_;
  std::vector<Tree*> places_;
};

}  // namespace

std::string grown(const Tree& shape, std::size_t n) {
  Writer writer(n);
  writer.value(shape);
  return std::move(writer.out);
}

void mutate(Tree& shape, unsigned random) {
  Mutator(random).change(shape);
}

}  // namespace millrace::fuzz
