#include "model/capability/capability.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "model/capability/left_out.hpp"
#include "model/capability/rows.hpp"
#include "model/failure/response_error.hpp"
#include "model/payload/request.hpp"
#include "model/provider/address.hpp"
#include "net/url.hpp"

namespace millrace::model {
namespace {

struct CapabilityName {
  Capability capability;
  std::string_view name;
  std::string_view does;
  std::span<const CapabilityRow> (*rows)();
};
constexpr std::array<CapabilityName, 5> names = {{
    {Capability::models, "models", "list its models", models_rows},
    {Capability::embeddings, "embeddings", "embed texts", embeddings_rows},
    {Capability::image, "image", "make images", image_rows},
    {Capability::speech, "speech", "speak", speech_rows},
    {Capability::pull, "pull", "pull models", pull_rows},
}};

const CapabilityName& row_of(Capability capability) {
  return *std::find_if(names.begin(), names.end(),
                       [&](const CapabilityName& one) { return one.capability == capability; });
}

bool serves(const CapabilityRow& row, const Provider& provider) {
  if (row.unknown_vendors != Dialect::none && row.unknown_vendors == provider.dialect &&
      find_provider(provider.id) == nullptr) {
    return true;
  }
  if (!row.providers.empty()) return list_has(row.providers, provider.id);
  return row.dialect == provider.dialect && !list_has(row.except, provider.id);
}

bool has_images(const json::Value& options) {
  const json::Value params = options["params"];
  return !params["imageUrl"].string().empty() || params["imageUrls"].size() > 0;
}

const CapabilityRow* find_row(const ProviderConfig& config, Capability capability,
                              const json::Value& options) {
  for (const CapabilityRow& row : row_of(capability).rows()) {
    if (!serves(row, *config.provider)) continue;
    if (row.with_images && !has_images(options)) continue;
    if (row.models.empty() || list_has_beginning(row.models, options["model"].string())) {
      return &row;
    }
  }
  return nullptr;
}

Error not_supported(const ProviderConfig& config, Capability capability, std::string_view model) {
  std::string able;
  for (const Provider& provider : providers()) {
    const auto rows = row_of(capability).rows();
    const bool can = std::any_of(rows.begin(), rows.end(),
                                 [&](const CapabilityRow& row) { return serves(row, provider); });
    if (can) able.append(able.empty() ? "" : ", ").append(provider.id);
  }
  std::string message = "The provider " + config.id;
  if (!model.empty()) message.append(" (model ").append(model).append(")");
  message.append(" cannot ")
      .append(row_of(capability).does)
      .append(" through Millrace. These can: ");
  return make_error(Errc::capability_not_supported, message.append(able).append("."));
}

// The settings with the base URL that the row asks for.
struct Redirected {
  Provider provider;
  ProviderConfig config;
  std::string base_url;
};

void redirect(Redirected& made, const ProviderConfig& config, const CapabilityRow& row) {
  made.provider = *config.provider;
  made.config = config;
  const bool other = !row.base_url.empty() && !config.own_base_url;
  const std::string_view base = other                 ? row.base_url
                                : config.own_base_url ? std::string_view(config.base_url)
                                                      : config.provider->base_url;
  made.base_url = without_tail(std::string(base), row.tails);
  if (config.own_base_url)
    made.config.base_url = made.base_url;
  else
    made.provider.base_url = made.base_url;
  made.config.provider = &made.provider;
}

}  // namespace

std::optional<Capability> find_capability(std::string_view name) {
  for (const CapabilityName& one : names) {
    if (one.name == name) return one.capability;
  }
  return std::nullopt;
}

std::string_view name_of(Capability capability) {
  return row_of(capability).name;
}

bool supports(const ProviderConfig& config, Capability capability) {
  const auto rows = row_of(capability).rows();
  return std::any_of(rows.begin(), rows.end(),
                     [&](const CapabilityRow& row) { return serves(row, *config.provider); });
}

Result<void> check_supported(const ProviderConfig& config, Capability capability,
                             std::string_view options_json) {
  json::Document document(message::depth_limit);
  auto options = document.parse(options_json);
  if (!options) return std::move(options).error();
  if (find_row(config, capability, options.value()) != nullptr) return {};
  return not_supported(config, capability, options.value()["model"].string());
}

std::string capabilities_json() {
  message::JsonBuilder out;
  out.open_object();
  for (const Provider& provider : providers()) {
    ProviderConfig config;
    config.provider = &provider;
    out.open_array(provider.id);
    for (const CapabilityName& one : names) {
      if (supports(config, one.capability)) out.text(one.name);
    }
    out.close_array();
  }
  out.close_object();
  return out.take();
}

Result<net::Request> build_capability(const ProviderConfig& config, Capability capability,
                                      std::string_view options_json, const Credential& credential) {
  json::Document document(message::depth_limit);
  auto options = document.parse(options_json);
  if (!options) return std::move(options).error();
  const std::string_view model = options.value()["model"].string();
  const CapabilityRow* row = find_row(config, capability, options.value());
  if (row == nullptr) return not_supported(config, capability, model);
  if (model.empty() && capability != Capability::models) {
    return missing_member("model", "the name of a model");
  }
  CapabilityBody body;
  if (row->body != nullptr) {
    auto built = row->body(options.value());
    if (!built) return std::move(built).error();
    body = std::move(built).value();
  }
  Redirected made;
  redirect(made, config, *row);
  const bool has_body = row->method != "GET";
  std::string path =
      row->path_of != nullptr ? row->path_of(options.value()) : std::string(row->path);
  if (const auto page = options.value()["page"].filled_string(); page && !row->page.empty()) {
    path.append("&").append(row->page).append("=").append(percent_encoded(*page));
  }
  const Endpoint endpoint{row->method, path, model,
                          has_body ? std::string_view(body.content_type) : std::string_view()};
  return build_request(made.config, endpoint, std::move(body.bytes), credential);
}

std::optional<Error> reported_error(const json::Value& answer, std::string_view provider) {
  const json::Value base = answer["base_resp"];
  if (base.is_object() && base["status_code"].integer().value_or(0) == 0) return std::nullopt;
  const json::Value error = answer["error"];
  const std::string_view message =
      base.is_object() ? base["status_msg"].string() : error["message"].string();
  if (message.empty() && !base.is_object()) return std::nullopt;
  const json::Value given = base.is_object() ? base["status_code"] : error["code"];
  const json::Value code = given.is_nothing() ? error["type"] : given;
  const std::string word = code.is_number() ? code.to_json() : std::string(code.string());
  return error_from_stream(word, message, provider);
}

namespace {

// What the answer tells says better what went wrong than what is missing in it.
Error better_error(Error otherwise, const CapabilityAnswer& answer, std::string_view provider) {
  json::Document document(message::depth_limit);
  const auto parsed = document.parse(answer.body);
  if (!parsed) return otherwise;
  return reported_error(parsed.value(), provider).value_or(std::move(otherwise));
}

}  // namespace

Result<CapabilityResult> read_capability(const ProviderConfig& config, Capability capability,
                                         std::string_view options_json,
                                         const CapabilityAnswer& answer) {
  json::Document document(message::depth_limit);
  auto options = document.parse(options_json);
  if (!options) return std::move(options).error();
  const std::string_view model = options.value()["model"].string();
  const CapabilityRow* row = find_row(config, capability, options.value());
  if (row == nullptr) return not_supported(config, capability, model);
  auto result = row->read(options.value(), answer);
  if (!result) return better_error(std::move(result).error(), answer, config.id);
  // Asked without a page, a vendor gives the first one again.
  if (row->page.empty()) result.value().next_page.clear();
  result.value().notes = left_out(*row, options.value());
  return result;
}

Result<net::Request> build_poll(const ProviderConfig& config, std::string_view url,
                                const Credential& credential) {
  const std::string base =
      config.own_base_url ? config.base_url : std::string(config.provider->base_url);
  net::Request request;
  // Servers that do not know their own address name the path only.
  request.url = url.starts_with('/') ? base + std::string(url) : std::string(url);
  request.headers.push_back({"Accept", "application/json"});
  request.timeouts = config.timeouts;
  request.limits = config.limits;
  auto target = net::parse_url(request.url);
  if (!target) return std::move(target).error();
  auto own = net::parse_url(base);
  // A vendor may answer from hosts beside its own (eu1.api.example for api.example).
  const bool same = own && (target.value().host == own.value().host ||
                            target.value().host.ends_with("." + own.value().host));
  if (same) MILLRACE_TRY(authorize(request, config, config.provider->auth, credential));
  return request;
}

std::size_t texts_in_one_request(const ProviderConfig& config, std::string_view options_json) {
  json::Document document(message::depth_limit);
  auto options = document.parse(options_json);
  const CapabilityRow* row =
      options ? find_row(config, Capability::embeddings, options.value()) : nullptr;
  return row == nullptr ? 0 : row->texts;
}

// --- what the rows share
// ---------------------------------------------------------------------------

json::Value at_path(const json::Value& value, std::string_view path) {
  json::Value found = value;
  while (!path.empty() && found.exists()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    found = found[path.substr(0, dot)];
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return found;
}

bool list_has(std::string_view list, std::string_view item) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == item) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

bool list_has_beginning(std::string_view list, std::string_view text) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (text.starts_with(list.substr(0, comma))) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

std::string segments_of(std::string_view text) {
  std::string path;
  while (!text.empty()) {
    const std::size_t slash = std::min(text.find('/'), text.size());
    const std::string_view segment = text.substr(0, slash);
    text.remove_prefix(std::min(slash + 1, text.size()));
    if (segment.empty() || segment == "." || segment == "..") continue;
    if (!path.empty()) path.push_back('/');
    path.append(percent_encoded(segment));
  }
  return path;
}

Result<json::Value> parse_answer(json::Document& document, const CapabilityAnswer& answer) {
  auto parsed = document.parse(answer.body);
  if (parsed) return parsed.value();
  return make_error(
      Errc::provider_error,
      "The provider's answer is not JSON. Check `baseURL`: it may be the address of a web page.",
      answer.body.substr(0, 200));
}

Error missing_member(std::string_view name, std::string_view what) {
  return make_error(Errc::invalid_body,
                    "`" + std::string(name) + "` must be " + std::string(what) + ".");
}

void copy_members(message::JsonBuilder& out, const json::Value& from,
                  std::span<const Rename> renames) {
  for (const Rename& rename : renames) {
    const json::Value value = from[rename.from];
    if (!value.is_nothing()) out.value(rename.to, value);
  }
}

}  // namespace millrace::model
