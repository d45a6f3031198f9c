#include "model/call/answer_info.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "base/ascii.hpp"
#include "base/json.hpp"
#include "model/failure/response_error.hpp"

namespace millrace::model {
namespace {

constexpr std::size_t header_bytes = 512;
constexpr std::size_t most_headers = 64;

// The response headers that vendors document, as whole names or by what they begin with.
// Source: the API references of OpenAI ("Debugging requests"), Anthropic ("Response headers"),
// Azure OpenAI, Google, AWS (Bedrock runtime), Cohere ("Rate limits"), Mistral, Groq, xAI and
// OpenRouter (2026).
struct HeaderName {
  std::string_view name;
  bool is_start = false;
};
constexpr std::array header_names{
    HeaderName{"openai-", true},
    HeaderName{"x-ratelimit-", true},
    HeaderName{"anthropic-", true},
    HeaderName{"x-amzn-bedrock-", true},
    HeaderName{"x-trial-endpoint-call-", true},
    HeaderName{"x-endpoint-monthly-call-limit"},
    HeaderName{"x-request-id"},
    HeaderName{"request-id"},
    HeaderName{"x-amzn-requestid"},
    HeaderName{"apim-request-id"},
    HeaderName{"x-ms-region"},
    HeaderName{"x-ms-request-id"},
    HeaderName{"x-goog-request-id"},
    HeaderName{"x-cloud-trace-context"},
    HeaderName{"x-debug-trace-id"},
    HeaderName{"mistral-correlation-id"},
    HeaderName{"x-groq-region"},
    HeaderName{"x-ds-trace-id"},
    HeaderName{"cf-ray"},
    HeaderName{"retry-after"},
};

bool is_documented_header(std::string_view name) {
  return std::any_of(header_names.begin(), header_names.end(), [&](const HeaderName& row) {
    return row.is_start ? name.starts_with(row.name) : name == row.name;
  });
}

// "input-tokens" as "inputTokens"; Mistral names the minute as well.
std::string limited_thing(std::string_view name) {
  if (name == "req-minute") return "requests";
  if (name == "tokens-minute") return "tokens";
  std::string out;
  bool upper = false;
  for (const char c : name) {
    if (c == '-') {
      upper = true;
      continue;
    }
    out.push_back(upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
    upper = false;
  }
  return out;
}

// What a header of a rate limit is about, and which of its three numbers it has.
struct LimitName {
  std::string thing;
  std::string_view number;
};
std::optional<LimitName> limit_name(std::string_view name) {
  constexpr std::array<std::string_view, 3> numbers{"limit", "remaining", "reset"};
  constexpr std::string_view usual = "x-ratelimit-";
  constexpr std::string_view anthropics = "anthropic-ratelimit-";
  for (const std::string_view number : numbers) {
    const std::string before = std::string(usual).append(number).append("-");
    if (name.starts_with(before))
      return LimitName{limited_thing(name.substr(before.size())), number};
    const std::string after = std::string("-").append(number);
    if (!name.starts_with(anthropics) || !name.ends_with(after)) continue;
    name.remove_prefix(anthropics.size());
    name.remove_suffix(std::min(after.size(), name.size()));
    return LimitName{limited_thing(name), number};
  }
  return std::nullopt;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  return error == std::errc() && end == last ? std::optional(number) : std::nullopt;
}

}  // namespace

std::string answer_info_json(std::string_view facts_json, const std::vector<net::Header>& head) {
  std::string out(facts_json.empty() ? "{" : facts_json.substr(0, facts_json.size() - 1));
  std::string headers = "{";
  std::map<std::string, std::string> limits;
  std::size_t count = 0;
  for (const net::Header& header : head) {
    const std::string name = lowered(header.name);
    if (!is_documented_header(name) || ++count > most_headers) continue;
    const std::string value = redacted(header.value, header_bytes);
    json::append_member(headers, name, value);
    const auto limit = limit_name(name);
    if (!limit || limit->thing.empty()) continue;
    const bool is_time = limit->number == "reset";
    const auto number = whole_number(value);
    if (!is_time && !number) continue;
    std::string& row = limits.try_emplace(limit->thing, "{").first->second;
    if (is_time) {
      json::append_member(row, limit->number, value);
    } else {
      json::append_member(row, limit->number, *number);
    }
  }
  if (const std::string id = request_id_of(head); !id.empty()) {
    json::append_member(out, "requestId", id);
  }
  if (!limits.empty()) {
    std::string list = "{";
    for (const auto& [thing, row] : limits) json::append_raw_member(list, thing, row + "}");
    json::append_raw_member(out, "rateLimits", list + "}");
  }
  if (headers.size() > 1) json::append_raw_member(out, "headers", headers + "}");
  if (count > most_headers) {
    const auto rest = static_cast<std::int64_t>(count - most_headers);
    json::append_member(out, "headersLeftOut", rest);
  }
  return out.size() == 1 ? std::string() : out + "}";
}

}  // namespace millrace::model
