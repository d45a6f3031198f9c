#include "format/openai_item_state.hpp"

#include <algorithm>
#include <array>

#include "base/text_hash.hpp"
#include "message/parts.hpp"

namespace millrace::format {

bool openai::is_x_search(std::string_view call_id) {
  return call_id.starts_with("xs_call_");
}

bool openai::is_hosted(const ItemState& item) {
  constexpr std::array<std::string_view, 9> types{
      "web_search_call",       "file_search_call", "code_interpreter_call",
      "image_generation_call", "mcp_list_tools",   "x_search_call",
      "code_execution_call",   "view_image_call",  "view_x_video_call"};
  if (!item["id"].is_string()) return false;
  if (item.is("custom_tool_call") && is_x_search(item["call_id"].string())) return true;
  return std::any_of(types.begin(), types.end(),
                     [&](std::string_view type) { return item.is(type); });
}

std::string openai::image_of(const message::ToolCall& call) {
  const message::ProviderState* state = call.metadata.find(openai::items_provider, "image");
  if (state == nullptr) return {};
  json::Document document(message::depth_limit);
  const auto value = document.parse(state->json);
  message::DataUrl data;
  if (!value || !message::read_data_url(data, value.value()["image_url"]["url"].string()))
    return {};
  return std::string(data.data);
}

std::string openai::sent_arguments(const message::ToolCall& call, const ItemState& item) {
  const json::Value whole = item["whole"];
  const bool is_shown = TextHash::fits(call.arguments, whole["hash"].string());
  return is_shown ? std::string(whole["arguments"].string()) : call.arguments;
}

void openai::write_hosted_call(message::JsonBuilder& out, const message::ToolCall& call,
                               const ItemState& item) {
  out.open_object();
  for (const auto& [key, value] : item.members()) out.value(key, value);
  if (const std::string image = image_of(call); !image.empty()) out.text("result", image);
  out.close_object();
}

}  // namespace millrace::format
