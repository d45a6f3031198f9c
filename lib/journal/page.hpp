// A page of a journal: the records that one run appended in one commit.
//
// Shape: one byte, the version of the form (1); varint(time of the first record); then for each
// record varint(kind), varint(milliseconds since the record before), varint(length of the fields)
// and the fields (wire.hpp). Sequence numbers follow from the page's last one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "journal/record.hpp"
#include "journal/wire.hpp"

namespace millrace::journal {

// A finished page, before the store gave its records their numbers.
struct Page {
  std::string bytes;
  std::uint64_t count = 0;  // numbers that it takes
  // When its last record happened; pages of a run follow each other in time.
  std::int64_t last_at_ms = 0;
};

// A page with its place in the run.
struct StoredPage {
  std::uint64_t last = 0;   // number of its last record
  std::uint64_t count = 0;  // numbers that it takes
  std::string bytes;
  bool operator==(const StoredPage&) const = default;
};

class PageWriter {
 public:
  // Seq is passed over; a time before the record's predecessor becomes that one's.
  void add(const Record& record);
  // Adds a record whose fields are bytes already.
  void add(std::uint32_t kind, std::int64_t at_ms, std::uint32_t span, std::string_view fields);
  [[nodiscard]] bool empty() const { return page_.count == 0; }
  [[nodiscard]] std::size_t size() const { return page_.bytes.size(); }
  // The page; begins another one.
  Page take();

 private:
  Page page_;
  std::string fields_;
};

// Reads a page from its front.
// Lifetime: records view the page and the reader.
class PageReader {
 public:
  // `last` is the number of the last record, `count` how many numbers the page takes.
  PageReader(std::string_view page, std::uint64_t last, std::uint64_t count);
  // The next record, or nullptr behind the last one.
  // Errors: store_damaged; nothing can be read after it.
  // Lifetime: the record itself until the next call.
  Result<const Record*> next();

 private:
  Error damaged(std::string_view what);

  ByteReader bytes_;
  Arena arena_;
  Record record_;
  std::uint64_t seq_ = 0;
  std::uint64_t last_ = 0;
  std::int64_t at_ms_ = 0;
  bool is_valid_ = false;
  bool has_ended_ = false;
};

// What a page's checksum is over: its bytes and its place, so that a page that comes to another
// place is found as well. `run` is the name of the run.
std::uint32_t checksum_of(std::string_view page, std::string_view run, std::uint64_t last,
                          std::uint64_t count);

}  // namespace millrace::journal
