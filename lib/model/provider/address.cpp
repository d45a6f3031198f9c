#include "model/provider/address.hpp"

#include <algorithm>
#include <array>

#include "base/shown.hpp"
#include "base/shown_hosts.hpp"
#include "message/parts.hpp"
#include "message/vendor_tool.hpp"
#include "model/payload/vendor_tools.hpp"
#include "model/provider/api_mode.hpp"
#include "model/provider/dialects.hpp"

namespace millrace::model {
namespace {

using Value = std::string (*)(const ProviderConfig&, std::string_view model);

struct Placeholder {
  std::string_view name;
  std::string_view option;  // as users write it
  bool is_segment;          // percent-encoded
  Value value;
};

// The models of the global location are served without a region's prefix.
std::string location_host(const ProviderConfig& config, std::string_view /*model*/) {
  constexpr std::string_view host = "aiplatform.googleapis.com";
  if (config.location == "global") return std::string(host);
  const std::string location = config.location.empty() ? "us-central1" : config.location;
  return location + "-" + std::string(host);
}

constexpr std::array placeholders{
    Placeholder{"model", "model", true,
                [](const ProviderConfig&, std::string_view model) { return std::string(model); }},
    Placeholder{"deployment", "deployment", true,
                [](const ProviderConfig&, std::string_view model) { return std::string(model); }},
    Placeholder{"api_version", "apiVersion", true,
                [](const ProviderConfig& c, std::string_view) { return c.api_version; }},
    Placeholder{"region", "region", true,
                [](const ProviderConfig& c, std::string_view) { return c.region; }},
    Placeholder{"project", "project", true,
                [](const ProviderConfig& c, std::string_view) { return c.project; }},
    Placeholder{"location", "location", true,
                [](const ProviderConfig& c, std::string_view) { return c.location; }},
    Placeholder{"location_host", "location", false, location_host},
    Placeholder{"account", "accountId", true,
                [](const ProviderConfig& c, std::string_view) { return c.account_id; }},
    Placeholder{"base_url", "baseURL", false,
                [](const ProviderConfig& c, std::string_view) { return c.base_url; }},
};

// What names a location in the address that gets the token: anything else could lead to another
// host.
bool is_location(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  });
}

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

Error cannot(const ProviderConfig& config, std::string_view what) {
  return make_error(Errc::capability_not_supported,
                    "The provider " + config.id + " " + std::string(what));
}

bool has_audio(const ChatPayload& payload) {
  for (const message::Message& message : payload.messages) {
    const message::Parts parts(message.content);
    for (const json::Value part : parts.items()) {
      message::Media media;
      if (message::read_media(media, part) && media.kind == message::Media::Kind::audio)
        return true;
    }
  }
  return false;
}

bool starts_with_family(std::string_view model, std::string_view family) {
  const std::size_t slash = model.rfind('/');
  if (slash != std::string_view::npos) model.remove_prefix(slash + 1);
  return model.starts_with(family);
}

// Where chat completions are only said not to be Responses, a provider's own API stays its own.
const Route* find_route(const ProviderConfig& config, std::string_view mode,
                        std::string_view model) {
  if (mode == not_responses) mode = {};
  for (const Route& route : routes()) {
    if (route.provider != config.provider->id || route.api_mode != mode) continue;
    if (!starts_with_family(model, route.model)) continue;
    return &route;
  }
  return nullptr;
}

// Gateways of this prefix serve GPT models by the Responses API alone.
// Source: LobeHub's model-runtime, openai (2026-11).
bool is_codex(std::string_view model) {
  constexpr std::string_view prefix = "codex/";
  if (!model.starts_with(prefix)) return false;
  model.remove_prefix(prefix.size());
  return model.starts_with("gpt-") && model.find("-chat") == model.npos;
}

bool only_by_responses(std::string_view model) {
  return traits_of(model).has(Trait::responses_only) || is_codex(model);
}

