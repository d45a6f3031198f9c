#include "http/multipart.hpp"

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "base/utf8.hpp"
#include "http/message.hpp"
#include "http/syntax.hpp"

namespace millrace::http {
namespace {

constexpr std::string_view line_end = "\r\n";
constexpr std::size_t most_boundary_bytes = 70;

Error cut_form() {
  return make_error(Errc::invalid_body, "The multipart body ends before its last boundary.");
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && is_ascii_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_ascii_space(text.back())) text.remove_suffix(1);
  return text;
}

// The next `name=value` of a header's parameters, which is cut off; the value may be quoted.
std::optional<std::pair<std::string, std::string>> next_parameter(std::string_view& rest) {
  const std::size_t begin = rest.find(';');
  if (begin == std::string_view::npos) return std::nullopt;
  rest = without_blanks(rest.substr(begin + 1));
  const std::size_t equals = rest.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  std::string name = lowered(without_blanks(rest.substr(0, equals)));
  rest = without_blanks(rest.substr(equals + 1));
  std::string value;
  if (!rest.starts_with('"')) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    value = without_blanks(rest.substr(0, end));
    rest.remove_prefix(end);
    return std::pair(std::move(name), std::move(value));
  }
  rest.remove_prefix(1);
  while (!rest.empty() && rest.front() != '"') {
    // Browsers write a quote as %22; others escape it. A backslash before anything else is one of a
    // path.
    if (rest.size() > 1 && rest[0] == '\\' && rest[1] == '"') rest.remove_prefix(1);
    value.push_back(rest.front());
    rest.remove_prefix(1);
  }
  if (!rest.empty()) rest.remove_prefix(1);
  return std::pair(std::move(name), std::move(value));
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool is_escape = text[at] == '%' && at + 2 < text.size() &&
                           hex_value(text[at + 1]) >= 0 && hex_value(text[at + 2]) >= 0;
    if (!is_escape) {
      out.push_back(text[at]);
      continue;
    }
    out.push_back(static_cast<char>(hex_value(text[at + 1]) * 16 + hex_value(text[at + 2])));
    at += 2;
  }
  return out;
}

// The text of a value that names its charset and perhaps its language: UTF-8'en'a%20b.
// Source: RFC 8187, section 3.2.1; RFC 5987 has ISO-8859-1 as well.
std::optional<std::string> extended_value(std::string_view value) {
  const std::size_t charset_end = std::min(value.find('\''), value.size());
  const std::size_t language_end = value.find('\'', charset_end + 1);
  if (language_end == std::string_view::npos) return std::nullopt;
  const std::string_view charset = value.substr(0, charset_end);
  std::string text = percent_decoded(value.substr(language_end + 1));
  if (equal_ignoring_case(charset, "UTF-8")) return text;
  if (!equal_ignoring_case(charset, "ISO-8859-1")) return std::nullopt;
  std::string out;
  for (const char c : text) utf8::append_code_point(out, static_cast<unsigned char>(c));
  return out;
}

void read_disposition(FormPart& part, std::string_view value) {
  std::optional<std::string> extended;
  while (auto parameter = next_parameter(value)) {
    auto& [name, text] = *parameter;
    if (name == "name") part.name = std::move(text);
    if (name == "filename") part.filename = percent_decoded(text);
    if (name == "filename*") extended = extended_value(text);
  }
  if (extended) part.filename = std::move(extended);
}

Result<FormPart> read_part(std::string_view text, const FormLimits& limits) {
  const std::size_t head_end = text.find("\r\n\r\n");
  if (head_end == std::string_view::npos || head_end > limits.head_bytes) {
    return make_error(Errc::invalid_body,
                      "A part of the multipart body has no head, or a long one.");
  }
  FormPart part;
  std::string_view head = text.substr(0, head_end + line_end.size());
  while (!head.empty()) {
    const std::size_t end = head.find(line_end);
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end + line_end.size());
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = without_blanks(line.substr(colon + 1));
    if (equal_ignoring_case(name, "Content-Disposition")) read_disposition(part, value);
    if (equal_ignoring_case(name, "Content-Type")) part.content_type = value;
  }
  if (part.name.empty()) {
    return make_error(Errc::invalid_body, "A part of the multipart body has no name.");
  }
  constexpr std::size_t empty_line = 4;
  part.body = text.substr(head_end + empty_line);
  return part;
}

}  // namespace

std::optional<std::string> form_boundary(std::string_view content_type) {
  constexpr std::string_view type = "multipart/form-data";
  std::string_view rest = content_type;
  const std::string_view given = without_blanks(rest.substr(0, rest.find(';')));
  if (!equal_ignoring_case(given, type)) return std::nullopt;
  while (auto parameter = next_parameter(rest)) {
    if (parameter->first != "boundary") continue;
    const std::size_t size = parameter->second.size();
    if (size == 0 || size > most_boundary_bytes) return std::nullopt;
    return std::move(parameter->second);
  }
  return std::nullopt;
}

