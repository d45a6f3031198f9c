#include "model/provider/providers.hpp"

#include <algorithm>
#include <array>

#include "base/ascii.hpp"
#include "message/json_builder.hpp"
#include "model/provider/dialects.hpp"

namespace millrace::model {
namespace {

using enum Dialect;
using enum Quirk;

// Sources: the vendors' API references, named in the rows (2026).
constexpr std::array provider_table{
#define MILLRACE_PROVIDER(id, name, base_url, path, dialect, auth, key_names, models, headers,    \
                          quirks, documentation, verified)                                        \
  Provider{                                                                                       \
      id,     name,    base_url,          path,          Dialect::dialect, Auth::auth, key_names, \
      models, headers, Quirks::of quirks, documentation, verified},
#include "model/provider/providers.def"
};

constexpr std::array quirk_table{
#define MILLRACE_QUIRK(name, sentence) QuirkRow{Quirk::name, #name, sentence},
#include "model/provider/quirks.def"
};
static_assert(quirk_table.size() <= Quirks::most, "Quirks holds fewer flags");

struct QuirkModels {
  Quirk quirk;
  std::string_view models;
};
constexpr std::array quirk_models{
#define MILLRACE_QUIRK_MODELS(name, models) QuirkModels{Quirk::name, models},
#include "model/provider/quirks.def"
};

// Whether the word of a list of models (quirks.def) is in a model's name, which is in lower case.
bool has_word(std::string_view model, std::string_view word) {
  const bool at_begin = word.starts_with('^');
  const bool at_end = word.ends_with('$');
  if (at_begin) word.remove_prefix(1);
  if (at_end) word.remove_suffix(1);
  if (at_begin) {
    const std::string_view name = model.substr(model.rfind('/') + 1);
    return at_end ? name == word : name.starts_with(word);
  }
  return at_end ? model.ends_with(word) : model.find(word) != model.npos;
}

constexpr std::array route_table{
    Route{"azure", "responses", "", openai_responses, "{base_url}/openai/v1", Auth::api_key},
    Route{"deepseek", "anthropic", "", anthropic, "https://api.deepseek.com/anthropic",
          Auth::x_api_key},
    Route{"moonshot", "anthropic", "", anthropic, "https://api.moonshot.ai/anthropic",
          Auth::x_api_key},
    Route{"minimax", "anthropic", "", anthropic, "https://api.minimax.io/anthropic",
          Auth::x_api_key},
    Route{"zhipu", "anthropic", "", anthropic, "https://open.bigmodel.cn/api/anthropic",
          Auth::x_api_key},
    Route{"ollama", "chat", "", openai_chat, "{base_url}/v1", Auth::optional_bearer},
    Route{"google", "chat", "", openai_chat, "{base_url}/v1beta/openai", Auth::bearer},
    Route{"cohere", "chat", "", openai_chat, "https://api.cohere.ai/compatibility/v1",
          Auth::bearer},
    Route{"githubcopilot", "", "claude", anthropic, "", Auth::copilot},
    Route{"vertexai", "", "claude", vertex_anthropic,
          "https://{location_host}/v1/projects/{project}/locations/{location:us-central1}/"
          "publishers/anthropic",
          Auth::vertex},
    Route{"aihubmix", "", "claude", anthropic, "https://aihubmix.com", Auth::x_api_key},
    Route{"aihubmix", "", "gemini", gemini, "https://aihubmix.com/gemini", Auth::x_goog_api_key},
    Route{"aihubmix", "", "gpt-5", openai_responses, "", Auth::bearer},
    Route{"aihubmix", "", "o1", openai_responses, "", Auth::bearer},
    Route{"aihubmix", "", "o3", openai_responses, "", Auth::bearer},
    Route{"aihubmix", "", "o4", openai_responses, "", Auth::bearer},
    Route{"zenmux", "anthropic", "", anthropic, "https://zenmux.ai/api/anthropic", Auth::x_api_key},
    Route{"opencodezen", "", "claude", anthropic, "https://opencode.ai/zen", Auth::x_api_key},
    Route{"opencodezen", "", "gpt-5", openai_responses, "", Auth::bearer},
    Route{"opencodecodingplan", "", "minimax", anthropic, "https://opencode.ai/zen/go",
          Auth::x_api_key},
    Route{"newapi", "anthropic", "", anthropic, "{base_url}", Auth::x_api_key},
    Route{"newapi", "gemini", "", gemini, "{base_url}", Auth::x_goog_api_key},
};

struct Alias {
  std::string_view name;
  std::string_view id;
};
constexpr std::array aliases{
#define MILLRACE_PROVIDER_ALIAS(name, id) Alias{name, id},
#include "model/provider/providers.def"
};

constexpr std::array<std::string_view, 12> auth_names{
    "none",  "bearer", "optional_bearer", "x_api_key", "api_key", "x_goog_api_key",
    "x_key", "key",    "query_key",       "aws_sigv4", "vertex",  "copilot"};

void write_list(message::JsonBuilder& out, std::string_view key, std::string_view names) {
  out.open_array(key);
  while (!names.empty()) {
    const std::size_t comma = std::min(names.find(','), names.size());
    out.text(names.substr(0, comma));
    names.remove_prefix(std::min(comma + 1, names.size()));
  }
  out.close_array();
}

void write_provider(message::JsonBuilder& out, const Provider& row) {
  out.open_object();
  out.text("id", row.id);
  out.text("name", row.name);
  out.text("baseURL", row.base_url);
  out.text("dialect", name_of(row.dialect));
  out.text("wire", row_of(row.dialect).wire);
  out.text("auth", name_of(row.auth));
  write_list(out, "keyNames", row.key_names);
  write_list(out, "models", row.models);
  out.open_array("quirks");
  for (const QuirkRow& quirk : quirk_table) {
    if (row.quirks.has(quirk.quirk)) out.text(quirk.name);
  }
  out.close_array();
  out.open_array("aliases");
  for (const Alias& alias : aliases) {
    if (alias.id == row.id) out.text(alias.name);
  }
  out.close_array();
  out.text("documentation", row.documentation);
  out.flag("verified", row.verified);
  out.flag("chat", row.dialect != Dialect::none);
  out.close_object();
}

}  // namespace

