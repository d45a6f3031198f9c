// Canonical messages -> Responses items.

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "format/further_members.hpp"
#include "format/openai_content.hpp"
#include "format/openai_conversation.hpp"
#include "format/openai_conversation_reasoning.hpp"
#include "format/openai_item_state.hpp"
#include "format/openai_items.hpp"
#include "format/openai_names.hpp"
#include "format/support.hpp"
#include "message/ordered_answers.hpp"
#include "message/parts.hpp"

namespace millrace::format {
namespace {

using message::JsonBuilder;
using message::Message;
using message::Part;
using message::PartKind;
using message::ProviderState;
using message::Role;
using message::ToolCall;
using openai::ItemState;

// Writes the items of one conversation.
class ItemWriter {
 public:
  ItemWriter(JsonBuilder& out, std::span<const Message> messages, PlainReasoning plain,
             bool takes_videos)
      : out_(out),
        messages_(messages),
        plain_(plain),
        takes_videos_(takes_videos),
        answers_(messages) {
    for (const Message& message : messages) {
      if (message.role == Role::tool) results_.try_emplace(message.tool_call_id, &message);
    }
  }

  void write() {
    for (std::size_t at = 0; at < messages_.size(); ++at) {
      if (answers_.covers(at)) {
        write_answer(answers_.at(at));
      } else {
        at += write_one(at) - 1;
      }
    }
  }

 private:
  // Writes a message, or those that are one item; gives how many they are.
  std::size_t write_one(std::size_t at) {
    const Message& message = messages_[at];
    switch (message.role) {
      case Role::user:
      case Role::system:
      case Role::developer: write_message(message); break;
      case Role::assistant: write_assistant(message); break;
      case Role::tool: write_result(message); break;
      case Role::reasoning: {
        const std::size_t parts = count_reasoning_parts(messages_, at);
        write_reasoning(messages_.subspan(at, parts));
        return parts;
      }
      case Role::activity: break;
    }
    return 1;
  }

  // The parts of an answer whose order is recorded.
  void write_answer(std::span<const Part> parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Part& part = parts[i];
      switch (part.kind) {
        case PartKind::text: write_text(*part.message, part.text); break;
        case PartKind::item: write_retained_item(*part.state); break;
        case PartKind::call: write_call(*part.call); break;
        case PartKind::result: write_result(*part.message); break;
        case PartKind::reasoning: {
          const std::size_t count = count_reasoning_parts(messages_, part.at);
          write_reasoning(messages_.subspan(part.at, count));
          // The others are parts of the same item.
          while (i + 1 < parts.size() && parts[i + 1].kind == PartKind::reasoning &&
                 parts[i + 1].at > part.at && parts[i + 1].at < part.at + count) {
            ++i;
          }
          break;
        }
      }
    }
  }

  void write_message(const Message& message) {
    write_retained_items(message.metadata);
    const bool is_empty = message.content.kind == message::Content::Kind::absent;
    if (is_empty && has_retained_items(message.metadata)) return;
    out_.open_object();
    const FurtherMembers further = further_of(message.metadata);
    const std::string_view role = further["role"].string();
    const bool has_role = message.role == Role::system && openai::is_further_role(role);
    out_.text("role", has_role ? role : message::name_of(message.role));
    const std::string text = message::text_of(message.content);
    if (openai::write_text_list(out_, "content", message.metadata, text)) {
      // As it came.
    } else if (message.role == Role::user ? message.content.kind != message::Content::Kind::text
                                          : openai::has_more_than_texts(message.content)) {
      openai::write_input_parts(out_, "content", message.content, takes_videos_);
    } else {
      out_.text("content", text);
    }
    out_.text("type", "message");
    further.write(out_, {"role", "content", "type"});
    out_.close_object();
  }

  void write_assistant(const Message& message) {
    write_retained_items(message.metadata);
    write_text(message, message::text_of(message.content));
    for (const ToolCall& call : message.tool_calls) write_call(call);
  }

  void write_text(const Message& message, std::string_view text) {
    // Parts without a text have citations all the same.
    const bool has_parts =
        message.metadata.find(openai::items_provider, openai::content_kind) != nullptr;
    if (text.empty() && !has_parts) return;
    out_.open_object();
    out_.text("role", "assistant");
    // Each id once: what stands between two texts makes them two items.
    const bool has_id = is_new_id(message.id, message.metadata);
    if (!openai::write_output_parts(out_, message, text)) {
      has_id ? openai::write_output_text(out_, text) : out_.text("content", text);
    }
    out_.text("type", "message");
    const ItemState item(message.metadata);
    if (item["phase"].is_string()) out_.value("phase", item["phase"]);
    if (has_id) {
      out_.text("id", message.id);
      const auto status = item["status"].filled_string();
      out_.text("status", status.value_or("completed"));
    }
    further_of(message.metadata).write(out_, {"role", "content", "type", "phase"});
    out_.close_object();
  }

