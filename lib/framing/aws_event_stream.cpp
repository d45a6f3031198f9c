#include "framing/aws_event_stream.hpp"

#include <array>
#include <utility>

#include "base/json.hpp"
#include "framing/buffer.hpp"

namespace millrace::framing {
namespace {

constexpr std::size_t prelude_bytes = 12;  // two lengths and their checksum
constexpr std::size_t checksum_bytes = 4;
constexpr std::size_t least_bytes = prelude_bytes + checksum_bytes;

constexpr std::array<std::uint32_t, 256> make_table() {
  constexpr std::uint32_t polynomial = 0xEDB88320U;
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) {
      value = (value & 1U) != 0 ? (value >> 1U) ^ polynomial : value >> 1U;
    }
    table[i] = value;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> crc_table = make_table();

std::uint32_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value = (value << 8U) | static_cast<std::uint8_t>(bytes[at + i]);
  }
  return value;
}

// Bytes of a header's value by its type; two types say their length themselves.
constexpr std::array<std::size_t, 10> value_bytes{0, 0, 1, 2, 4, 8, 0, 0, 8, 16};
constexpr std::size_t byte_array_type = 6;
constexpr std::size_t string_type = 7;

Error corrupt(std::string_view what) {
  return make_error(Errc::stream_corrupt,
                    "The event stream is damaged: " + std::string(what) + ".");
}

}  // namespace

std::uint32_t crc32(std::string_view bytes, std::uint32_t before) {
  std::uint32_t crc = ~before;
  for (const char c : bytes) {
    crc = crc_table[(crc ^ static_cast<std::uint8_t>(c)) & 0xFFU] ^ (crc >> 8U);
  }
  return ~crc;
}

// Reads and checks the prelude.
Result<std::size_t> AwsEventStreamFraming::message_size(std::string_view prelude) const {
  const std::size_t total = number_at(prelude, 0, 4);
  const std::size_t headers = number_at(prelude, 4, 4);
  if (crc32(prelude.substr(0, 8)) != number_at(prelude, 8, 4)) {
    return corrupt("the checksum of a message's lengths is wrong");
  }
  if (total < least_bytes || headers > total - least_bytes) {
    return corrupt("the lengths of a message contradict each other");
  }
  if (total > limits_.event_bytes) {
    return make_error(Errc::event_too_large, "A message of the event stream is larger than " +
                                                 std::to_string(limits_.event_bytes) + " bytes.");
  }
  return total;
}

Result<void> AwsEventStreamFraming::feed(std::string_view bytes, FrameSink& sink) {
  while (!bytes.empty()) {
    if (carry_.size() < prelude_bytes && carry_.size() + bytes.size() < prelude_bytes) {
      carry_.append(bytes);
      return {};
    }
    if (!carry_.empty() && carry_.size() < prelude_bytes) {
      const std::size_t missing = prelude_bytes - carry_.size();
      carry_.append(bytes.substr(0, missing));
      bytes.remove_prefix(missing);
    }
    const auto size = message_size(carry_.empty() ? bytes : std::string_view(carry_));
    if (!size) return size.error();
    const std::size_t missing = size.value() - carry_.size();
    if (bytes.size() < missing) {
      append_bounded(carry_, bytes, limits_.event_bytes);
      return {};
    }
    const std::string_view rest = bytes.substr(0, missing);
    bytes.remove_prefix(missing);
    if (carry_.empty()) {
      MILLRACE_TRY(on_message(rest, sink));
      continue;
    }
    append_bounded(carry_, rest, limits_.event_bytes);
    message_.swap(carry_);
    MILLRACE_TRY(on_message(message_, sink));
    reuse(message_);
  }
  return {};
}

Result<void> AwsEventStreamFraming::finish(FrameSink& /*sink*/) {
  if (!carry_.empty()) return make_error(Errc::stream_truncated);
  return {};
}

bool AwsEventStreamFraming::read_headers(std::string_view bytes, Head& head) {
  const std::array<std::pair<std::string_view, std::string_view*>, 5> wanted{{
      {":message-type", &head.message_type},
      {":event-type", &head.event_type},
      {":exception-type", &head.exception_type},
      {":error-code", &head.error_code},
      {":error-message", &head.error_message},
  }};
  while (!bytes.empty()) {
    const std::size_t name_size = number_at(bytes, 0, 1);
    if (bytes.size() < 2 + name_size) return false;
    const std::string_view name = bytes.substr(1, name_size);
    const std::size_t type = number_at(bytes, 1 + name_size, 1);
    bytes.remove_prefix(2 + name_size);
    if (type >= value_bytes.size()) return false;
    std::size_t size = value_bytes[type];
    if (type == byte_array_type || type == string_type) {
      if (bytes.size() < 2) return false;
      size = number_at(bytes, 0, 2);
      bytes.remove_prefix(2);
    }
    if (bytes.size() < size) return false;
    for (const auto& [key, value] : wanted) {
      if (type == string_type && key == name) *value = bytes.substr(0, size);
    }
    bytes.remove_prefix(size);
  }
  return true;
}

Result<void> AwsEventStreamFraming::on_message(std::string_view message, FrameSink& sink) {
  const std::size_t headers = number_at(message, 4, 4);
  const std::size_t end = message.size() - checksum_bytes;
  if (crc32(message.substr(0, end)) != number_at(message, end, checksum_bytes)) {
    return corrupt("the checksum of a message is wrong");
  }
  Head head;
  if (!read_headers(message.substr(prelude_bytes, headers), head)) {
    return corrupt("the headers of a message cannot be read");
  }
  const std::size_t from = prelude_bytes + headers;
  const std::string_view payload = message.substr(from, end - from);
  if (head.message_type == "exception" || head.message_type == "error") {
    give_failure(head, payload, sink);
  } else {
    sink.on_frame(Frame{head.event_type, payload, {}, false});
  }
  return {};
}

void AwsEventStreamFraming::give_failure(const Head& head, std::string_view payload,
                                         FrameSink& sink) {
  const bool is_exception = !head.exception_type.empty();
  std::string name(failure_mark);
  name.append(is_exception ? head.exception_type : head.error_code);
  std::string data = "{";
  json::append_member(data, "message", head.error_message);
  data.push_back('}');
  sink.on_frame(Frame{name, payload.empty() ? std::string_view(data) : payload, {}, false});
}

}  // namespace millrace::framing
