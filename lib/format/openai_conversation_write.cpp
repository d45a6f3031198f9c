// Canonical messages -> Responses items.

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "format/openai_conversation.hpp"
#include "format/support.hpp"
#include "message/parts.hpp"

namespace millrace::format {
namespace {

using message::JsonBuilder;
using message::Media;
using message::Message;
using message::ProviderState;
using message::Role;
using message::ToolCall;

constexpr std::string_view provider = "openai_responses";

void write_text(JsonBuilder& out, std::string_view text) {
  out.open_object();
  out.text("type", "input_text");
  out.text("text", text);
  out.close_object();
}

void write_image(JsonBuilder& out, const Media& media) {
  const std::string_view detail = media.metadata["detail"].string();
  out.open_object();
  out.text("type", "input_image");
  if (media.source == Media::Source::file) {
    out.text("file_id", media.value);
  } else {
    message::write_url(out, "image_url", media);
  }
  out.text("detail", detail.empty() ? "auto" : detail);
  out.close_object();
}

void write_file(JsonBuilder& out, const Media& media) {
  out.open_object();
  out.text("type", "input_file");
  out.filled("filename", media.filename);
  switch (media.source) {
    case Media::Source::data: message::write_url(out, "file_data", media); break;
    case Media::Source::url: out.text("file_url", media.value); break;
    case Media::Source::file: out.text("file_id", media.value); break;
  }
  out.close_object();
}

void write_part(JsonBuilder& out, const json::Value& part) {
  Media media;
  const bool is_media = message::read_media(media, part);
  const bool is_binary = is_media && part["type"].string() == "binary";
  const bool is_image = media.kind == Media::Kind::image;
  const bool by_id = media.source == Media::Source::file;
  if (is_media && (is_image || (is_binary && !by_id))) {
    write_image(out, media);
  } else if (is_media && (by_id || media.kind == Media::Kind::document)) {
    write_file(out, media);
  } else {
    // A part the API has no word for keeps its place.
    write_text(out, part["type"].string() == "text" ? part["text"].string() : "");
  }
}

void write_parts(JsonBuilder& out, std::string_view key, const message::Content& content) {
  out.open_array(key);
  const message::Parts parts(content);
  for (const json::Value part : parts.items()) write_part(out, part);
  out.close_array();
}

bool has_media(const message::Content& content) {
  const message::Parts parts(content);
  for (const json::Value part : parts.items()) {
    if (part["type"].string() != "text") return true;
  }
  return false;
}

// What the API made: the encrypted values of other providers look different and would be refused.
bool is_encrypted_here(const Message& message) {
  constexpr std::string_view fernet = "gAAAA";  // the version and the high bytes of the time
  return message.encrypted_value &&
         (message.id.starts_with("rs_") || message.encrypted_value->starts_with(fernet));
}

// Writes the items of one conversation.
class Writer {
 public:
  Writer(JsonBuilder& out, std::span<const Message> messages) : out_(out) {
    for (const Message& message : messages) {
      if (message.role == Role::tool) results_.try_emplace(message.tool_call_id, &message);
    }
  }

  void write(const Message& message) {
    switch (message.role) {
      case Role::user:
      case Role::system:
      case Role::developer: write_message(message); break;
      case Role::assistant: write_assistant(message); break;
      case Role::tool: write_result(message); break;
      case Role::reasoning: write_reasoning(message); break;
      case Role::activity: break;
    }
  }

 private:
  void write_message(const Message& message) {
    out_.open_object();
    out_.text("role", message::name_of(message.role));
    if (message.role != Role::user || message.content.kind == message::Content::Kind::text) {
      out_.text("content", message::text_of(message.content));
    } else {
      write_parts(out_, "content", message.content);
    }
    out_.text("type", "message");
    out_.close_object();
  }

  void write_assistant(const Message& message) {
    for (const ProviderState& state : message.metadata.provider_state) {
      if (state.provider == provider && state.kind == "item") out_.raw(state.json);
    }
    if (const std::string text = message::text_of(message.content); !text.empty()) {
      out_.open_object();
      out_.text("role", "assistant");
      out_.text("content", text);
      out_.text("type", "message");
      if (const auto* phase = message.metadata.find(provider, "phase")) {
        out_.raw("phase", phase->json);
      }
      out_.close_object();
    }
    for (const ToolCall& call : message.tool_calls) write_call(call);
  }

  void write_call(const ToolCall& call) {
    if (const auto* mcp = call.metadata.find(provider, "mcp_call")) {
      write_mcp_call(call, mcp->json);
      return;
    }
    const bool custom = call.metadata.find(provider, "custom_tool_call") != nullptr;
    if (custom) custom_calls_.insert(call.id);
    out_.open_object();
    out_.text("type", custom ? "custom_tool_call" : "function_call");
    out_.text("call_id", call.id);
    out_.text("name", call.name);
    out_.text(custom ? "input" : "arguments", call.arguments);
    out_.close_object();
  }

  // Call and result are one item.
  void write_mcp_call(const ToolCall& call, const std::string& state) {
    out_.open_object();
    out_.text("type", "mcp_call");
    out_.text("id", call.id);
    json::Document document(message::depth_limit);
    if (const auto members = document.parse(state)) {
      for (const auto& [key, value] : members.value().members()) out_.value(key, value);
    }
    out_.text("name", call.name);
    out_.text("arguments", call.arguments);
    if (const auto result = results_.find(call.id); result != results_.end()) {
      out_.text("output", message::text_of(result->second->content));
      if (result->second->error) out_.text("error", *result->second->error);
    }
    out_.close_object();
    written_results_.insert(call.id);
  }

  void write_result(const Message& message) {
    const std::string& id = message.tool_call_id;
    if (written_results_.contains(id)) return;
    out_.open_object();
    out_.text("type",
              custom_calls_.contains(id) ? "custom_tool_call_output" : "function_call_output");
    out_.text("call_id", id);
    if (has_media(message.content)) {
      write_parts(out_, "output", message.content);
    } else {
      out_.text("output", result_text(message));
    }
    out_.close_object();
  }

  void write_reasoning(const Message& message) {
    const bool encrypted = is_encrypted_here(message);
    const bool is_summary = message.metadata.find(provider, "reasoning_text") == nullptr;
    // An item that the API did not encrypt can be found by its id only where it was stored.
    const bool stored = message.metadata.find(provider, "reasoning") != nullptr;
    if (!encrypted && is_summary && !stored) return;
    const std::string text = message::text_of(message.content);
    out_.open_object();
    out_.text("type", "reasoning");
    if (message.id.starts_with("rs_")) out_.text("id", message.id);
    out_.open_array("summary");
    if (is_summary) write_reasoning_text("summary_text", text);
    out_.close_array();
    if (!is_summary) {
      out_.open_array("content");
      write_reasoning_text("reasoning_text", text);
      out_.close_array();
    }
    if (encrypted) out_.text("encrypted_content", *message.encrypted_value);
    out_.close_object();
  }

  void write_reasoning_text(std::string_view type, std::string_view text) {
    if (text.empty()) return;
    out_.open_object();
    out_.text("type", type);
    out_.text("text", text);
    out_.close_object();
  }

  JsonBuilder& out_;
  std::unordered_map<std::string_view, const Message*> results_;
  std::unordered_set<std::string_view> custom_calls_;
  std::unordered_set<std::string_view> written_results_;
};

}  // namespace

void write_openai_conversation(JsonBuilder& out, std::span<const Message> messages) {
  Writer writer(out, messages);
  out.open_array();
  for (const Message& message : messages) writer.write(message);
  out.close_array();
}

}  // namespace millrace::format
