#include "model/body/tools.hpp"

#include <algorithm>

#include "model/body/fields.hpp"

namespace millrace::model {

void write_function(message::JsonBuilder& out, const Tool& tool, std::string_view schema_key,
                    bool knows_strict) {
  out.text("name", tool.name);
  out.filled("description", tool.description);
  out.raw(schema_key, tool.parameters);
  if (tool.strict && knows_strict) out.flag("strict", *tool.strict);
}

void note_no_strict(const Draft& draft) {
  const auto& tools = draft.payload.tools;
  if (std::none_of(tools.begin(), tools.end(), [](const Tool& t) { return t.strict == true; })) {
    return;
  }
  draft.note("tools.strict", "The model is not held to schemas of tools here.");
}

void write_chat_tool(message::JsonBuilder& out, const Tool& tool) {
  if (tool.name.empty()) {
    out.raw(tool.raw);
    return;
  }
  out.open_object();
  out.text("type", "function");
  out.open_object("function");
  write_function(out, tool, "parameters");
  out.close_object();
  out.close_object();
}

Result<void> check_tools(const Draft& draft) {
  constexpr std::size_t most = 128;
  const ChatPayload& payload = draft.payload;
  if (draft.has(Quirk::tool_limit_128) && payload.tools.size() > most) {
    return make_error(Errc::tool_limit_exceeded, std::to_string(payload.tools.size()) +
                                                     " tools are more than the " +
                                                     std::to_string(most) + " that the provider " +
                                                     draft.config.id + " takes.");
  }
  const ToolChoice& choice = payload.tool_choice;
  const bool demands =
      choice.kind == ToolChoice::Kind::required || choice.kind == ToolChoice::Kind::tool;
  if (!demands) return {};
  const bool known = std::any_of(payload.tools.begin(), payload.tools.end(), [&](const Tool& tool) {
    return choice.name.empty() || tool.name == choice.name;
  });
  if (known) return {};
  return make_error(Errc::invalid_body, choice.name.empty()
                                            ? "`tool_choice` demands a tool, but there are none."
                                            : "`tool_choice` names \"" + choice.name +
                                                  "\", which is not among the tools.");
}

}  // namespace millrace::model
