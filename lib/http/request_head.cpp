#include "http/request_head.hpp"

#include <array>
#include <optional>
#include <utility>

#include "base/shown.hpp"
#include "http/syntax.hpp"

namespace millrace::http {
namespace {

// A request line may be this much longer than its target: method, version and spaces.
constexpr std::size_t request_line_overhead = 64;
constexpr std::size_t longest_length_digits = 18;  // fits into 64 bits

// Fields whose repetition two parsers could resolve differently.
struct SingleField {
  std::string_view name;
  Errc refusal;
};
constexpr std::array<SingleField, 7> single_fields{{
    {"Host", Errc::invalid_host},
    {"Content-Length", Errc::invalid_body_length},
    {"Transfer-Encoding", Errc::invalid_body_length},
    {"Origin", Errc::invalid_header},
    {"Content-Type", Errc::invalid_header},
    {"Authorization", Errc::invalid_header},
    {"Expect", Errc::expectation_failed},
}};

Error bad_line(std::string message) {
  return make_error(Errc::invalid_request_line, std::move(message));
}

Error bad_length(std::string message) {
  return make_error(Errc::invalid_body_length, std::move(message));
}

Error long_target(std::size_t limit) {
  return make_error(Errc::target_too_long,
                    "The request target is longer than " + std::to_string(limit) + " bytes.");
}

// Takes the next line with its CRLF off `rest`.
std::optional<std::string_view> take_line(std::string_view& rest) {
  const std::size_t end = rest.find("\r\n");
  if (end == rest.npos) return std::nullopt;
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end + 2);
  return line;
}

Result<int> parse_version(std::string_view text) {
  constexpr std::string_view prefix = "HTTP/";
  if (text == "HTTP/1.1") return 1;
  if (text == "HTTP/1.0") return 0;
  const std::string_view number = text.starts_with(prefix) ? text.substr(prefix.size()) : "";
  const bool is_version = is_digits(number.substr(0, 1)) &&
                          (number.size() == 1 ||
                           (number.size() == 3 && number[1] == '.' && is_digits(number.substr(2))));
  if (is_version) {
    return make_error(
        Errc::http_version_not_supported,
        "The server does not support " + shown_text(text) + "; use HTTP/1.1 or HTTP/1.0.");
  }
  return bad_line("The request line must end with 'HTTP/1.1', not " + shown_text(text) + ".");
}

Result<void> parse_request_line(std::string_view line, const HeadLimits& limits,
                                RequestHead& head) {
  const std::size_t first = line.find(' ');
  const std::string_view method = line.substr(0, first);
  if (!is_token(method)) {
    return bad_line("The method " + shown_text(method) +
                    " has a character that is not allowed in a method.");
  }
  if (first == line.npos) {
    return bad_line("The request line must be 'METHOD target HTTP/1.1', not " + shown_text(line) +
                    ".");
  }
  const std::string_view rest = line.substr(first + 1);
  const std::size_t second = rest.find(' ');
  const std::string_view target = rest.substr(0, second);
  if (target.size() > limits.target_bytes) return long_target(limits.target_bytes);
  if (target.empty() || second == rest.npos) {
    return bad_line("The request line must be 'METHOD target HTTP/1.1' with single spaces.");
  }
  if (!is_visible(target) || target.find('#') != target.npos) {
    return bad_line("The request target " + shown_text(target) +
                    " has a character that must be percent-encoded.");
  }
  auto version = parse_version(rest.substr(second + 1));
  MILLRACE_TRY(version);
  head.method = method;
  head.target = target;
  head.minor_version = version.value();
  return {};
}

Result<void> parse_fields(std::string_view rest, const HeadLimits& limits, RequestHead& head) {
  while (const auto line = take_line(rest)) {
    if (line->empty()) {
      if (rest.empty()) return {};
      break;
    }
    if (head.headers.size() == limits.field_count) {
      return make_error(
          Errc::request_headers_too_large,
          "The request has more than " + std::to_string(limits.field_count) + " header fields.");
    }
    auto field = parse_field_line(*line);
    MILLRACE_TRY(field);
    head.headers.add(std::string(field.value().name), std::string(field.value().value));
  }
  return make_error(Errc::invalid_header, "The request head must end with one empty line.");
}

Result<void> check_single_fields(const Headers& headers) {
  for (const SingleField& field : single_fields) {
    if (headers.count(field.name) > 1) {
      return make_error(field.refusal, "The header '" + std::string(field.name) +
                                           "' must not be repeated; send it once.");
    }
  }
  return {};
}

Result<void> check_host(const Headers& headers) {
  const auto host = headers.find("Host");
  if (!host || host->empty()) {
    return make_error(Errc::invalid_host, "The Host header is missing or empty.");
  }
  if (!parse_authority(*host)) {
    return make_error(Errc::invalid_host, "The Host header " + shown_text(*host) +
                                              " is not a host name with an optional port.");
  }
  return {};
}

// Splits the target; the absolute form must name the host that the Host header names.
Result<void> parse_target(RequestHead& head) {
  constexpr std::string_view scheme = "http://";
  if (head.target == "*" && head.method == "OPTIONS") {
    head.path = head.target;
    return {};
  }
  std::string_view rest = head.target;
  if (equal_ignoring_case(rest.substr(0, scheme.size()), scheme)) {
    rest.remove_prefix(scheme.size());
    const std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
    if (!equal_ignoring_case(authority, head.headers.find("Host").value_or(""))) {
      return make_error(Errc::invalid_host, "The request target names the host " +
                                                shown_text(authority) +
                                                ", but the Host header names another.");
    }
    rest.remove_prefix(authority.size());
    if (rest.empty()) rest = "/";
  }
  if (!rest.starts_with('/')) {
    return bad_line("The request target " + shown_text(head.target) +
                    " must be a path that begins with '/'.");
  }
  const std::size_t mark = rest.find('?');
  head.path = rest.substr(0, mark);
  if (mark != rest.npos) head.query = rest.substr(mark + 1);
  return {};
}

Result<void> check_transfer_coding(std::string_view coding, int minor_version) {
  if (minor_version == 0) {
    return bad_length("HTTP/1.0 has no Transfer-Encoding; send a Content-Length.");
  }
  if (equal_ignoring_case(coding, "chunked")) return {};
  return bad_length("Transfer-Encoding must be one 'chunked', not " + shown_text(coding) + ".");
}

Result<void> decide_framing(RequestHead& head) {
  const auto coding = head.headers.find("Transfer-Encoding");
  const auto length = head.headers.find("Content-Length");
  if (coding && length) {
    return bad_length(
        "The request has both Transfer-Encoding and Content-Length; send one of them.");
  }
  if (coding) {
    MILLRACE_TRY(check_transfer_coding(*coding, head.minor_version));
    head.framing = Framing::chunked;
  }
  if (length) {
    if (!is_digits(*length) || length->size() > longest_length_digits) {
      return bad_length("Content-Length must be one decimal number, not " + shown_text(*length) +
                        ".");
    }
    for (const char c : *length) {
      head.content_length = head.content_length * 10 + static_cast<std::uint64_t>(c - '0');
    }
    head.framing = head.content_length == 0 ? Framing::none : Framing::sized;
  }
  return {};
}

// HTTP/1.0 has no expectations: RFC 9110 section 10.1.1 says to ignore them there.
Result<void> decide_expectation(RequestHead& head) {
  const auto expectation = head.headers.find("Expect");
  if (!expectation || head.minor_version == 0) return {};
  if (!equal_ignoring_case(*expectation, "100-continue")) {
    return make_error(Errc::expectation_failed, "The server does not support the expectation " +
                                                    shown_text(*expectation) +
                                                    ", only 100-continue.");
  }
  head.expects_continue = head.framing != Framing::none;
  return {};
}

void decide_persistence(RequestHead& head) {
  bool close = false;
  bool keep = head.minor_version == 1;
  for (const Header& field : head.headers) {
    if (!equal_ignoring_case(field.name, "Connection")) continue;
    close = close || list_contains(field.value, "close");
    keep = keep || list_contains(field.value, "keep-alive");
  }
  head.keep_alive = keep && !close;
}

}  // namespace