  // Whether the API gave this id, and the item has none yet.
  bool is_new_id(std::string_view id, const message::Metadata& metadata) {
    return openai::is_own_id(id) && !further_of(metadata)["id"].exists() &&
           written_ids_.emplace(id).second;
  }

  // The id of a call or a result, as the API gave it.
  void write_id(const message::Metadata& metadata, const ItemState& item) {
    const std::string_view id = item["id"].string();
    if (is_new_id(id, metadata)) out_.text("id", id);
  }

  static FurtherMembers further_of(const message::Metadata& metadata) {
    return {metadata, openai::items_provider};
  }

  static bool may_be_retained_item(const ProviderState& state) {
    return state.provider == openai::items_provider && message::is_item(state.provider, state.kind);
  }

  static bool has_retained_items(const message::Metadata& metadata) {
    return std::any_of(metadata.provider_state.begin(), metadata.provider_state.end(),
                       may_be_retained_item);
  }

  void write_retained_items(const message::Metadata& metadata) {
    for (const ProviderState& state : metadata.provider_state) write_retained_item(state);
  }

  void write_retained_item(const ProviderState& state) {
    if (!may_be_retained_item(state) || is_left_silent(state, plain_)) return;
    json::Document document(message::depth_limit);
    const auto item = document.parse(state.json);
    if (item && item.value()["type"].string() == state.kind) out_.value(item.value());
  }

  void write_call(const ToolCall& call) {
    const ItemState item(call.metadata);
    if (item.is("mcp_call")) {
      write_mcp_call(call, item);
      return;
    }
    if (openai::is_hosted(item)) {
      openai::write_hosted_call(out_, call, item);
      written_results_.insert(call.id);
      return;
    }
    const openai::CallType* type = openai::call_type(item["type"].string());
    if (type != nullptr && !type->output_type.empty()) {
      openai::write_item_call(out_, *type, call, item.value());
      item_calls_.emplace(call.id, ItemCall{type, &call});
      return;
    }
    const bool custom = openai::is_custom_call(call);
    if (custom) custom_calls_.insert(call.id);
    if (custom && openai::is_x_search(call.id)) written_results_.insert(call.id);
    out_.open_object();
    out_.text("type", custom ? "custom_tool_call" : "function_call");
    out_.text("call_id", call.id);
    out_.text("name", call.name);
    out_.text(custom ? "input" : "arguments", openai::sent_arguments(call, item));
    if (item["namespace"].is_string()) out_.value("namespace", item["namespace"]);
    if (const json::Value caller = item["caller"]; caller.is_object()) {
      out_.value("caller", caller);
      callers_.insert_or_assign(call.id, caller.to_json(json::Surrogates::keep));
    }
    if (item["async"].exists()) out_.value("async", item["async"]);
    if (const json::Value status = item["status"]; status.string() != "completed") {
      if (status.is_string()) out_.value("status", status);
    }
    write_id(call.metadata, item);
    // Requests do not have who made it.
    further_of(call.metadata)
        .write(out_, {"type", "call_id", "name", "arguments", "input", "namespace", "caller",
                      "created_by"});
    out_.close_object();
  }

  // Call and result are one item.
  void write_mcp_call(const ToolCall& call, const ItemState& item) {
    out_.open_object();
    out_.text("type", "mcp_call");
    out_.text("id", call.id);
    for (const auto& [key, value] : item.members()) {
      if (key != "type" && key != "id" && key != "output") out_.value(key, value);
    }
    out_.text("name", call.name);
    out_.text("arguments", call.arguments);
    if (const auto result = results_.find(call.id); result != results_.end()) {
      const std::string output = message::text_of(result->second->content);
      // One that is empty goes back as it came: null, "", or absent.
      if (!output.empty()) {
        out_.text("output", output);
      } else if (item["output"].exists()) {
        out_.value("output", item["output"]);
      }
      const bool has_error = item["error"].exists();
      if (result->second->error && !has_error) out_.text("error", *result->second->error);
    }
    out_.close_object();
    written_results_.insert(call.id);
  }

  void write_result(const Message& message) {
    const std::string& id = message.tool_call_id;
    if (written_results_.contains(id)) return;
    const ItemState item(message.metadata);
    const auto called = item_calls_.find(id);
    // The call may be in an earlier response.
    const bool is_known = called != item_calls_.end();
    const openai::CallType* type =
        is_known ? called->second.type : openai::answered_type(item["type"].string());
    if (type != nullptr) {
      return openai::write_item_output(out_, *type, message, item.value(),
                                       is_known ? called->second.call : nullptr);
    }
    const bool custom = custom_calls_.contains(id) || item.is("custom_tool_call_output");
    out_.open_object();
    out_.text("type", custom ? "custom_tool_call_output" : "function_call_output");
    out_.text("call_id", id);
    if (item["caller"].is_object()) {
      out_.value("caller", item["caller"]);
    } else if (const auto caller = callers_.find(id); caller != callers_.end()) {
      out_.raw("caller", caller->second);
    }
    for (const std::string_view key : {"name", "namespace"}) {
      if (item[key].is_string()) out_.value(key, item[key]);
    }
    write_output(message, item["output"]);
    write_id(message.metadata, item);
    const FurtherMembers further = further_of(message.metadata);
    const bool has_status = further["status"].exists();
    if (const json::Value status = item["status"]; status.is_string() && !has_status) {
      if (status.string() != "completed") out_.value("status", status);
    }
    further.write(out_, {"type", "call_id", "output", "caller", "name", "namespace", "created_by"});
    out_.close_object();
  }

