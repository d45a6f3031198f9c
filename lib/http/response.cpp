#include "http/response.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <ctime>
#include <utility>

#include "base/json.hpp"
#include "base/shown.hpp"
#include "http/syntax.hpp"

namespace millrace::http {
namespace {

constexpr int lowest_status = 200;
constexpr int highest_status = 599;

constexpr std::array<std::pair<int, std::string_view>, 35> reasons{{
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {411, "Length Required"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {451, "Unavailable For Legal Reasons"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
}};

constexpr std::array<std::string_view, 7> server_fields{
    "Connection", "Content-Length",    "Date",   "Keep-Alive",
    "Trailer",    "Transfer-Encoding", "Upgrade"};

std::string_view reason_of(int status) {
  const auto found = std::find_if(reasons.begin(), reasons.end(),
                                  [&](const auto& row) { return row.first == status; });
  return found == reasons.end() ? "" : found->second;
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

// The time now as an IMF-fixdate, in English whatever the locale is.
std::string date_now() {
  constexpr std::array<std::string_view, 7> days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                    "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  const auto two = [](int number) {
    return std::string{static_cast<char>('0' + number / 10), static_cast<char>('0' + number % 10)};
  };
  std::string out(days[static_cast<std::size_t>(utc.tm_wday)]);
  out.append(", ").append(two(utc.tm_mday)).append(" ");
  out.append(months[static_cast<std::size_t>(utc.tm_mon)]).append(" ");
  out.append(std::to_string(utc.tm_year + 1900)).append(" ");
  out.append(two(utc.tm_hour)).append(":").append(two(utc.tm_min)).append(":");
  return out.append(two(utc.tm_sec)).append(" GMT");
}

}  // namespace

Result<void> check_response(int status, const Headers& headers) {
  if (status < lowest_status || status > highest_status) {
    return make_error(Errc::invalid_argument, "A response status must be from 200 to 599, not " +
                                                  std::to_string(status) + ".");
  }
  for (const Header& field : headers) {
    if (!is_token(field.name) || !is_field_value(field.value)) {
      return make_error(Errc::invalid_argument,
                        "The response header " + shown_text(field.name) +
                            " has a character in its name or value that headers must not have, "
                            "such as a line break.");
    }
    for (const std::string_view name : server_fields) {
      if (equal_ignoring_case(field.name, name)) {
        return make_error(Errc::invalid_argument, "The response header '" + std::string(name) +
                                                      "' is set by the server; leave it out.");
      }
    }
  }
  return {};
}

std::string response_head(int status, const Headers& headers, const ResponseFraming& framing) {
  std::string out = "HTTP/1.1 " + std::to_string(status) + " ";
  out.append(reason_of(status)).append("\r\n");
  append_field(out, "Date", date_now());
  for (const Header& field : headers) append_field(out, field.name, field.value);
  if (framing.fields != nullptr) {
    for (const Header& field : *framing.fields) {
      if (headers.count(field.name) == 0) append_field(out, field.name, field.value);
    }
  }
  if (!framing.cors_origin.empty()) {
    if (headers.count("Access-Control-Allow-Origin") == 0) {
      append_field(out, "Access-Control-Allow-Origin", framing.cors_origin);
    }
    append_field(out, "Vary", "Origin");
  }
  if (framing.content_length) {
    append_field(out, "Content-Length", std::to_string(*framing.content_length));
  }
  if (framing.chunked) append_field(out, "Transfer-Encoding", "chunked");
  if (framing.close) append_field(out, "Connection", "close");
  if (framing.write_keep_alive) append_field(out, "Connection", "keep-alive");
  return out.append("\r\n");
}

bool has_body(int status) {
  return status != 204 && status != 304;
}

void append_chunk(std::string& out, std::string_view bytes) {
  if (bytes.empty()) return;
  std::array<char, 16> digits{};
  const auto [end, error] =
      std::to_chars(digits.data(), digits.data() + digits.size(), bytes.size(), 16);
  out.reserve(out.size() + digits.size() + bytes.size() + 4);
  out.append(digits.data(), end).append("\r\n").append(bytes).append("\r\n");
}

namespace {

std::string body_of(const Error& error, std::string_view request) {
  std::string inner = "{";
  json::append_member(inner, "code", error.code_name());
  json::append_member(inner, "message", error.message);
  json::append_member(inner, "fix", row_of(error.code).fix);
  if (!request.empty()) json::append_member(inner, "requestId", request);
  inner.push_back('}');
  std::string out = "{";
  json::append_raw_member(out, "error", inner);
  return out.append("}");
}

}  // namespace

std::string error_body(const Error& error) {
  return body_of(error, {});
}

std::string error_body(const Error& error, const Exchange& exchange) {
  if (exchange.error_body != nullptr) return exchange.error_body(error, exchange.path);
  return body_of(error,
                 exchange.observed ? exchange.observed->report.identity.id : std::string_view());
}

Headers error_headers(const Error& error, Headers headers) {
  headers.add("Content-Type", "application/json");
  if (error.retry_after) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(*error.retry_after);
    headers.add("Retry-After", std::to_string(seconds.count()));
  }
  return headers;
}

}  // namespace millrace::http
