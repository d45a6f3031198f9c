#include "journal/wire.hpp"

#include <cstddef>

namespace millrace::journal {
namespace {

constexpr std::size_t uuid_size = 16;
constexpr std::size_t uuid_text_size = 36;

constexpr bool is_dash(std::size_t at) {
  return at == 8 || at == 13 || at == 18 || at == 23;
}

// The value of a lower-case hexadecimal digit, or 16.
constexpr unsigned digit_of(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10U;
  return 16U;
}

}  // namespace

void append_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80U) {
    out.push_back(static_cast<char>((value & 0x7FU) | 0x80U));
    value >>= 7U;
  }
  out.push_back(static_cast<char>(value));
}

std::uint64_t ByteReader::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    const std::uint64_t bits = byte & 0x7FU;
    if (shift == 63 && bits > 1) break;
    value |= bits << shift;
    if ((byte & 0x80U) == 0) return value;
  }
  ok_ = false;
  return 0;
}

std::string_view ByteReader::bytes(std::uint64_t count) {
  if (!ok_ || count > rest_.size()) {
    ok_ = false;
    return {};
  }
  const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(count));
  rest_.remove_prefix(taken.size());
  return taken;
}

std::optional<std::array<char, 16>> uuid_bytes(std::string_view text) {
  if (text.size() != uuid_text_size) return std::nullopt;
  std::array<char, uuid_size> bytes{};
  std::size_t nibble = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (is_dash(at)) {
      if (text[at] != '-') return std::nullopt;
      continue;
    }
    const unsigned digit = digit_of(text[at]);
    if (digit > 15U) return std::nullopt;
    auto& byte = bytes[nibble / 2];
    byte =
        static_cast<char>((static_cast<unsigned>(static_cast<unsigned char>(byte)) << 4U) | digit);
    ++nibble;
  }
  return bytes;
}

std::string uuid_text(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(uuid_text_size);
  for (const char c : bytes) {
    if (is_dash(text.size())) text.push_back('-');
    const auto byte = static_cast<unsigned char>(c);
    text.push_back(digits[byte >> 4U]);
    text.push_back(digits[byte & 0x0FU]);
  }
  return text;
}

void FieldWriter::key(std::uint32_t tag, FieldType type) {
  append_varint(out_, (std::uint64_t{tag} << 2U) | static_cast<std::uint64_t>(type));
}

void FieldWriter::text(std::uint32_t tag, std::string_view value, std::string_view fallback) {
  if (value == fallback) return;
  if (const auto bytes = uuid_bytes(value)) {
    key(tag, FieldType::uuid);
    out_.append(bytes->data(), bytes->size());
    return;
  }
  key(tag, FieldType::text);
  append_varint(out_, value.size());
  out_.append(value);
}

void FieldWriter::number(std::uint32_t tag, std::int64_t value, std::int64_t fallback) {
  if (value == fallback) return;
  number(tag, std::optional(value));
}

void FieldWriter::number(std::uint32_t tag, const std::optional<std::int64_t>& value) {
  if (!value) return;
  key(tag, FieldType::number);
  append_varint(out_, zigzag(*value));
}

void FieldWriter::flag(std::uint32_t tag, const std::optional<bool>& value) {
  if (value) number(tag, std::optional<std::int64_t>(*value ? 1 : 0));
}

void FieldWriter::questions(std::uint32_t tag, std::span<const event::Question> values) {
  if (values.empty()) return;
  std::string list;
  for (const event::Question& question : values) {
    for (const std::string_view member : {question.id, question.message, question.json}) {
      append_varint(list, member.size());
      list.append(member);
    }
  }
  key(tag, FieldType::text);
  append_varint(out_, list.size());
  out_.append(list);
}

void FieldReader::next() {
  has_field_ = false;
  if (bytes_.at_end()) return;
  const std::uint64_t key = bytes_.varint();
  const std::uint64_t tag = key >> 2U;
  // Tags rise: a smaller one comes from damage, or would be lost.
  if (tag <= tag_ || tag > std::numeric_limits<std::uint32_t>::max()) {
    ok_ = false;
    return;
  }
  tag_ = static_cast<std::uint32_t>(tag);
  switch (key & 3U) {
    case 0:
      type_ = FieldType::number;
      number_ = bytes_.varint();
      break;
    case 1:
      type_ = FieldType::text;
      text_ = bytes_.bytes(bytes_.varint());
      break;
    case 2:
      type_ = FieldType::uuid;
      text_ = bytes_.bytes(uuid_size);
      break;
    default: ok_ = false; return;
  }
  ok_ = ok_ && bytes_.ok();
  has_field_ = ok_;
}

bool FieldReader::find(std::uint32_t tag, bool is_number) {
  while (has_field_ && tag_ < tag) next();
  if (!has_field_ || tag_ != tag) return false;
  if ((type_ == FieldType::number) != is_number) {
    ok_ = false;
    return false;
  }
  return true;
}

bool FieldReader::finish() {
  while (has_field_) next();
  return ok_ && bytes_.ok();
}

void FieldReader::text(std::uint32_t tag, std::string_view& value, std::string_view fallback) {
  value = fallback;
  if (!find(tag, false)) return;
  value = type_ == FieldType::uuid ? arena_.keep(uuid_text(text_)) : text_;
}

void FieldReader::number(std::uint32_t tag, std::int64_t& value, std::int64_t fallback) {
  value = find(tag, true) ? unzigzag(number_) : fallback;
}

void FieldReader::number(std::uint32_t tag, std::optional<std::int64_t>& value) {
  value = find(tag, true) ? std::optional(unzigzag(number_)) : std::nullopt;
}

void FieldReader::flag(std::uint32_t tag, bool& value) {
  std::optional<bool> read;
  flag(tag, read);
  value = read.value_or(false);
}

void FieldReader::flag(std::uint32_t tag, std::optional<bool>& value) {
  std::optional<std::int64_t> read;
  number(tag, read);
  if (read && *read != 0 && *read != 1) ok_ = false;
  value = read ? std::optional(*read == 1) : std::nullopt;
}

void FieldReader::questions(std::uint32_t tag, std::span<const event::Question>& values) {
  values = {};
  if (!find(tag, false)) return;
  ByteReader list(text_);
  std::vector<event::Question> read;
  while (!list.at_end()) {
    event::Question question;
    question.id = list.bytes(list.varint());
    question.message = list.bytes(list.varint());
    question.json = list.bytes(list.varint());
    read.push_back(question);
  }
  if (!list.ok()) ok_ = false;
  if (ok_) values = arena_.keep(std::move(read));
}

}  // namespace millrace::journal
