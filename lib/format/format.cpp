#include "format/format.hpp"

#include <algorithm>
#include <array>

#include "base/shown.hpp"
#include "format/anthropic.hpp"
#include "format/bedrock_converse.hpp"
#include "format/cohere.hpp"
#include "format/gemini.hpp"
#include "format/langgraph.hpp"
#include "format/ollama.hpp"
#include "format/openai.hpp"
#include "format/openai_conversation.hpp"

namespace millrace::format {
namespace {

Result<message::Messages> read_canonical(const json::Value& data, IdSource& /*ids*/) {
  MILLRACE_TRY(message::check_parts(data));
  return message::read_messages(data);
}

constexpr std::array table{
    Format{"identity", message::write_messages, read_canonical},
    Format{"openai", write_openai, read_openai},
    Format{"openai_conversation", write_openai_conversation, read_openai_conversation},
    Format{"langgraph", write_langgraph, read_langgraph},
    Format{"anthropic", write_anthropic, read_anthropic},
    Format{"gemini", write_gemini, read_gemini},
    Format{"bedrock_converse", write_bedrock_converse, read_bedrock_converse},
    Format{"cohere", write_cohere, read_cohere},
    Format{"ollama", write_ollama, read_ollama},
};

bool same_name(std::string_view name, std::string_view wanted) {
  return std::equal(name.begin(), name.end(), wanted.begin(), wanted.end(),
                    [](char a, char b) { return a == b || (a == '_' && b == '-'); });
}

}  // namespace

std::span<const Format> formats() {
  return table;
}

const Format* find_format(std::string_view name) {
  const auto* row = std::find_if(table.begin(), table.end(),
                                 [&](const Format& f) { return same_name(f.name, name); });
  return row == table.end() ? nullptr : row;
}

Error unknown_format(std::string_view name) {
  std::string names;
  for (const Format& row : formats()) names.append(names.empty() ? "" : ", ").append(row.name);
  std::replace(names.begin(), names.end(), '_', '-');
  return make_error(Errc::unknown_format, "There is no message format " + shown_text(name) +
                                              "; use one of " + names + ".");
}

Result<std::string> to_api(const Format& format, std::string_view messages_json,
                           json::Surrogates surrogates) {
  const auto messages = message::parse_messages(messages_json);
  if (!messages) return messages.error();
  message::JsonBuilder out(surrogates);
  format.write(out, messages.value());
  return out.take();
}

Result<std::string> from_api(const Format& format, std::string_view data_json, IdSource& ids) {
  // What is kept for the provider nests deeper in a message than in the data.
  constexpr std::size_t room = 16;
  json::Document document(message::depth_limit - room);
  const auto data = document.parse(data_json);
  if (!data) return data.error();
  const auto messages = format.read(data.value(), ids);
  if (!messages) return messages.error();
  return message::to_json(messages.value());
}

}  // namespace millrace::format