  // A list as it came, while it shows the same.
  void write_output(const Message& result, const json::Value& given) {
    const SentResult sent(result);
    const Message& message = sent.message();
    const std::string text = result_text(message);
    if (given.is_array() && (joined_text(given) == text || raw(given) == text)) {
      out_.value("output", given);
    } else if (openai::write_text_list(out_, "output", message.metadata, text)) {
      // The same of a history.
    } else if (openai::has_more_than_texts(message.content)) {
      openai::write_input_parts(out_, "output", message.content, takes_videos_);
    } else {
      out_.text("output", text);
    }
  }

  void write_reasoning(std::span<const Message> parts) {
    const Message& first = parts.front();
    const ItemState item(first.metadata);
    if (!is_reasoning_written(first, plain_)) return;
    const bool is_content = item.is("reasoning_text");
    const auto given = static_cast<std::size_t>(item["summary"].integer().value_or(0));
    const std::size_t summaries = is_content ? std::min(given, parts.size()) : parts.size();
    const FurtherMembers further = further_of(first.metadata);
    out_.open_object();
    out_.text("type", "reasoning");
    if (first.id.starts_with("rs_")) out_.text("id", first.id.substr(0, first.id.find(':')));
    out_.open_array("summary");
    write_reasoning_parts("summary_text", parts.first(summaries), further["summary"]);
    out_.close_array();
    if (is_content && (summaries < parts.size() || further["content"].exists())) {
      out_.open_array("content");
      write_reasoning_parts("reasoning_text", parts.subspan(summaries), further["content"]);
      out_.close_array();
    }
    if (first.encrypted_value) out_.text("encrypted_content", *first.encrypted_value);
    if (item["status"].is_string()) out_.value("status", item["status"]);
    further.write(out_, {"type", "id", "summary", "content", "encrypted_content"});
    out_.close_object();
  }

  // `further` has the further members of each part; one with a text shows nothing, and is no
  // message.
  void write_reasoning_parts(std::string_view type, std::span<const Message> parts,
                             const json::Value& further) {
    std::size_t written = 0;
    for (const json::Value members : further.items()) {
      if (members["text"].is_string()) {
        write_reasoning_part(type, members["text"].string(), members);
      } else if (written < parts.size()) {
        write_reasoning_part(type, message::text_of(parts[written++].content), members);
      }
    }
    for (const Message& part : parts.subspan(written)) {
      const std::string text = message::text_of(part.content);
      // The only message may stand for an item without parts.
      if (!text.empty() || parts.size() > 1) write_reasoning_part(type, text, {});
    }
  }

  void write_reasoning_part(std::string_view type, std::string_view text,
                            const json::Value& further) {
    out_.open_object();
    out_.text("type", type);
    out_.text("text", text);
    write_further(out_, further, {"type", "text"});
    out_.close_object();
  }

  JsonBuilder& out_;
  std::span<const Message> messages_;
  PlainReasoning plain_;
  bool takes_videos_;
  message::OrderedAnswers answers_;
  std::unordered_map<std::string_view, const Message*> results_;
  struct ItemCall {
    const openai::CallType* type;
    const ToolCall* call;
  };
  std::unordered_map<std::string_view, ItemCall> item_calls_;  // by id
  std::unordered_map<std::string_view, std::string> callers_;  // by id of the call
  std::unordered_set<std::string_view> custom_calls_;
  std::unordered_set<std::string_view> written_results_;
  std::unordered_set<std::string> written_ids_;  // that the API gave
};

}  // namespace

bool openai::is_custom_call(const ToolCall& call) {
  return call.metadata.find(openai::provider, openai::custom_kind) != nullptr ||
         ItemState(call.metadata).is("custom_tool_call");
}

void write_openai_conversation(JsonBuilder& out, std::span<const Message> messages) {
  write_openai_items(out, messages, PlainReasoning::sent);
}

void write_openai_items(JsonBuilder& out, std::span<const Message> messages, PlainReasoning plain,
                        bool takes_videos) {
  out.open_array();
  ItemWriter(out, messages, plain, takes_videos).write();
  out.close_array();
}

}  // namespace millrace::format
