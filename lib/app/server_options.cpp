// Reads the options of `serve` from JSON: a table of members.

#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "app/agent_server.hpp"
#include "base/json.hpp"
#include "base/json_tree.hpp"
#include "base/shown.hpp"
#include "base/spelling.hpp"
#include "host/mcp_stream.hpp"

namespace millrace::app {
namespace {

// A key may be a secret: of what is not even a string, the kind is shown.
Error wrong_option(std::string_view key, std::string_view expected, const json::Value& given) {
  const bool is_secret = key == "apiKey" || key == "keys";
  const std::string shown = is_secret ? kind_of(given) : shown_value(given);
  return make_error(Errc::invalid_option, "`" + std::string(key) + "` must be " +
                                              std::string(expected) + ", not " + shown + ".");
}

using Reader = Result<void> (*)(AgentServerOptions&, std::string_view, const json::Value&);

template <std::string AgentServerOptions::*member>
Result<void> read_text(AgentServerOptions& options, std::string_view key,
                       const json::Value& value) {
  if (!value.is_string()) return wrong_option(key, "a string", value);
  options.*member = value.string();
  return {};
}

template <bool AgentServerOptions::*member>
Result<void> read_switch(AgentServerOptions& options, std::string_view key,
                         const json::Value& value) {
  const json::Tree given(value);
  if (!given.is_true() && given.type() != json::Type::boolean_false) {
    return wrong_option(key, "true or false", value);
  }
  options.*member = given.is_true();
  return {};
}

// Shape: [{"name"?, "key" or "sha256", "principal"?, "scopes"?, "expiresAt"?, "limits"?}].
Result<void> read_keys(AgentServerOptions& options, std::string_view key,
                       const json::Value& value) {
  api::ApiOptions read;
  MILLRACE_TRY(api::read_api_keys(read, key, json::Tree(value)));
  options.keys = std::move(read.keys);
  return {};
}

template <std::vector<std::string> AgentServerOptions::*member>
Result<void> read_list(AgentServerOptions& options, std::string_view key,
                       const json::Value& value) {
  if (!value.is_array()) return wrong_option(key, "an array of strings", value);
  for (const json::Value item : value.items()) {
    if (!item.is_string()) return wrong_option(key, "an array of strings", item);
    (options.*member).emplace_back(item.string());
  }
  return {};
}

template <std::int64_t AgentServerOptions::*member>
Result<void> read_count(AgentServerOptions& options, std::string_view key,
                        const json::Value& value) {
  const auto count = value.integer();
  if (!count || *count < 0) return wrong_option(key, "an integer of at least 0", value);
  options.*member = *count;
  return {};
}

Result<void> read_providers(AgentServerOptions& options, std::string_view key,
                            const json::Value& value) {
  if (!value.is_array()) return wrong_option(key, "an array of objects", value);
  for (const json::Value item : value.items()) {
    if (!item.is_object()) return wrong_option(key, "an array of objects", item);
    options.providers.push_back(item.to_json());
  }
  return {};
}

// Shape: [{"name": string, "settings": what read_mcp_client reads, "hostAuthorizes"?: boolean,
// "trusted"?: boolean, and the other members that mcp::read_rules reads}].
Result<void> read_mcp(AgentServerOptions& options, std::string_view key, const json::Value& value) {
  if (!value.is_array()) return wrong_option(key, "an array of objects", value);
  for (const json::Value item : value.items()) {
    if (item["name"].string().empty())
      return wrong_option(key, "an array of objects with a name", item);
    auto client = host::read_mcp_client(item["settings"].to_json());
    if (!client) return std::move(client).error();
    json::Tree rules(item);
    rules.set("server", item["name"].string());
    const bool host_authorizes = item["hostAuthorizes"].is_true();
    options.mcp.push_back({std::move(client).value(), mcp::read_rules(rules), host_authorizes});
  }
  return {};
}

Result<void> read_skills(AgentServerOptions& options, std::string_view key,
                         const json::Value& value) {
  if (!value["list"].is_array()) return wrong_option(key, "an object with a list", value);
  options.skills = value.to_json();
  return {};
}

Result<void> read_port(AgentServerOptions& options, std::string_view key,
                       const json::Value& value) {
  const auto port = value.integer();
  if (!port || *port < 0 || *port > std::numeric_limits<std::uint16_t>::max()) {
    return wrong_option(key, "a port number from 0 to 65535", value);
  }
  options.port = static_cast<std::uint16_t>(*port);
  return {};
}

Result<void> read_on_disconnect(AgentServerOptions& options, std::string_view key,
                                const json::Value& value) {
  if (value.string() != "continue" && value.string() != "stop") {
    return wrong_option(key, "'continue' or 'stop'", value);
  }
  options.on_disconnect = value.string();
  return {};
}

Result<void> read_approval_timeout(AgentServerOptions& options, std::string_view key,
                                   const json::Value& value) {
  constexpr std::int64_t longest_ms = std::int64_t{10} * 365 * 24 * 3600 * 1000;
  const auto limit = value.integer();
  if (!limit || *limit < 1 || *limit > longest_ms) {
    return wrong_option(key, "milliseconds, 1 to ten years", value);
  }
  options.approval_timeout_ms = *limit;
  return {};
}

// Read with the store's other options.
Result<void> read_retention(AgentServerOptions& options, std::string_view /*key*/,
                            const json::Value& value) {
  options.retention = value.to_json();
  return {};
}

// Shape: `tools` of read_api_options.
Result<void> read_exposed(AgentServerOptions& options, std::string_view /*key*/,
                          const json::Value& value) {
  json::Tree given = json::Tree::object();
  given.set("tools", json::Tree(value));
  auto read = api::read_api_options(given);
  if (!read) return std::move(read).error();
  options.exposed = std::move(read).value().tools;
  return {};
}

// Shape: `webhooks` of read_api_options; the secrets alone count.
Result<void> read_webhooks(AgentServerOptions& options, std::string_view /*key*/,
                           const json::Value& value) {
  json::Tree given = json::Tree::object();
  given.set("webhooks", json::Tree(value));
  auto read = api::read_api_options(given);
  if (!read) return std::move(read).error();
  options.webhook_secrets = std::move(read).value().webhook_secrets;
  return {};
}

struct Row {
  std::string_view key;
  Reader read;
};

constexpr auto rows = std::to_array<Row>({
    {"host", read_text<&AgentServerOptions::host>},
    {"port", read_port},
    {"model", read_text<&AgentServerOptions::model>},
    {"baseURL", read_text<&AgentServerOptions::base_url>},
    {"apiKey", read_text<&AgentServerOptions::api_key>},
    {"providers", read_providers},
    {"maxOutputTokens", read_count<&AgentServerOptions::max_output_tokens>},
    {"tools", read_list<&AgentServerOptions::tools>},
    {"approval", read_text<&AgentServerOptions::approval>},
    {"instructions", read_text<&AgentServerOptions::instructions>},
    {"skills", read_skills},
    {"maxSteps", read_count<&AgentServerOptions::max_steps>},
    {"mcp", read_mcp},
    {"allowedHosts", read_list<&AgentServerOptions::allowed_hosts>},
    {"allowedOrigins", read_list<&AgentServerOptions::allowed_origins>},
    {"caFile", read_text<&AgentServerOptions::ca_file>},
    {"extraCaFiles", read_list<&AgentServerOptions::extra_ca_files>},
    {"version", read_text<&AgentServerOptions::version>},
    {"storage", read_text<&AgentServerOptions::storage>},
    {"openTimeoutMs", read_count<&AgentServerOptions::open_timeout_ms>},
    {"apiKeys", read_list<&AgentServerOptions::api_keys>},
    {"page", read_text<&AgentServerOptions::page>},
    {"keys", read_keys},
    {"showsPage", read_switch<&AgentServerOptions::shows_page>},
    {"openapi", read_switch<&AgentServerOptions::has_openapi>},
    {"apiTools", read_exposed},
    {"webhooks", read_webhooks},
    {"makesTitles", read_switch<&AgentServerOptions::makes_titles>},
    {"keysFile", read_text<&AgentServerOptions::keys_file>},
    {"accessLog", read_text<&AgentServerOptions::access_log>},
    {"trustedProxies", read_list<&AgentServerOptions::trusted_proxies>},
    {"protectedFiles", read_list<&AgentServerOptions::protected_files>},
    {"onDisconnect", read_on_disconnect},
    {"approvalTimeoutMs", read_approval_timeout},
    {"detachedTimeoutMs", read_count<&AgentServerOptions::left_timeout_ms>},
    {"maxDetachedRuns", read_count<&AgentServerOptions::left_runs>},
    {"retention", read_retention},
    {"drainMs", read_count<&AgentServerOptions::drain_ms>},
});

std::vector<std::string_view> known_options() {
  std::vector<std::string_view> known;
  for (const Row& row : rows) known.push_back(row.key);
  return known;
}

}  // namespace

Result<AgentServerOptions> read_server_options(std::string_view text) {
  json::Document document;
  auto parsed = document.parse(text);
  if (!parsed) return std::move(parsed).error();
  AgentServerOptions options;
  for (const auto [key, value] : parsed.value().members()) {
    const Row* found = nullptr;
    for (const Row& row : rows) {
      if (row.key == key) found = &row;
    }
    if (found == nullptr) {
      return make_error(Errc::invalid_option, "There is no option `" + std::string(key) + "`. " +
                                                  advice(key, known_options()));
    }
    MILLRACE_TRY(found->read(options, key, value));
  }
  return options;
}

}  // namespace millrace::app
