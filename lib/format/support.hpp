// What several formats share.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/json.hpp"
#include "base/result.hpp"
#include "message/json_builder.hpp"
#include "message/message.hpp"

namespace millrace::format {

// The error for data that has no list of messages.
Error not_a_list(std::string_view accepted, const json::Value& given);

// The stored id, or a new one.
std::string id_of(const json::Value& message, IdSource& ids);

// The texts of a list's elements joined; a string as it is; "" for anything else. An element gives
// its member `text` when that is a string.
std::string joined_text(const json::Value& content);

// How an API's blocks of a content are read.
struct ContentBlocks {
  bool (*is_text)(const json::Value& block);  // a text and nothing else
  void (*read_part)(message::JsonBuilder& out, const json::Value& block);
};

// Blocks as content: a string when they are one plain text, or texts only and `join` says so.
message::Content content_of(const std::vector<json::Value>& blocks, const ContentBlocks& api,
                            bool join);

// The text that answers a tool call: the content, or what failed when there is none.
std::string result_text(const message::Message& message);

// A result as a model reads it: what failed follows a content that has other words, in a
// line of its own, since APIs have no other place for it.
// Lifetime: the message outlives it.
class SentResult {
 public:
  explicit SentResult(const message::Message& message);
  [[nodiscard]] const message::Message& message() const { return copy_ ? *copy_ : given_; }

 private:
  const message::Message& given_;
  std::optional<message::Message> copy_;
};

// The arguments of a call as text: a string as it is, other JSON as its text.
std::string arguments_of(const json::Value& arguments);

// The JSON text of an object without the members named in `left_out`.
std::string without(const json::Value& object, std::initializer_list<std::string_view> left_out);

// Arguments that are no JSON object travel as the only member of this name, where an API takes
// nothing but objects.
inline constexpr std::string_view raw_arguments_key = "millrace_raw_arguments";

// Writes the member `key` from a call's arguments: an object always.
void write_arguments(message::JsonBuilder& out, std::string_view key, std::string_view arguments);

// Reads what write_arguments wrote.
std::string read_arguments(const json::Value& object);

// Reasoning that came without a signature is its own provider's by a mark alone.
void mark_unsigned(message::Message& reasoning, std::string_view provider);
bool is_own_unsigned(const message::Message& reasoning, std::string_view provider);

// True for a text that most APIs refuse: it must hold more than white space.
bool is_blank(std::string_view text);

// JSON text, lone surrogates kept.
std::string raw(const json::Value& value);

}  // namespace millrace::format
