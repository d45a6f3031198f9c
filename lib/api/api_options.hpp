// What the Runtime API of a server is made with.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_tree.hpp"
#include "base/result.hpp"

namespace millrace::api {

// How many requests may come with a key; 0 is no limit.
struct KeyLimits {
  std::int64_t per_minute = 0;
  std::int64_t per_day = 0;
};

// What keys may be for.
inline constexpr std::array<std::string_view, 4> key_scopes{"read", "chat", "tools", "approve"};

// A key that requests are sent with.
struct ApiKey {
  std::string name;
  std::string sha256;  // of the key, in hexadecimal digits
  std::string principal;
  std::vector<std::string> scopes;  // of key_scopes; none: all
  std::int64_t expires_ms = 0;      // 0: never
  KeyLimits limits = {};
  std::string password = {};  // of the same rights, as is_password() takes it; "" is none
};

// Which tools can be invoked from outside.
struct ToolExposure {
  bool is_on = false;
  std::string expose = "tools+toolsets";  // or "tools", "toolsets", "agents", "all"
  std::vector<std::string> allow;         // some: exactly these
  std::vector<std::string> deny;
  std::chrono::milliseconds timeout{120'000};
  std::chrono::milliseconds callback_timeout{10'000};
  std::vector<std::string> callback_allow;  // beside the public internet (net::GuardOptions)
};

// Eleven tries in less than 24 hours.
std::vector<std::chrono::milliseconds> usual_webhook_delays();

struct ApiOptions {
  std::string agent = "agent";               // answers chats
  std::vector<ApiKey> keys;                  // none, and no file of them: requests need no key
  std::string keys_file;                     // further keys (api_keys.hpp); "" is none
  std::string access_log;                    // a file, or "-" for standard output; "" is none
  std::vector<std::string> trusted_proxies;  // whose X-Forwarded-For counts
  std::vector<std::string> webhook_secrets;  // the bytes that callbacks are signed with
  // Between the tries of a callback.
  std::vector<std::chrono::milliseconds> webhook_delays = usual_webhook_delays();
  std::vector<std::string> origins;
  bool has_openapi = true;
  std::string version;
  std::uint64_t attachment_bytes = std::uint64_t{100} << 20U;
  std::string upload_folder;   // where uploads are while they come; "": the system's own
  bool makes_titles = false;   // the host makes titles of conversations
  bool makes_objects = false;  // and objects by a schema
  std::int64_t user_id = 42;   // of those who write from outside, as clients know it
  std::string permission = "superadmin";
  std::int64_t superadmin_id = 10001;
  std::vector<std::int64_t> admin_ids;
  ToolExposure tools;
  std::size_t most_facts = 500;                        // that are remembered; the oldest one goes
  std::size_t job_log_bytes = std::size_t{16} << 20U;  // that the log of a job takes in memory
  // That a reader may take nothing of its answer.
  std::chrono::milliseconds reader_stall{60'000};
  std::string page;        // the folder of the page at `/`; "" is none
  bool shows_page = true;  // where there is one
  std::string files;       // what stands before the names of files beside the store; "" is none
  json::Tree probes;       // what the probes report of models, and what they reach for
  std::string principal = "local";  // of requests that need no key
};

// Shape: {"agent"?: string, "keys"?: [{"name"?, "key": string or "sha256": string, "principal"?:
// string, "scopes"?: [string], "expiresAt"?: milliseconds, "limits"?: {"perMinute"?, "perDay"?}}],
// "origins"?: [string], "openapi"?: boolean, "version"?: string,
// "attachmentBytes"?: number, "memoryMax"?: number, "jobLogBytes"?: number, "readerStallMs"?:
// number, "userId"?: number, "permission"?: string, "superadminId"?: number, "adminIds"?: [number],
// "makesTitles"?: boolean, "makesObjects"?: boolean, "keysFile"?: string, "accessLog"?: string,
// "trustedProxies"?: [string], "webhooks"?: {"secret"?: string or [string], "retryDelaysMs"?:
// [number]}, "tools"?: {"enabled"?: boolean, "expose"?: string, "allow"?: [string], "deny"?:
// [string], "timeoutMs"?: number, "callbackTimeoutMs"?: number, "callbackAllow"?: [string]},
// "probes"?: object, "page"?: folder}; null is all defaults.
// Errors: invalid_option.
Result<ApiOptions> read_api_options(const json::Tree& options);

// Adds keys: [{"name"?, "key" or "sha256", "principal"?, "scopes"?: [string], "expiresAt"?,
// "limits"?, "password"?: its hash}]; unknown members are errors.
// Errors: invalid_option.
Result<void> read_api_keys(ApiOptions& options, std::string_view name, const json::Tree& keys);

}  // namespace millrace::api
