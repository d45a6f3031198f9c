// One entry of a job's log, and what a job is known by.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_tree.hpp"

namespace millrace::chat {

// A place in a job's log. Deltas have the number of the event before them and a part from 1, so
// that they never take a number of their own.
struct Cursor {
  std::uint64_t seq = 0;
  std::uint64_t part = 0;
  auto operator<=>(const Cursor&) const = default;
};

// Shape: "<seq>" or "<seq>.<part>". What is no cursor gives nothing.
std::optional<Cursor> parse_cursor(std::string_view text);
std::string cursor_text(Cursor cursor);

struct JobEvent {
  std::uint64_t seq = 0;
  std::uint64_t part = 0;  // of a delta, from 1
  std::string_view event;  // a literal
  json::Tree payload;
  std::int64_t at_ms = 0;

  [[nodiscard]] Cursor cursor() const { return {seq, part}; }
};

// An output as readers see it. Its attachments are an array of their metadata.
struct Output {
  std::string content;
  json::Tree attachments = json::Tree::array();
  std::uint64_t index = 0;  // of the text that it came from
};

enum class JobMode : std::uint8_t { chat, command };
std::string_view name_of(JobMode mode);

// What of a job is not in its records. Must be the same for each reading of one run, or events and
// numbers differ.
struct JobOptions {
  std::string job_id;
  std::string conversation_id = {};  // "" is the thread of the run
  JobMode mode = JobMode::chat;
  // The text of the user was stored with the job: a stage reports it.
  bool records_history = true;
  json::Tree virtual_user = json::Tree::integer(42);
  std::string permission = "superadmin";
  bool has_deltas = false;      // keeps deltas beside the events
  std::size_t event_limit = 0;  // older ones are dropped; 0 is no limit
  std::size_t byte_limit = 0;   // the same for what they take in memory
  // Shapes an output: media within it become attachments. Called in the order of the outputs; the
  // same text must give the same output for ever.
  std::function<Output(std::string_view)> output = {};
  // An attachment of a message of the user as readers see it, of what the conversation stores.
  std::function<json::Tree(json::Tree)> attachment = {};
};

}  // namespace millrace::chat
