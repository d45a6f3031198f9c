#include "model/body/foreign_files.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "message/parts.hpp"

namespace millrace::model {
namespace {

// Providers of the same models, which programs name for each other.
struct Relation {
  std::string_view one;
  std::string_view other;
};
constexpr std::array relations{Relation{"openai", "azure"}, Relation{"google", "vertexai"},
                               Relation{"anthropic", "bedrock"}, Relation{"anthropic", "vertexai"}};

bool is_related(std::string_view one, std::string_view other) {
  return std::any_of(relations.begin(), relations.end(), [&](const Relation& row) {
    return (row.one == one && row.other == other) || (row.one == other && row.other == one);
  });
}

// Whether the provider that is called may know the files of `name`, which may be that of one of its
// APIs, as "openai.responses" is.
bool may_know(const ProviderConfig& config, std::string_view name) {
  name = name.substr(0, name.find('.'));
  if (equal_ignoring_case(name, config.id)) return true;
  const Provider* named = find_provider(name);
  if (named == nullptr) return equal_ignoring_case(name, config.provider->id);
  return named->id == config.provider->id || is_related(named->id, config.provider->id);
}

std::optional<std::string> sentence_of(const json::Value& part, const Draft& draft) {
  const json::Value source = part["source"];
  const auto provider = source["provider"].filled_string();
  message::Media media;
  if (!provider || source["type"].string() != "file" || !message::read_media(media, part) ||
      may_know(draft.config, *provider)) {
    return std::nullopt;
  }
  std::string sentence(message::name_of(media.kind));
  sentence.append(" left out: ").append(redacted(*provider, 64)).append(" keeps the file, and ");
  return sentence.append(draft.config.provider->name).append(" cannot read it.");
}

}  // namespace

void leave_out_foreign_files(message::Message& message, const Draft& draft) {
  const message::Parts parts(message.content);
  bool has_any = false;
  for (const json::Value part : parts.items()) has_any = has_any || sentence_of(part, draft);
  if (!has_any) return;
  message::JsonBuilder out(json::Surrogates::keep);
  out.open_array();
  for (const json::Value part : parts.items()) {
    const auto sentence = sentence_of(part, draft);
    if (!sentence) {
      out.value(part);
      continue;
    }
    message::write_text_part(out, "[" + *sentence + "]");
    draft.notes.push_back({"messages", *sentence, true});
  }
  out.close_array();
  message.content = message::Content::of_parts(out.take());
}

}  // namespace millrace::model
