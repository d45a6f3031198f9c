// Calls of Responses items and their outputs -> canonical messages.

#include <string>
#include <utility>

#include "format/openai_content.hpp"
#include "format/openai_item_reader.hpp"
#include "format/openai_item_state.hpp"
#include "format/openai_items.hpp"
#include "format/openai_names.hpp"
#include "format/retained.hpp"
#include "format/support.hpp"

namespace millrace::format {

using message::JsonBuilder;
using message::Message;
using message::Role;
using message::ToolCall;

message::Content openai::content_of_parts(const json::Value& content, std::string_view text,
                                          bool is_output) {
  if (!openai::has_more_than_texts(content)) return message::Content::of_text(text);
  JsonBuilder out;
  out.open_array();
  for (const json::Value part : content.items()) openai::read_input_part(out, part, is_output);
  out.close_array();
  return message::Content::of_parts(out.take());
}

void ItemReader::read_call(const json::Value& item) {
  end_step();
  const bool is_custom = item["type"].string() == openai::custom_call_type;
  ToolCall call;
  call.id = item["call_id"].filled_string().value_or(item["id"].string());
  call.name = item["name"].string();
  call.arguments =
      is_custom ? std::string(item["input"].string()) : arguments_of(item["arguments"]);
  const json::Value space = item["namespace"];
  const json::Value caller = item["caller"];
  if (is_custom || space.is_string() || caller.is_object()) {
    std::string state = is_custom ? R"({"type":"custom_tool_call")" : R"({"type":"function_call")";
    if (space.is_string()) state.append(R"(,"namespace":)").append(raw(space));
    if (caller.is_object()) state.append(R"(,"caller":)").append(raw(caller));
    call.metadata.add(openai::items_provider, "item", state + "}");
  }
  openai::keep_members(call.metadata, item,
                       {"type", "call_id", "name", "arguments", "input", "namespace", "caller"});
  const bool is_hosted = is_custom && openai::is_x_search(call.id);
  if (is_hosted) add_result(call, "");
  add_call(std::move(call), !is_hosted);
}

// An open call waits for its output; that of others is in their items.
void ItemReader::add_call(ToolCall call, bool is_open) {
  auto& calls = assistant().tool_calls;
  order_.add_call(messages_.size(), calls.size(), is_open ? call.id : std::string_view());
  calls.push_back(std::move(call));
}

// A call of a tool that the provider made. One that it ran has its result in the same item, so that
// it is a message of its own, but where it would part a call from its output.
void ItemReader::read_item_call(const json::Value& item, const openai::CallType& type) {
  end_step();
  const bool is_hosted = type.output_type.empty();
  ToolCall call;
  const auto call_id = item["call_id"].filled_string();
  call.id = !is_hosted && call_id ? std::string(*call_id) : id_of(item, ids_);
  call.name = type.tool;
  call.arguments = openai::arguments_of(type, item);
  const bool is_image = type.type == "image_generation_call";
  call.metadata.add(openai::items_provider, "item",
                    is_image ? without(item, {"result"}) : raw(item));
  if (const auto data = item["result"].filled_string(); is_image && data) {
    JsonBuilder image;
    image.open_object();
    image.text("type", "image_url");
    image.open_object("image_url");
    const auto format = item["output_format"].filled_string().value_or("png");
    image.joined("url", "data:image/" + std::string(format) + ";base64,", *data);
    image.close_object();
    image.close_object();
    call.metadata.add(openai::items_provider, "image", image.take());
  }
  open_calls_.insert_or_assign(std::string(type.type), call.id);
  const bool is_alone = is_hosted && !has_open_calls();
  if (is_alone) flush();
  if (is_hosted) add_result(call, openai::result_of(type, item));
  add_call(std::move(call), !is_hosted);
  if (is_alone) flush();
}

void ItemReader::add_result(const ToolCall& call, std::string_view text) {
  Message& result = results_.emplace_back();
  result.role = Role::tool;
  result.id = call.id + "-output";
  result.tool_call_id = call.id;
  result.content = message::Content::of_text(text);
}

void ItemReader::read_output(const json::Value& item) {
  const std::string_view type = item["type"].string();
  const openai::CallType* answered = openai::answered_type(type);
  const bool is_tools = answered != nullptr && answered->output == openai::OutputKind::tools;
  const json::Value output = item[is_tools ? "tools" : "output"];
  has_output_ = true;
  Message& result = results_.emplace_back();
  result.role = Role::tool;
  result.id = id_of(item, ids_);
  result.tool_call_id = item["call_id"].string();
  if (result.tool_call_id.empty() && answered != nullptr) {
    // A local shell's output names its call by its own id; a search of the provider's names none.
    const bool is_named = answered->output == openai::OutputKind::text;
    const auto call = open_calls_.find(std::string(answered->type));
    if (is_named) result.tool_call_id = item["id"].string();
    if (!is_named && call != open_calls_.end()) result.tool_call_id = call->second;
  }
  const bool is_list = answered == nullptr && openai::is_part_list(output);
  result.content = openai::content_of_parts(
      output, is_list ? openai::text_of_parts(output) : arguments_of(output), true);
  if (is_list && result.content.kind == message::Content::Kind::text) {
    keep_list(result.metadata, openai::items_provider, output);
  }
  order_.add_result(result.tool_call_id);
  const bool is_more = has_more_than(item, {"type", "call_id", "output", "id", "status"});
  if (answered != nullptr || type == "custom_tool_call_output" || is_more) {
    result.metadata.add(openai::items_provider, "item",
                        without(item, {is_tools ? "tools" : "output"}));
  }
  if (answered == nullptr) {
    openai::keep_members(result.metadata, item,
                         {"type", "call_id", "output", "caller", "name", "namespace"});
  }
  if (answered != nullptr && item["status"].string() == "failed") {
    result.error = result.content.text;
  }
}

void ItemReader::read_mcp_call(const json::Value& item) {
  end_step();
  ToolCall call;
  call.id = id_of(item, ids_);
  call.name = item["name"].string();
  call.arguments = arguments_of(item["arguments"]);
  const json::Value error = item["error"];
  // An error that is an object says more than its text, and an empty output may be null.
  const std::string_view error_key = error.is_object() ? "" : "error";
  const std::string_view output_key = item["output"].filled_string() ? "output" : "";
  call.metadata.add(openai::items_provider, "item",
                    without(item, {"id", "name", "arguments", output_key, error_key}));
  add_result(call, arguments_of(item["output"]));
  if (const auto text = error.filled_string()) results_.back().error = *text;
  if (error.is_object())
    results_.back().error = error["message"].filled_string().value_or(raw(error));
  add_call(std::move(call), false);
}

}  // namespace millrace::format