// OpenAI's newer models refuse tools beside thinking in chat completions, which alone can give
// more than one answer. Another server of OpenAI's API may have those alone; calls of
// LobeHub's kind count on the rule everywhere.
bool is_by_responses(const ProviderConfig& config, const ChatPayload& payload) {
  if (config.quirks.has(Quirk::responses_first)) return true;
  const bool is_lobe = payload.lobe_temperature || config.lobe_temperature;
  return config.quirks.has(Quirk::responses_gpt) && payload.n.value_or(1) == 1 &&
         (!is_another_server(config) || is_lobe) &&
         traits_of(payload.model).has(Trait::prefers_responses);
}

// The Responses API takes no audio: OpenAI's models hear it in chat completions.
std::string_view wanted_mode(const ProviderConfig& config, const ChatPayload& payload) {
  const std::string_view mode = payload.api_mode.empty() ? config.api_mode : payload.api_mode;
  if (mode != "responses" || config.provider->dialect != Dialect::openai_chat) return mode;
  return has_audio(payload) && !only_by_responses(payload.model) ? not_responses : mode;
}

// What a mode asks for when no route of the provider leads there.
Result<Dialect> dialect_of(const ProviderConfig& config, const ChatPayload& payload,
                           std::string_view mode) {
  const Provider& row = *config.provider;
  const bool is_openai = row.dialect == Dialect::openai_chat;
  const bool has_responses = is_openai && config.quirks.has(Quirk::responses_api);
  // OpenAI's own address has no other API for them, whatever a switch of the provider says.
  const bool is_own = row.id == "openai" && !config.own_base_url;
  const bool only_responses = only_by_responses(payload.model);
  if (is_own && has_responses && only_responses && !has_audio(payload)) {
    return Dialect::openai_responses;
  }
  if (mode == "responses") {
    if (has_responses || row.dialect == Dialect::openai_responses) return Dialect::openai_responses;
    return cannot(config, "does not serve the Responses API. Leave `apiMode` out.");
  }
  if ((mode.empty() || mode == not_responses) && is_openai) {
    if (config.own_base_url && config.base_url.ends_with("/anthropic")) return Dialect::anthropic;
    const bool searches = payload.search && config.quirks.has(Quirk::search_responses);
    const bool by_default = mode.empty() && is_by_responses(config, payload);
    const bool has_items =
        has_tool_of(payload, message::ToolVendor::openai) || has_items_of_openai(payload);
    const bool first = by_default || searches || only_responses || has_items;
    if (has_responses && first && !has_audio(payload)) return Dialect::openai_responses;
  }
  if (!mode.empty() && mode != "chat" && mode != not_responses &&
      mode != row_of(row.dialect).name) {
    return cannot(config,
                  "has no API of the kind \"" + std::string(mode) + "\". Leave `apiMode` out.");
  }
  return row.dialect;
}

Auth auth_of(const Provider& row, Dialect dialect) {
  // An OpenAI-compatible server's Anthropic address takes the key as Anthropic does.
  const bool changed = dialect == Dialect::anthropic && row.dialect == Dialect::openai_chat;
  return changed ? Auth::x_api_key : row.auth;
}

}  // namespace

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (is_unreserved(c)) {
      out.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out.push_back('%');
    out.push_back(digits[byte >> 4U]);
    out.push_back(digits[byte & 15U]);
  }
  return out;
}

std::string without_tail(std::string url, std::string_view tails) {
  while (url.ends_with('/')) url.pop_back();
  while (!tails.empty()) {
    const std::size_t comma = std::min(tails.find(','), tails.size());
    const std::string_view tail = tails.substr(0, comma);
    if (url.ends_with(tail)) {
      url.resize(url.size() - tail.size());
      while (url.ends_with('/')) url.pop_back();
      return url;
    }
    tails.remove_prefix(std::min(comma + 1, tails.size()));
  }
  return url;
}

