#include "journal/page.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "journal/checksum.hpp"
#include "journal/codec.hpp"

namespace millrace::journal {
namespace {

constexpr char page_version = 1;

}  // namespace

void PageWriter::add(const Record& record) {
  fields_.clear();
  append_fields(fields_, record);
  add(kind_of(record), record.at_ms, record.span, fields_);
}

void PageWriter::add(std::uint32_t kind, std::int64_t at_ms, std::uint32_t span,
                     std::string_view fields) {
  std::string& out = page_.bytes;
  at_ms = std::max<std::int64_t>(at_ms, 0);
  if (page_.count == 0) {
    out.push_back(page_version);
    append_varint(out, static_cast<std::uint64_t>(at_ms));
    page_.last_at_ms = at_ms;
  }
  // Clocks are set back; readers rely on times that never fall.
  at_ms = std::max(at_ms, page_.last_at_ms);
  append_varint(out, kind);
  append_varint(out, static_cast<std::uint64_t>(at_ms - page_.last_at_ms));
  append_varint(out, fields.size());
  out.append(fields);
  page_.last_at_ms = at_ms;
  page_.count += span;
}

Page PageWriter::take() {
  return std::exchange(page_, {});
}

PageReader::PageReader(std::string_view page, std::uint64_t last, std::uint64_t count)
    : bytes_(page), seq_(last - count), last_(last) {
  const std::string_view version = bytes_.bytes(1);
  const std::uint64_t base = bytes_.varint();
  is_valid_ = bytes_.ok() && version.front() == page_version && count > 0 && count <= last &&
              std::in_range<std::int64_t>(base);
  at_ms_ = is_valid_ ? static_cast<std::int64_t>(base) : 0;
}

Error PageReader::damaged(std::string_view what) {
  is_valid_ = false;
  return make_error(Errc::store_damaged, "A page of the journal that ends at record " +
                                             std::to_string(last_) + " " + std::string(what) + ".");
}

Result<const Record*> PageReader::next() {
  if (has_ended_) return nullptr;
  if (!is_valid_) return damaged("is malformed");
  if (bytes_.at_end()) {
    if (seq_ != last_) return damaged("has too few records");
    has_ended_ = true;
    return nullptr;
  }
  const std::uint64_t kind = bytes_.varint();
  const std::uint64_t passed = bytes_.varint();
  const std::string_view fields = bytes_.bytes(bytes_.varint());
  constexpr auto latest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!bytes_.ok() || !std::in_range<std::uint32_t>(kind) ||
      passed > latest - static_cast<std::uint64_t>(at_ms_)) {
    return damaged("is cut or malformed");
  }
  if (auto read = read_fields(record_, static_cast<std::uint32_t>(kind), fields, arena_); !read) {
    is_valid_ = false;
    return std::move(read).error();
  }
  if (record_.span > last_ - seq_) return damaged("has too many records");
  at_ms_ += static_cast<std::int64_t>(passed);
  seq_ += record_.span;
  record_.at_ms = at_ms_;
  record_.seq = seq_;
  return &record_;
}

std::uint32_t checksum_of(std::string_view page, std::string_view run, std::uint64_t last,
                          std::uint64_t count) {
  std::string place(run);
  append_varint(place, last);
  append_varint(place, count);
  return crc32c(page, crc32c(place));
}

}  // namespace millrace::journal
