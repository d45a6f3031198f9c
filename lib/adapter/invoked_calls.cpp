#include "adapter/invoked_calls.hpp"

#include <optional>

#include "base/json.hpp"

namespace millrace::adapter {
namespace {

// An element without others of its name inside.
struct Element {
  std::string_view attributes;
  std::string_view content;
};

// Takes the element `<name ..>..</name>` from the front of `text`.
std::optional<Element> take_element(std::string_view& text, std::string_view name) {
  const std::string open = std::string("<").append(name);
  const std::string close = std::string("</").append(name).append(">");
  std::string_view rest = json::trim(text);
  if (!rest.starts_with(open)) return std::nullopt;
  rest.remove_prefix(open.size());
  const std::size_t end_of_tag = rest.find('>');
  const std::size_t end = rest.find(close);
  if (end_of_tag == std::string_view::npos || end == std::string_view::npos || end < end_of_tag) {
    return std::nullopt;
  }
  const Element element{rest.substr(0, end_of_tag),
                        rest.substr(end_of_tag + 1, end - end_of_tag - 1)};
  text = rest.substr(end + close.size());
  return element;
}

std::string_view attribute_of(std::string_view attributes, std::string_view name) {
  const std::string mark = std::string(" ").append(name).append("=");
  const std::size_t at = attributes.find(mark);
  if (at == std::string_view::npos) return {};
  std::string_view rest = attributes.substr(at + mark.size());
  const char quote = rest.empty() ? ' ' : rest.front();
  if (quote != '"' && quote != '\'') return {};
  rest.remove_prefix(1);
  const std::size_t end = rest.find(quote);
  return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

// Models put values on lines of their own. MiniMax's parser strips them; DeepSeek's format says of
// a value by `string="true"` that it is exact. Sources: docs/tool_calling_guide.md of
// MiniMax-AI/MiniMax-M2.5 (2026); encoding_dsv32.py of deepseek-ai/DeepSeek-V3.2 (2025).
void append_value(std::string& json, std::string_view name, const Element& parameter,
                  bool unmarked_json) {
  const std::string_view is_string = attribute_of(parameter.attributes, "string");
  if (is_string == "false" || (is_string.empty() && unmarked_json)) {
    json::Document document;
    if (const auto value = document.parse(json::trim(parameter.content))) {
      json::append_raw_member(json, name, value.value().to_json(json::Surrogates::keep));
      return;
    }
  }
  const bool is_exact = is_string == "true";
  json::append_member(json, name, is_exact ? parameter.content : json::trim(parameter.content));
}

std::optional<InvokedCall> read_call(const Element& invoke, bool unmarked_json) {
  InvokedCall call{std::string(attribute_of(invoke.attributes, "name")), "{"};
  if (call.name.empty()) return std::nullopt;
  std::string_view rest = invoke.content;
  while (!json::trim(rest).empty()) {
    const auto parameter = take_element(rest, "parameter");
    if (!parameter) return std::nullopt;
    const std::string_view name = attribute_of(parameter->attributes, "name");
    if (name.empty()) return std::nullopt;
    append_value(call.arguments_json, name, *parameter, unmarked_json);
  }
  call.arguments_json.push_back('}');
  return call;
}

}  // namespace

std::vector<InvokedCall> read_invoked_calls(std::string_view text, CallForm form) {
  const bool is_function = form == CallForm::function;
  std::vector<InvokedCall> calls;
  while (!json::trim(text).empty()) {
    const auto invoke = take_element(text, is_function ? "function" : "invoke");
    auto call = invoke ? read_call(*invoke, is_function) : std::nullopt;
    if (!call) return {};
    calls.push_back(std::move(*call));
  }
  return calls;
}

}  // namespace millrace::adapter