Result<std::vector<FormPart>> parse_form(std::string_view body, std::string_view boundary,
                                         const FormLimits& limits) {
  const std::string mark = "--" + std::string(boundary);
  const std::string next = "\r\n" + mark;
  std::vector<FormPart> parts;
  // What stands before the first boundary is no part.
  if (body.starts_with(mark)) {
    body.remove_prefix(mark.size());
  } else {
    const std::size_t first = body.find(next);
    if (first == std::string_view::npos) return cut_form();
    body.remove_prefix(first + next.size());
  }
  while (!body.starts_with("--")) {
    // Blanks may follow a boundary on its line.
    const std::size_t line = body.find(line_end);
    if (line == std::string_view::npos) return cut_form();
    // A part without a head begins with the empty line.
    body.remove_prefix(line + line_end.size());
    const std::size_t end = body.find(next);
    if (end == std::string_view::npos) return cut_form();
    if (parts.size() == limits.part_count) {
      return make_error(Errc::invalid_body, "The multipart body has more than " +
                                                std::to_string(limits.part_count) + " parts.");
    }
    auto part = read_part(body.substr(0, end), limits);
    if (!part) return std::move(part).error();
    parts.push_back(std::move(part).value());
    body.remove_prefix(end + next.size());
  }
  return parts;
}

FormReader::FormReader(std::string_view boundary, Events events, const FormLimits& limits)
    : mark_("--" + std::string(boundary)),
      next_("\r\n" + mark_),
      events_(std::move(events)),
      limits_(limits) {}

void FormReader::feed(std::string_view bytes) {
  if (state_ == State::done || state_ == State::failed) return;
  buffer_.append(bytes);
  while (step()) {
  }
  // A slow upload must not hold the memory of its largest piece.
  constexpr std::size_t small_bytes = 4096;
  if (buffer_.capacity() > small_bytes && buffer_.size() < small_bytes) {
    std::string(buffer_).swap(buffer_);
  }
}

Result<void> FormReader::end() const {
  if (error_) return *error_;
  return state_ == State::done ? Result<void>() : Result<void>(cut_form());
}

// False where more bytes are needed, or none.
bool FormReader::step() {
  switch (state_) {
    case State::preamble: return skip_preamble();
    case State::boundary: return read_boundary();
    case State::head: return read_head();
    case State::data: return read_data();
    default: std::string().swap(buffer_); return false;
  }
}

bool FormReader::fail(Error error) {
  error_ = std::move(error);
  state_ = State::failed;
  std::string().swap(buffer_);
  return false;
}

// What stands before the first boundary is no part.
bool FormReader::skip_preamble() {
  if (!is_begun_) {
    if (buffer_.size() < mark_.size()) return false;
    is_begun_ = true;
    if (buffer_.starts_with(mark_)) {
      buffer_.erase(0, mark_.size());
      state_ = State::boundary;
      return true;
    }
  }
  const std::size_t found = buffer_.find(next_);
  if (found == std::string::npos) {
    if (buffer_.size() >= next_.size()) buffer_.erase(0, buffer_.size() - next_.size() + 1);
    return false;
  }
  buffer_.erase(0, found + next_.size());
  state_ = State::boundary;
  return true;
}

// Behind a boundary: the end, or the rest of its line.
bool FormReader::read_boundary() {
  if (buffer_.size() < 2) return false;
  if (buffer_.starts_with("--")) {
    state_ = State::done;
    return true;
  }
  const std::size_t line = buffer_.find(line_end);
  if (line == std::string::npos) {
    if (buffer_.size() <= limits_.head_bytes) return false;
    return fail(cut_form());
  }
  if (parts_ == limits_.part_count) {
    return fail(make_error(Errc::invalid_body, "The multipart body has more than " +
                                                   std::to_string(limits_.part_count) + " parts."));
  }
  ++parts_;
  buffer_.erase(0, line + line_end.size());
  state_ = State::head;
  return true;
}

bool FormReader::read_head() {
  constexpr std::string_view empty_line = "\r\n\r\n";
  const std::size_t end = buffer_.find(empty_line);
  const std::size_t boundary = buffer_.find(next_);
  const bool is_long = std::min(end, buffer_.size()) > limits_.head_bytes;
  // The empty line may be the one before a boundary.
  const bool is_decided = end != std::string::npos && buffer_.size() >= end + 2 + next_.size();
  const bool has_none = boundary != std::string::npos && boundary <= end + 2;
  if (is_long ||
      (end == std::string::npos ? boundary != std::string::npos : is_decided && has_none)) {
    return fail(
        make_error(Errc::invalid_body, "A part of the multipart body has no head, or a long one."));
  }
  if (!is_decided) return false;
  auto part = read_part(std::string_view(buffer_).substr(0, end + empty_line.size()), limits_);
  if (!part) return fail(part.error());
  events_.part(part.value());
  buffer_.erase(0, end + empty_line.size());
  state_ = State::data;
  return true;
}

bool FormReader::read_data() {
  const std::size_t found = buffer_.find(next_);
  const bool is_over = found != std::string::npos;
  // The end of what is here may be the begin of a boundary.
  const std::size_t tail = next_.size() - 1;
  const std::size_t size = is_over ? found : buffer_.size() - std::min(buffer_.size(), tail);
  if (size > 0) events_.data(std::string_view(buffer_).substr(0, size));
  buffer_.erase(0, is_over ? found + next_.size() : size);
  if (is_over) state_ = State::boundary;
  return is_over;
}

}  // namespace millrace::http