std::string deployment_of(const ProviderConfig& config, std::string_view model,
                          std::string_view deployment) {
  if (!deployment.empty()) return std::string(deployment);
  for (const auto& [name, deployed] : config.deployments) {
    if (name == model) return deployed;
  }
  return config.deployment.empty() ? std::string(model) : config.deployment;
}

Result<std::string> expand(std::string_view pattern, const ProviderConfig& config,
                           std::string_view model) {
  std::string out;
  while (!pattern.empty()) {
    const std::size_t open = std::min(pattern.find('{'), pattern.size());
    out.append(pattern.substr(0, open));
    pattern.remove_prefix(open);
    const std::size_t close = pattern.find('}');
    if (close == std::string_view::npos) break;
    const std::string_view inside = pattern.substr(1, close - 1);
    pattern.remove_prefix(close + 1);
    const std::size_t colon = std::min(inside.find(':'), inside.size());
    const auto* row =
        std::find_if(placeholders.begin(), placeholders.end(),
                     [&](const Placeholder& p) { return p.name == inside.substr(0, colon); });
    if (row == placeholders.end())
      return make_error(Errc::internal, "An address has no such part.");
    if (row->value == location_host && !is_location(config.location)) {
      return make_error(Errc::invalid_option, "The provider " + config.id + ": `location` is " +
                                                  shown_text(config.location) +
                                                  ", which is not a location such as us-central1.");
    }
    std::string value = row->value(config, model);
    if (value.empty() && colon < inside.size()) value = inside.substr(colon + 1);
    if (value.empty()) {
      return make_error(Errc::invalid_option, "The address of the provider " + config.id +
                                                  " needs `" + std::string(row->option) + "`.");
    }
    out.append(row->is_segment ? percent_encoded(value) : value);
  }
  return out;
}

Result<Way> way_to(const ProviderConfig& config, const ChatPayload& payload) {
  const Provider& row = *config.provider;
  if (row.dialect == Dialect::none)
    return cannot(config, "serves no chat. docs/providers.md tells what it does.");
  const std::string_view mode = wanted_mode(config, payload);
  Way way;
  std::string_view pattern = row.base_url;
  const Route* route = find_route(config, mode, payload.model);
  if (!route) {
    auto dialect = dialect_of(config, payload, mode);
    if (!dialect) return std::move(dialect).error();
    way.dialect = dialect.value();
    way.auth = auth_of(row, way.dialect);
    if (way.dialect == row.dialect) way.path = row.path;
    const bool is_other = way.dialect == Dialect::openai_responses && way.dialect != row.dialect;
    if (is_other) route = find_route(config, "responses", payload.model);
  }
  if (route) {
    way.dialect = route->dialect;
    way.auth = route->auth;
    if (!route->base_url.empty()) pattern = route->base_url;
  }
  const bool is_relative = pattern.find("{base_url}") != std::string_view::npos;
  if (pattern.empty() || (config.own_base_url && !is_relative)) pattern = config.base_url;
  if (pattern.empty()) {
    return make_error(Errc::invalid_option,
                      "The provider " + config.id + " has no default address: give `baseURL`.");
  }
  auto base = expand(pattern, config, deployment_of(config, payload.model, payload.deployment));
  if (!base) return std::move(base).error();
  way.base_url = without_tail(std::move(base).value(), row_of(way.dialect).tails);
  return way;
}

std::string endpoint_of(std::string_view url, bool masks_host) {
  url = url.substr(0, url.find_first_of("?#"));
  const std::string_view host = host_in(url);
  if (host.empty()) return {};
  constexpr std::string_view mark = "://";
  std::string out(url.substr(0, url.find(mark) + mark.size()));
  // What is before the host proves who asks.
  url.remove_prefix(static_cast<std::size_t>(host.data() - url.data()) + host.size());
  return out.append(masks_host ? masked_host(host) : std::string(host)).append(url);
}

}  // namespace millrace::model
