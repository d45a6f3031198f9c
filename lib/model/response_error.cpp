#include "model/response_error.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "base/json.hpp"

namespace millrace::model {
namespace {

struct Row {
  int status;
  Errc code;
};

constexpr std::array<Row, 14> rows{{
    {400, Errc::provider_bad_request},
    {401, Errc::authentication_failed},
    {402, Errc::permission_denied},
    {403, Errc::permission_denied},
    {404, Errc::model_not_found},
    {405, Errc::model_not_found},
    {408, Errc::provider_error},
    {409, Errc::provider_error},
    {413, Errc::provider_bad_request},
    {415, Errc::provider_bad_request},
    {422, Errc::provider_bad_request},
    {429, Errc::rate_limited},
    {503, Errc::provider_overloaded},
    {529, Errc::provider_overloaded},
}};

Errc code_of(int status) {
  const auto* row =
      std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.status == status; });
  return row == rows.end() ? Errc::provider_error : row->code;
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

// Seconds of a Retry-After header; the form with a date is left to the caller's own back-off.
std::optional<std::chrono::milliseconds> retry_after(const net::ResponseHead& head) {
  for (const net::Header& header : head.headers) {
    if (!equals_ignoring_case(header.name, "retry-after")) continue;
    int seconds = 0;
    const char* end = header.value.data() + header.value.size();
    const auto [at, error] = std::from_chars(header.value.data(), end, seconds);
    if (error == std::errc() && at == end && seconds >= 0) return std::chrono::seconds(seconds);
  }
  return std::nullopt;
}

// `{"error":{"message"}}`, `{"error":"..."}`, `{"message"}`, `{"detail"}`, or a list with one of
// them.
std::string message_of(std::string_view body) {
  json::Document document;
  auto parsed = document.parse(body);
  if (!parsed) return {};
  json::Value value = parsed.value();
  if (value.is_array() && value.size() > 0) value = *value.items().begin();
  const json::Value error = value["error"];
  for (const json::Value candidate :
       {error["message"], error, value["message"], value["detail"], error["type"]}) {
    if (const auto text = candidate.filled_string()) return std::string(*text);
  }
  return {};
}

}  // namespace

Error error_from_response(const net::ResponseHead& head, std::string_view body) {
  constexpr std::size_t shown_bytes = 1024;
  const Errc code = code_of(head.status);
  std::string message = "The provider answered " + std::to_string(head.status);
  if (const std::string said = message_of(body); !said.empty()) {
    message.append(": ").append(redacted(said, shown_bytes));
  } else {
    message.append(". ").append(row_of(code).sentence);
  }
  Error error = make_error(code, std::move(message), body);
  error.upstream_status = head.status;
  error.retry_after = retry_after(head);
  return error;
}

}  // namespace millrace::model
