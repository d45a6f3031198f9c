// What a message of LangChain has as its content.
#include "format/langgraph_content.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "format/langgraph_names.hpp"
#include "format/retained.hpp"
#include "format/support.hpp"
#include "message/parts.hpp"

namespace millrace::format {
namespace {

using message::Content;
using message::JsonBuilder;
using message::Media;
using message::Message;
using message::Role;
using message::ToolCall;

// Blocks that are calls: their arguments are an object, or its JSON as text.
struct CallShape {
  std::string_view type;
  std::string_view id;
  std::string_view arguments;
  bool is_text = false;
};
constexpr std::array<CallShape, 3> call_shapes{{
    {"tool_call", "id", "args"},
    {"tool_use", "id", "input"},
    {"function_call", "call_id", "arguments", true},
}};

// The block that a medium came from, with the medium's bytes; false when it is of another.
bool write_langgraph_medium(JsonBuilder& out, const json::Value& part) {
  const json::Value block = held_block(part, langgraph::provider);
  Media media;
  Media given;
  if (!block.is_object() || !message::read_media(media, part)) return false;
  const bool is_data = media.source == Media::Source::data;
  const bool has_address = langgraph::read_medium(given, block);
  if (is_data ? has_address : !has_address || given.value != media.value) return false;
  if (is_data) {
    write_with_bytes(out, block, langgraph::bytes_path(block), media.value);
  } else {
    out.value(block);
  }
  return true;
}

// Reads `binary` and images by value or address, which become the block that every chat model of
// LangChain knows.
bool read_image(Media& media, const json::Value& part) {
  const bool known = message::read_media(media, part) && media.source != Media::Source::file;
  return known && (part["type"].string() == "binary" || media.kind == Media::Kind::image);
}

// Parts that are no such image go as they are.
void write_langgraph_part(JsonBuilder& out, const json::Value& part) {
  if (const json::Value block = stand_in_block(part, langgraph::provider)) return out.value(block);
  if (write_langgraph_medium(out, part)) return;
  Media media;
  if (!read_image(media, part)) return out.value(part);
  out.open_object();
  out.text("type", langgraph::image_block);
  if (media.metadata[langgraph::bare_member].is_true()) {
    message::write_url(out, langgraph::image_block, media);
    out.close_object();
    return;
  }
  out.open_object(langgraph::image_block);
  message::write_url(out, "url", media);
  out.filled("detail", media.metadata["detail"].string());
  out.close_object();
  out.close_object();
}

// The blocks of a message's content as state has them: those of an answer have sizes instead of
// texts, and calls without their arguments; those of a history are as they came.
class RetainedBlocks {
 public:
  explicit RetainedBlocks(const Message& message);

  // True when their texts are still those of the message.
  bool read(std::string_view text);
  void write(JsonBuilder& out, std::string_view text, const std::vector<ToolCall>& calls) const;
  // Whether there are blocks that show no text.
  [[nodiscard]] bool has_others() const;
  // Writes these around a text that was changed since, which stands where the first one stood.
  void write_around(JsonBuilder& out, std::string_view text,
                    const std::vector<ToolCall>& calls) const;

 private:
  struct Block {
    json::Value value;
    std::size_t size = 0;  // of its text
  };

  static bool is_words(const json::Value& block);
  static std::size_t size_of(const json::Value& block);
  static void write_block(JsonBuilder& out, const Block& block, std::string_view piece);
  static bool write_call(JsonBuilder& out, const json::Value& block,
                         const std::vector<ToolCall>& calls);

