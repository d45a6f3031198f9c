#include "format/support.hpp"

#include <algorithm>

#include "base/shown.hpp"
#include "event/unsigned_reasoning.hpp"
#include "message/history.hpp"
#include "message/parts.hpp"

namespace millrace::format {

Error not_a_list(std::string_view accepted, const json::Value& given) {
  const bool lacks_it = given.is_object() && accepted.find(" or ") != accepted.npos;
  return make_error(Errc::invalid_messages,
                    "The data must be " + std::string(accepted) + ", not " +
                        (lacks_it ? "an object without it" : shown_value(given)) + ".");
}

std::string id_of(const json::Value& message, IdSource& ids) {
  const auto stored = message["id"].filled_string();
  return stored ? std::string(*stored) : ids.next_id();
}

std::string joined_text(const json::Value& content) {
  if (content.is_string()) return std::string(content.string());
  std::string text;
  for (const json::Value part : content.items()) text.append(part["text"].string());
  return text;
}

message::Content content_of(const std::vector<json::Value>& blocks, const ContentBlocks& api,
                            bool join) {
  const bool texts = std::all_of(blocks.begin(), blocks.end(), api.is_text);
  if (texts && (join || blocks.size() <= 1)) {
    std::string text;
    for (const json::Value& block : blocks) text.append(block["text"].string());
    return message::Content::of_text(text);
  }
  message::JsonBuilder out;
  out.open_array();
  for (const json::Value& block : blocks) api.read_part(out, block);
  out.close_array();
  return message::Content::of_parts(out.take());
}

std::string result_text(const message::Message& message) {
  std::string text = message::text_of(message.content);
  return text.empty() ? message.error.value_or("") : text;
}

SentResult::SentResult(const message::Message& message) : given_(message) {
  if (!message.error || message.error->empty()) return;
  const std::string text = message::text_of(message.content);
  const bool has_parts = message.content.kind == message::Content::Kind::parts;
  if (message::has_error(text, *message.error) || (text.empty() && !has_parts)) return;
  const std::string line = "Error: " + *message.error;
  copy_ = message;
  if (!has_parts) {
    copy_->content = message::Content::of_text(text + "\n" + line);
    return;
  }
  message::JsonBuilder parts;
  parts.open_array();
  const message::Parts given(message.content);
  for (const json::Value part : given.items()) parts.value(part);
  parts.open_object();
  parts.text("type", "text");
  parts.text("text", text.empty() ? line : "\n" + line);
  parts.close_object();
  parts.close_array();
  copy_->content = message::Content::of_parts(parts.take());
}

std::string arguments_of(const json::Value& arguments) {
  if (arguments.is_nothing()) return {};
  return arguments.is_string() ? std::string(arguments.string()) : raw(arguments);
}

std::string without(const json::Value& object, std::initializer_list<std::string_view> left_out) {
  message::JsonBuilder out;
  out.open_object();
  for (const auto& [key, value] : object.members()) {
    if (std::find(left_out.begin(), left_out.end(), key) == left_out.end()) out.value(key, value);
  }
  out.close_object();
  return out.take();
}

void write_arguments(message::JsonBuilder& out, std::string_view key, std::string_view arguments) {
  json::Document document(message::depth_limit);
  if (const auto value = document.parse(arguments); value && value.value().is_object()) {
    out.value(key, value.value());
    return;
  }
  out.open_object(key);
  if (!arguments.empty()) out.text(raw_arguments_key, arguments);
  out.close_object();
}

std::string read_arguments(const json::Value& object) {
  const json::Value unparsed = object[raw_arguments_key];
  const bool is_raw = object.size() == 1 && unparsed.is_string();
  return is_raw ? std::string(unparsed.string()) : arguments_of(object);
}

void mark_unsigned(message::Message& reasoning, std::string_view provider) {
  reasoning.metadata.add(provider, event::unsigned_kind, "true");
}

bool is_own_unsigned(const message::Message& reasoning, std::string_view provider) {
  return reasoning.encrypted_value.value_or("").empty() &&
         reasoning.metadata.find(provider, event::unsigned_kind) != nullptr;
}

bool is_blank(std::string_view text) {
  return json::trim(text).empty();
}

std::string raw(const json::Value& value) {
  return value.to_json(json::Surrogates::keep);
}

}  // namespace millrace::format
