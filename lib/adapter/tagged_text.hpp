// Text whose model writes reasoning and calls between tags of its own.
//
// Local servers hand on what a reasoning model writes: `<think>..</think>` before the answer. Some
// write `<tool_call>{..}</tool_call>` where others have a member for it, or `<minimax:tool_call>`,
// and Doubao's Seed models `seed:tool_call<function ..>..</seed:tool_call>`. A tag may come in
// pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "adapter/adapter.hpp"

namespace millrace::adapter {

// The taker of the pieces. Lifetime: views end with the call.
class TaggedReader {
 public:
  virtual ~TaggedReader() = default;
  virtual void on_text(std::string_view text) = 0;
  virtual void on_reasoning_part(std::string_view text) = 0;
  // What stands between the tags of one or more calls. False when it is none: it is text then.
  virtual bool on_call(std::string_view content) = 0;
};

// Only an answer that begins with `<think>` has reasoning: one that has the tag later means
// it. Some models reason between their words as well: of these a tag counts at the beginning of a
// line or of a piece, but not in code. Calls may stand anywhere. What may be the beginning of a tag
// waits for what follows.
class TaggedText {
 public:
  enum class Tags : std::uint8_t { as_text, at_start, between_words };
  // Whose tags of calls are read.
  enum class Calls : std::uint8_t { as_text, local_models, seed };

  TaggedText(Tags reasoning_parts, Calls calls)
      : call_tags_(tags_of(calls)),
        firsts_(calls == Calls::seed ? "<s" : "<"),
        first_(reasoning_parts == Tags::as_text ? State::text : State::start),
        reads_late_(reasoning_parts == Tags::between_words),
        state_(first_) {}

  void feed(std::string_view delta, TaggedReader& reader);
  // Gives what waits: something else follows the text, or nothing does.
  void flush(TaggedReader& reader);
  // The next text is the beginning of another message.
  void restart() {
    state_ = first_;
    given_ = {};
  }

 private:
  enum class State : std::uint8_t { start, reasoning_part, reasoning_ended, text, call };

  // A tag begins with one of a few characters. What the opening one has of the content is
  // `retained`.
  struct CallTag {
    std::string_view open;
    std::string_view close;
    std::string_view retained = {};
  };
  static std::span<const CallTag> tags_of(Calls calls);

  // What was given of the text, as far as it says whether a tag may follow.
  struct Given {
    char last = '\n';
    bool is_in_code = false;  // behind an odd number of backquotes
    void add(std::string_view text);
  };
  // What of a text is found.
  struct Found {
    std::size_t at = std::string_view::npos;
    bool is_reasoning = false;
  };

  [[nodiscard]] bool may_have_tag(std::string_view text) const;
  void give(std::string_view text, TaggedReader& reader);
  [[nodiscard]] Found find_tag(std::string_view text);
  [[nodiscard]] bool may_reason_at(std::size_t at, const Given& before) const;
  std::size_t retain(std::string_view text);

  bool step(TaggedReader& reader);
  bool read_start();
  bool read_reasoning(TaggedReader& reader);
  bool read_text(TaggedReader& reader);
  bool read_call(TaggedReader& reader);

  std::span<const CallTag> call_tags_;
  std::string_view firsts_;  // with which those tags begin
  State first_;              // of a message
  bool reads_late_;          // a tag of reasoning may follow words
  State state_;
  std::size_t call_tag_ = 0;  // which of the tags of calls is open
  Given given_;
  std::size_t piece_at_ = 0;         // where the piece that came last begins in `waiting_`
  bool waiting_may_reason_ = false;  // what waits may be the tag of reasoning
  bool is_late_ = false;             // the reasoning that is read stands between words
  std::string waiting_;
  std::size_t at_ = 0;        // what is before it was given
  std::size_t searched_ = 0;  // in what is before it the awaited tag does not begin
};

inline TaggedText::Tags reasoning_tags(const Services& services) {
  if (!services.reads_reasoning) return TaggedText::Tags::as_text;
  return services.late_reasoning ? TaggedText::Tags::between_words : TaggedText::Tags::at_start;
}

}  // namespace millrace::adapter
