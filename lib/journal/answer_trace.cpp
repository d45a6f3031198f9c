#include "journal/answer_trace.hpp"

#include <string_view>
#include <type_traits>
#include <variant>

#include "journal/codec.hpp"
#include "journal/merger.hpp"
#include "journal/record.hpp"
#include "journal/wire.hpp"

namespace millrace::journal {
namespace {

template <class T, class... Kinds>
constexpr bool is_one_of = (std::is_same_v<T, Kinds> || ...);

template <class T>
constexpr bool is_piece = is_one_of<T, event::TextDelta, event::ReasoningDelta, event::ToolArgs>;

// What the messages of an answer are made of.
template <class T>
constexpr bool is_content =
    is_one_of<T, event::TextStart, event::TextEnd, event::ReasoningSpanStart,
              event::ReasoningSpanEnd, event::ReasoningStart, event::ReasoningEnd,
              event::EncryptedValue, event::ToolStart, event::ToolEnd, event::ToolResult,
              event::ProviderState, event::Citation, event::Finish>;

void append_piece(std::string& out, std::uint32_t kind, std::string_view text) {
  append_varint(out, kind);
  append_varint(out, text.size());
  out.append(text);
}

void append_event(std::string& out, const event::Event& event) {
  const Record record{.body = event::Event{event.body, event.extra}};
  std::string fields;
  append_fields(fields, record);
  append_piece(out, kind_of(record), fields);
}

}  // namespace

void AnswerTrace::append(std::string& out, const std::map<Part, std::string>& deltas) {
  for (const auto& [part, text] : deltas) {
    append_piece(out, part.first, part.second);
    append_piece(out, 0, text);
  }
}

void AnswerTrace::clear() {
  events_.clear();
  deltas_.clear();
}

void AnswerTrace::add(const event::Event& event) {
  std::visit(
      [&](const auto& body) {
        using T = std::decay_t<decltype(body)>;
        if constexpr (is_one_of<T, event::Reset, event::Retry>) {
          clear();
        } else if constexpr (is_piece<T>) {
          if (body.delta.empty()) return;
          const Record record{.body = event};
          append_delta(deltas_[{kind_of(record), std::string(body.id)}], body.delta);
        } else if constexpr (is_content<T>) {
          append(events_, deltas_);
          deltas_.clear();
          append_event(events_, event);
        }
      },
      event.body);
}

std::string AnswerTrace::text() const {
  std::string out = events_;
  append(out, deltas_);
  return out;
}

}  // namespace millrace::journal
