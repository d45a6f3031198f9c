#include "http/body_decoder.hpp"

#include <algorithm>
#include <array>

#include "http/syntax.hpp"

namespace millrace::http {
namespace {

constexpr std::size_t longest_size_digits = 16;  // 64 bits

// Fields that would change how the message is framed, routed, authorised or read.
// Source: RFC 9110 section 6.5.1.
constexpr std::array<std::string_view, 18> forbidden_trailers{"Transfer-Encoding",
                                                              "Content-Length",
                                                              "Host",
                                                              "Connection",
                                                              "Keep-Alive",
                                                              "Trailer",
                                                              "TE",
                                                              "Upgrade",
                                                              "Expect",
                                                              "Content-Type",
                                                              "Content-Encoding",
                                                              "Content-Range",
                                                              "Authorization",
                                                              "Cookie",
                                                              "Origin",
                                                              "Cache-Control",
                                                              "Max-Forwards",
                                                              "Proxy-Authorization"};

Error bad_chunk(std::string message) {
  return make_error(Errc::invalid_chunk, std::move(message));
}

}  // namespace

Result<void> check_coding(const Headers& headers) {
  constexpr std::size_t longest = 200;
  const auto coding = headers.find("Content-Encoding");
  if (!coding || equal_ignoring_case(*coding, "identity")) return {};
  std::string shown(coding->substr(0, longest));
  if (coding->size() > longest) shown.append("...");
  return make_error(Errc::unsupported_media_type, "The request body has the Content-Encoding '" +
                                                      shown + "'; send it without one.");
}

Error oversized_body(std::uint64_t limit) {
  return make_error(Errc::body_too_large,
                    "The request body is larger than " + std::to_string(limit) + " bytes.");
}

BodyDecoder::BodyDecoder(Framing framing, std::uint64_t content_length, const BodyLimits& limits)
    : limits_(limits), state_(State::size), counted_(framing == Framing::sized) {
  if (counted_) {
    remaining_ = content_length;
    state_ = State::data;
  } else if (framing == Framing::none) {
    state_ = State::done;
  }
}

Result<std::size_t> BodyDecoder::feed(std::string_view bytes, std::string& body) {
  if (counted_ && body.size() + remaining_ > limits_.body_bytes) {
    return oversized_body(limits_.body_bytes);
  }
  std::size_t at = 0;
  while (at < bytes.size() && state_ != State::done) {
    if (state_ != State::data) {
      MILLRACE_TRY(step(bytes[at]));
      ++at;
      continue;
    }
    const auto part = static_cast<std::size_t>(
        std::min<std::uint64_t>(remaining_, static_cast<std::uint64_t>(bytes.size() - at)));
    body.append(bytes.substr(at, part));
    at += part;
    remaining_ -= part;
    if (remaining_ == 0) state_ = counted_ ? State::done : State::data_return;
  }
  return at;
}

Result<void> BodyDecoder::step(char c) {
  switch (state_) {
    case State::size: return on_size(c);
    case State::extension: return on_extension(c);
    case State::size_end: return c == '\n' ? end_size() : expect(c, '\n', State::size_end);
    case State::data_return: return expect(c, '\r', State::data_end);
    case State::data_end: return expect(c, '\n', State::size);
    case State::trailer: return on_trailer(c);
    case State::trailer_end: return c == '\n' ? end_trailer_line() : expect(c, '\n', state_);
    case State::data:
    case State::done: break;
  }
  return {};
}

Result<void> BodyDecoder::expect(char c, char wanted, State next) {
  if (c != wanted) return bad_chunk("A chunk or its size line does not end with CR LF.");
  state_ = next;
  return {};
}

Result<void> BodyDecoder::on_size(char c) {
  const int digit = hex_value(c);
  if (digit >= 0) {
    if (++size_digits_ > longest_size_digits)
      return bad_chunk("A chunk size does not fit 64 bits.");
    remaining_ = remaining_ * 16 + static_cast<std::uint64_t>(digit);
    return {};
  }
  if (size_digits_ == 0 || (c != ';' && c != '\r')) {
    return bad_chunk("A chunk size is not a hexadecimal number.");
  }
  state_ = c == ';' ? State::extension : State::size_end;
  return {};
}

Result<void> BodyDecoder::on_extension(char c) {
  if (c == '\r') {
    state_ = State::size_end;
    return {};
  }
  if (++extension_bytes_ > limits_.extension_bytes) {
    return bad_chunk("The chunk extensions are longer than the limit; leave them out.");
  }
  if (!class_of(c).visible && c != ' ' && c != '\t') {
    return bad_chunk("A chunk extension has a character that is not visible ASCII; leave it out.");
  }
  return {};
}

Result<void> BodyDecoder::end_size() {
  size_digits_ = 0;
  if (remaining_ == 0) {
    state_ = State::trailer;
    return {};
  }
  if (remaining_ > limits_.body_bytes - total_) return oversized_body(limits_.body_bytes);
  total_ += remaining_;
  state_ = State::data;
  return {};
}

Result<void> BodyDecoder::on_trailer(char c) {
  if (++trailer_bytes_ > limits_.trailer_bytes) {
    return make_error(
        Errc::request_headers_too_large,
        "The trailers are larger than " + std::to_string(limits_.trailer_bytes) + " bytes.");
  }
  if (c == '\r') {
    state_ = State::trailer_end;
  } else {
    line_.push_back(c);
  }
  return {};
}

Result<void> BodyDecoder::end_trailer_line() {
  if (line_.empty()) {
    state_ = State::done;
    return {};
  }
  if (++trailer_count_ > limits_.trailer_count) {
    return make_error(
        Errc::request_headers_too_large,
        "The request has more than " + std::to_string(limits_.trailer_count) + " trailers.");
  }
  auto field = parse_field_line(line_);
  MILLRACE_TRY(field);
  for (const std::string_view name : forbidden_trailers) {
    if (equal_ignoring_case(field.value().name, name)) {
      return make_error(Errc::invalid_header, "The field '" + std::string(name) +
                                                  "' may not be a trailer; send it in the head.");
    }
  }
  line_.clear();
  state_ = State::trailer;
  return {};
}

}  // namespace millrace::http
