#include "model/payload/vendor_tools.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/json_tree.hpp"

namespace millrace::model {
namespace {

using json::Tree;
using message::ToolVendor;
using message::VendorTool;

// Other vendors whose own models answer in the Responses API.
constexpr std::array<std::string_view, 4> other_vendors{"xai", "volcengine", "stepfun",
                                                        "xiaomimimo"};

Tree object_of(const Tool& tool) {
  auto object = tool.raw.empty() ? Result<Tree>(Tree()) : Tree::parse(tool.raw);
  return object ? std::move(object).value() : Tree();
}

bool is_served(const VendorTool& tool, const ProviderConfig& config, Dialect dialect) {
  if (tool.vendor == ToolVendor::anthropic) {
    return dialect == Dialect::anthropic || dialect == Dialect::vertex_anthropic;
  }
  return dialect == Dialect::openai_responses &&
         std::find(other_vendors.begin(), other_vendors.end(), config.id) == other_vendors.end();
}

std::string sentence_of(const VendorTool& row, const Tree& object) {
  std::string sentence = "The tool '";
  sentence.append(message::call_name_of(object)).append("' (").append(object["type"].string());
  sentence.append(") is left out: only the models of ").append(message::name_of(row.vendor));
  if (row.vendor == ToolVendor::openai) sentence.append(" in the Responses API");
  return sentence.append(" know it.");
}

// A choice of a tool that is not there would be an error of the request.
void drop_choice(ChatPayload& payload, const Tree& object, std::vector<Note>& notes) {
  using Kind = ToolChoice::Kind;
  ToolChoice& choice = payload.tool_choice;
  const auto raw = choice.raw.empty() ? Result<Tree>(Tree()) : Tree::parse(choice.raw);
  const bool is_of_type =
      raw && !object["type"].is_null() && raw.value()["type"].string() == object["type"].string();
  const bool is_named = choice.kind == Kind::tool && choice.name == message::call_name_of(object);
  const bool demands_none = choice.kind == Kind::required && payload.tools.empty();
  if (!is_of_type && !is_named && !demands_none) return;
  choice = {};
  notes.push_back(
      {"tool_choice", "The tool that it demands is left out: the model chooses.", false});
}

}  // namespace

bool has_tool_of(const ChatPayload& payload, ToolVendor vendor) {
  return std::any_of(payload.tools.begin(), payload.tools.end(), [&](const Tool& tool) {
    const VendorTool* row = message::find_vendor_tool(object_of(tool)["type"].string());
    return row != nullptr && row->vendor == vendor;
  });
}

bool has_items_of_openai(const ChatPayload& payload) {
  const auto is_item = [](const message::ToolCall& call) {
    const VendorTool* row = message::find_vendor_tool(call.name);
    return row != nullptr && row->vendor == ToolVendor::openai &&
           call.metadata.find("openai_responses", "item") != nullptr;
  };
  const auto& messages = payload.messages.list();
  return std::any_of(messages.begin(), messages.end(), [&](const message::Message& message) {
    return std::any_of(message.tool_calls.begin(), message.tool_calls.end(), is_item);
  });
}

std::optional<ChatPayload> without_foreign_tools(const ChatPayload& payload,
                                                 const ProviderConfig& config, Dialect dialect,
                                                 bool is_fallback, std::vector<Note>& notes) {
  if (!is_fallback && !payload.leaves_out) return std::nullopt;
  std::vector<Tree> dropped;
  std::optional<ChatPayload> rest;
  for (std::size_t at = payload.tools.size(); at-- > 0;) {
    Tree object = object_of(payload.tools[at]);
    const VendorTool* row = message::find_vendor_tool(object["type"].string());
    if (row == nullptr || is_served(*row, config, dialect)) continue;
    if (!rest) rest = payload;
    rest->tools.erase(rest->tools.begin() + static_cast<std::ptrdiff_t>(at));
    notes.push_back({"tools", sentence_of(*row, object), true});
    dropped.push_back(std::move(object));
  }
  for (const Tree& object : dropped) drop_choice(*rest, object, notes);
  return rest;
}

}  // namespace millrace::model
