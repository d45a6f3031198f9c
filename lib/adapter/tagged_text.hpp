// Text whose model writes thoughts and calls between tags of its own.
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

// Whoever takes the pieces. Lifetime: views end with the call.
class TaggedReader {
 public:
  virtual ~TaggedReader() = default;
  virtual void on_text(std::string_view text) = 0;
  virtual void on_reasoning_part(std::string_view text) = 0;
  // What stands between the tags of one or more calls. False when it is none: it is text then.
  virtual bool on_call(std::string_view content) = 0;
};

// Only an answer that begins with `<think>` has thoughts: one that speaks of the tag later means
// it. Calls may stand anywhere. What may be the beginning of a tag waits for what follows.
class TaggedText {
 public:
  enum class Tags : std::uint8_t { as_text, read };
  // Whose tags of calls are read.
  enum class Calls : std::uint8_t { as_text, local_models, seed };

  TaggedText(Tags reasoning_parts, Calls calls)
      : call_tags_(tags_of(calls)),
        firsts_(calls == Calls::seed ? "<s" : "<"),
        first_(reasoning_parts == Tags::read ? State::start : State::text),
        state_(first_) {}

  void feed(std::string_view delta, TaggedReader& reader);
  // Gives what waits: something else follows the text, or nothing does.
  void flush(TaggedReader& reader);
  // The next text is the beginning of another message.
  void restart() { state_ = first_; }

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

  bool step(TaggedReader& reader);
  bool read_start();
  bool read_reasoning(TaggedReader& reader);
  bool read_text(TaggedReader& reader);
  bool read_call(TaggedReader& reader);
  std::size_t find_call(std::string_view text);

  std::span<const CallTag> call_tags_;
  std::string_view firsts_;  // with which those tags begin
  State first_;              // of a message
  State state_;
  std::size_t call_tag_ = 0;  // which of the tags of calls is open
  std::string waiting_;
  std::size_t at_ = 0;        // what is before it was given
  std::size_t searched_ = 0;  // in what is before it the awaited tag does not begin
};

inline TaggedText::Tags reasoning_tags(const Services& services) {
  return services.reads_reasoning ? TaggedText::Tags::read : TaggedText::Tags::as_text;
}

}  // namespace millrace::adapter