std::span<const QuirkRow> quirks() {
  return quirk_table;
}

bool applies(Quirks quirks, Quirk quirk, std::string_view model) {
  if (!quirks.has(quirk)) return false;
  const auto* row = std::find_if(quirk_models.begin(), quirk_models.end(),
                                 [&](const QuirkModels& one) { return one.quirk == quirk; });
  if (row == quirk_models.end()) return true;
  const std::string name = lowered(model);
  std::string_view words = row->models;
  const bool is_of_others = words.starts_with('!');
  if (is_of_others) words.remove_prefix(1);
  bool is_named = false;
  while (!words.empty() && !is_named) {
    const std::size_t comma = std::min(words.find(','), words.size());
    is_named = has_word(name, words.substr(0, comma));
    words.remove_prefix(std::min(comma + 1, words.size()));
  }
  return is_named != is_of_others;
}

std::optional<Quirk> find_quirk(std::string_view name) {
  const auto* row = std::find_if(quirk_table.begin(), quirk_table.end(),
                                 [&](const QuirkRow& q) { return q.name == name; });
  if (row == quirk_table.end()) return std::nullopt;
  return row->quirk;
}

std::span<const Provider> providers() {
  return provider_table;
}

const Provider* find_provider(std::string_view id) {
  for (const Alias& alias : aliases) {
    if (equal_ignoring_case(alias.name, id)) id = alias.id;
  }
  const auto* row = std::find_if(provider_table.begin(), provider_table.end(),
                                 [&](const Provider& p) { return equal_ignoring_case(p.id, id); });
  return row == provider_table.end() ? nullptr : row;
}

std::span<const Route> routes() {
  return route_table;
}

std::string_view name_of(Dialect dialect) {
  return row_of(dialect).name;
}

std::optional<Dialect> find_dialect(std::string_view name) {
  for (const DialectRow& row : dialects()) {
    if (row.name == name) return row.dialect;
  }
  return std::nullopt;
}

std::string_view name_of(Auth auth) {
  return auth_names[static_cast<std::size_t>(auth)];
}

std::optional<Auth> find_auth(std::string_view name) {
  const auto* found = std::find(auth_names.begin(), auth_names.end(), name);
  if (found == auth_names.end()) return std::nullopt;
  return static_cast<Auth>(found - auth_names.begin());
}

std::string provider_ids() {
  std::string ids;
  for (const Provider& provider : provider_table) {
    if (!ids.empty()) ids.append(", ");
    ids.append(provider.id);
  }
  return ids;
}

std::string providers_json() {
  message::JsonBuilder out;
  out.open_array();
  for (const Provider& row : provider_table) write_provider(out, row);
  out.close_array();
  return out.take();
}

}  // namespace millrace::model
