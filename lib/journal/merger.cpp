#include "journal/merger.hpp"

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <variant>

#include "base/utf8.hpp"
#include "journal/codec.hpp"
#include "journal/shapes.hpp"

namespace millrace::journal {
namespace {

// Bytes of one record of deltas, beyond which another begins: a reader without room holds whole
// frames.
constexpr std::size_t most_text = std::size_t{16} << 10U;

struct Delta {
  std::uint32_t kind = 0;  // 0: no delta
  std::string_view part;
  std::string_view text;
};

template <class T>
constexpr bool is_delta_body =
    std::is_same_v<T, event::TextDelta> || std::is_same_v<T, event::ReasoningDelta> ||
    std::is_same_v<T, event::ToolArgs>;

Delta delta_of(const event::Event& event) {
  if (!event.extra.empty()) return {};
  return std::visit(
      [](const auto& body) -> Delta {
        using T = std::decay_t<decltype(body)>;
        if constexpr (is_delta_body<T>) {
          return {Shape<T>::kind, body.id, body.delta};
        } else {
          return {};
        }
      },
      event.body);
}

bool is_text(const event::Event& event) {
  return std::visit(
      [](const auto& body) {
        using T = std::decay_t<decltype(body)>;
        return std::is_same_v<T, event::TextStart> || std::is_same_v<T, event::TextDelta> ||
               std::is_same_v<T, event::ReasoningStart> || std::is_same_v<T, event::ReasoningDelta>;
      },
      event.body);
}

// In the order of the shapes: part, text, then what every record has.
void append_delta_fields(std::string& out, std::uint32_t branch, std::string_view part,
                         std::string_view subagent, std::string_view text) {
  FieldWriter fields(out);
  fields.text(1, part);
  fields.text(2, text);
  fields.number(tags::branch, branch);
  fields.text(tags::subagent, subagent);
}

}  // namespace

void append_delta(std::string& text, std::string_view more) {
  if (utf8::ends_with_high_surrogate(text) && utf8::begins_with_low_surrogate(more)) {
    const std::size_t whole = text.size() - utf8::surrogate_bytes;
    const char32_t joined = utf8::join_surrogates(std::string_view(text).substr(whole),
                                                  more.substr(0, utf8::surrogate_bytes));
    text.resize(whole);
    utf8::append_code_point(text, joined);
    more.remove_prefix(utf8::surrogate_bytes);
  }
  text.append(more);
}

void DeltaMerger::add(std::int64_t at_ms, std::uint32_t branch, const Fact& fact) {
  add_record({.branch = branch, .at_ms = at_ms, .body = fact});
}

void DeltaMerger::add(std::int64_t at_ms, std::uint32_t branch, const event::Event& event) {
  has_text_ = has_text_ || is_text(event);
  if (const Delta delta = delta_of(event); delta.kind != 0) {
    add_delta(at_ms, branch, delta.kind, delta.part, event.subagent, delta.text);
  } else {
    add_record({.branch = branch, .at_ms = at_ms, .body = event});
  }
}

void DeltaMerger::add_record(const Record& record) {
  Item item;
  item.kind = kind_of(record);
  item.span = record.span;
  item.at_ms = record.at_ms;
  append_fields(item.fields, record);
  size_ += item.fields.size();
  items_.push_back(std::move(item));
  joinable_from_ = items_.size();
}

void DeltaMerger::add_delta(std::int64_t at_ms, std::uint32_t branch, std::uint32_t kind,
                            std::string_view part, std::string_view subagent,
                            std::string_view text) {
  size_ += text.size();
  const auto first = std::next(items_.begin(), static_cast<std::ptrdiff_t>(joinable_from_));
  const auto end = std::make_reverse_iterator(first);
  const auto same = std::find_if(items_.rbegin(), end, [&](const Item& item) {
    return item.kind == kind && item.branch == branch && item.part == part &&
           item.subagent == subagent;
  });
  if (same != end && (same->text.size() + text.size() <= most_text ||
                      utf8::ends_with_high_surrogate(same->text))) {
    append_delta(same->text, text);
    return;
  }
  size_ += part.size();
  Item item;
  item.kind = kind;
  item.is_delta = true;
  item.branch = branch;
  item.at_ms = at_ms;
  item.part = part;
  item.subagent = subagent;
  item.text = text;
  items_.push_back(std::move(item));
}

Page DeltaMerger::take() {
  PageWriter page;
  for (Item& item : items_) {
    if (item.is_delta) {
      append_delta_fields(item.fields, item.branch, item.part, item.subagent, item.text);
    }
    begin_at(item.at_ms);
    page.add(item.kind, last_at_ms_, item.span, item.fields);
  }
  items_.clear();
  joinable_from_ = 0;
  size_ = 0;
  has_text_ = false;
  return page.take();
}

}  // namespace millrace::journal
