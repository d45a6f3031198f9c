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

}  // namespace

std::optional<std::string> foreign_file(const json::Value& part, const Draft& draft) {
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

}  // namespace millrace::model