Result<void> HeadScanner::check_byte(char c) const {
  if (at_ >= limits_.head_bytes)
    return make_error(
        Errc::request_headers_too_large,
        "The request head is larger than " + std::to_string(limits_.head_bytes) + " bytes.");
  if (c == '\n') {
    if (after_return_) return {};
    return make_error(line_ == 0 ? Errc::invalid_request_line : Errc::invalid_header,
                      "A line ends with LF alone; lines of the head end with CR LF.");
  }
  if (after_return_) {
    return make_error(line_ == 0 ? Errc::invalid_request_line : Errc::invalid_header,
                      "A CR is not followed by LF; lines of the head end with CR LF.");
  }
  if (c != '\r' && !class_of(c).field_value) {
    return make_error(line_ == 0 ? Errc::invalid_request_line : Errc::invalid_header,
                      "The request head has a control character.");
  }
  if (line_ == 0 && line_bytes_ > limits_.target_bytes + request_line_overhead) {
    return long_target(limits_.target_bytes);
  }
  return {};
}

Result<std::size_t> HeadScanner::scan(std::string_view bytes) {
  for (; at_ < bytes.size(); ++at_) {
    const char c = bytes[at_];
    MILLRACE_TRY(check_byte(c));
    after_return_ = c == '\r';
    if (c != '\n') {
      if (c != '\r') ++line_bytes_;
      continue;
    }
    if (std::exchange(line_bytes_, 0) > 0) {
      ++line_;
    } else if (line_ > 0) {
      return at_ + 1;
    } else if (std::exchange(skipped_empty_line_, true)) {
      return bad_line("More than one empty line precedes the request line.");
    }
  }
  return std::size_t{0};
}

Result<RequestHead> parse_request_head(std::string_view head, const HeadLimits& limits) {
  // Old clients send an empty line behind a body: RFC 9112 section 2.2 says to skip it.
  if (head.starts_with("\r\n")) head.remove_prefix(2);
  const auto line = take_line(head);
  if (!line) return bad_line("The request line must end with CR LF.");
  RequestHead parsed;
  MILLRACE_TRY(parse_request_line(*line, limits, parsed));
  MILLRACE_TRY(parse_fields(head, limits, parsed));
  MILLRACE_TRY(check_single_fields(parsed.headers));
  MILLRACE_TRY(check_host(parsed.headers));
  MILLRACE_TRY(parse_target(parsed));
  MILLRACE_TRY(decide_framing(parsed));
  MILLRACE_TRY(decide_expectation(parsed));
  decide_persistence(parsed);
  return parsed;
}

}  // namespace millrace::http