  std::deque<json::Document> documents_;
  std::vector<Block> blocks_;
};

RetainedBlocks::RetainedBlocks(const Message& message) {
  for (const message::ProviderState& state : message.metadata.provider_state) {
    if (state.provider != langgraph::provider || state.kind != langgraph::list_state) continue;
    const auto list = documents_.emplace_back(message::depth_limit).parse(state.json);
    if (!list) continue;
    for (const json::Value block : list.value().items()) blocks_.push_back({block});
  }
}

bool RetainedBlocks::read(std::string_view text) {
  if (blocks_.empty()) return false;
  bool is_answer = false;
  bool has_texts = false;
  for (const Block& block : blocks_) {
    is_answer = is_answer || !block.value["size"].is_nothing();
    has_texts = has_texts || block.value.is_string() || block.value["type"].string() == "text";
  }
  // The refusal of an answer is text as well; that of a history is none.
  is_answer = is_answer || (!has_texts && !text.empty());
  for (Block& block : blocks_) {
    const json::Value& value = block.value;
    const bool is_text = value["type"].string() == "text";
    const std::string_view own = value.is_string() ? value.string()
                                 : is_text         ? value["text"].string()
                                 : is_answer && value["type"].string() == "refusal"
                                     ? value["refusal"].string()
                                     : std::string_view();
    block.size = is_text && !value["size"].is_nothing() ? size_of(value) : own.size();
    if (block.size > text.size() || !text.substr(0, block.size).starts_with(own)) return false;
    text.remove_prefix(block.size);
  }
  return text.empty();
}

std::size_t RetainedBlocks::size_of(const json::Value& block) {
  return static_cast<std::size_t>(std::max<std::int64_t>(block["size"].integer().value_or(0), 0));
}

void RetainedBlocks::write(JsonBuilder& out, std::string_view text,
                           const std::vector<ToolCall>& calls) const {
  out.open_array("content");
  for (const Block& block : blocks_) {
    if (!write_call(out, block.value, calls)) write_block(out, block, text.substr(0, block.size));
    text.remove_prefix(block.size);
  }
  out.close_array();
}

bool RetainedBlocks::is_words(const json::Value& block) {
  const std::string_view type = block["type"].string();
  return block.is_string() || type == "text" || type == "refusal";
}

bool RetainedBlocks::has_others() const {
  return !std::all_of(blocks_.begin(), blocks_.end(),
                      [](const Block& block) { return is_words(block.value); });
}

void RetainedBlocks::write_around(JsonBuilder& out, std::string_view text,
                                  const std::vector<ToolCall>& calls) const {
  const auto write_words = [&] {
    if (!text.empty()) message::write_text_part(out, text);
    text = {};
  };
  out.open_array("content");
  for (const Block& block : blocks_) {
    if (is_words(block.value)) {
      write_words();
    } else if (!write_call(out, block.value, calls)) {
      write_block(out, block, {});
    }
  }
  write_words();
  out.close_array();
}

void RetainedBlocks::write_block(JsonBuilder& out, const Block& block, std::string_view piece) {
  if (block.value["size"].is_nothing()) return out.value(block.value);
  out.open_object();
  for (const auto& [key, value] : block.value.members()) {
    if (key != "size") out.value(key, value);
  }
  out.text("text", piece);
  out.close_object();
}

// Writes a call of an answer, which is without name and arguments, by the message's call of its
// id; nothing where that is gone. False for other blocks.
bool RetainedBlocks::write_call(JsonBuilder& out, const json::Value& block,
                                const std::vector<ToolCall>& calls) {
  const auto* shape =
      std::find_if(call_shapes.begin(), call_shapes.end(),
                   [&](const CallShape& row) { return row.type == block["type"].string(); });
  const bool is_whole = shape == call_shapes.end() || block[shape->arguments].exists();
  if (is_whole || block["name"].exists()) return false;
  const auto call = std::find_if(calls.begin(), calls.end(), [&](const ToolCall& one) {
    return one.id == block[shape->id].string();
  });
  if (call == calls.end()) return true;
  out.open_object();
  for (const auto& [key, value] : block.members()) out.value(key, value);
  out.text("name", call->name);
  langgraph::write_arguments(out, shape->arguments, *call, shape->is_text);
  out.close_object();
  return true;
}

}  // namespace

void langgraph::write_arguments(JsonBuilder& out, std::string_view key, const ToolCall& call,
                                bool as_text) {
  json::Document document(message::depth_limit);
  const auto arguments = document.parse(call.arguments);
  if (arguments && !as_text) {
    out.value(key, arguments.value());
  } else {
    out.text(key, call.arguments);
  }
}

std::string langgraph::image_names(const Message& message) {
  if (message.role != Role::user || message.content.kind != Content::Kind::parts) return {};
  JsonBuilder out;
  bool any = false;
  std::size_t index = 0;
  out.open_array();
  const message::Parts parts(message.content);
  for (const json::Value part : parts.items()) {
    Media media;
    const bool is_image =
        !held_block(part, langgraph::provider).is_object() && read_image(media, part);
    if (is_image && !media.filename.empty()) {
      out.open_object();
      out.raw("index", std::to_string(index));
      out.text("type", image_block);
      out.text("filename", media.filename);
      out.close_object();
      any = true;
    }
    ++index;
  }
  out.close_array();
  return any ? out.take() : std::string();
}

void langgraph::write_content(JsonBuilder& out, const Message& given) {
  const SentResult sent(given);
  const Message& message = sent.message();
  const bool has_parts = message.role == Role::user || message.role == Role::tool;
  if (message.content.kind == Content::Kind::parts && has_parts) {
    out.open_array("content");
    const message::Parts parts(message.content);
    for (const json::Value part : parts.items()) write_langgraph_part(out, part);
    out.close_array();
    return;
  }
  const std::string text =
      message.role == Role::tool ? result_text(message) : message::text_of(message.content);
  RetainedBlocks blocks(message);
  if (blocks.read(text)) return blocks.write(out, text, message.tool_calls);
  if (blocks.has_others()) return blocks.write_around(out, text, message.tool_calls);
  if (write_list(out, "content", message.metadata, langgraph::provider, text)) return;
  const auto* list = message.metadata.find(langgraph::provider, list_kind);
  if (text.empty() && list != nullptr && list->json == "[]") {
    out.open_array("content");
    return out.close_array();
  }
  out.text("content", text);
}

}  // namespace millrace::format
