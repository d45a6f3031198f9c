// Records as bytes and back.

#include "journal/codec.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "journal/checksum.hpp"
#include "journal/page.hpp"
#include "support/random_records.hpp"
#include "support/source_folder.hpp"

namespace millrace::journal {
namespace {

using test::random_record;
using test::RandomFields;
using test::text_of;

std::string hex_text(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text.push_back(digits[static_cast<unsigned char>(c) >> 4U]);
    text.push_back(digits[static_cast<unsigned char>(c) & 0x0FU]);
  }
  return text;
}

std::string fields_of(const Record& record) {
  std::string fields;
  append_fields(fields, record);
  return fields;
}

TEST(JournalCodec, GivesEveryKindBackAsItWas) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomFields random(seed);
  for (int round = 0; round < 40; ++round) {
    for (std::size_t at = 0; at < test::record_kinds; ++at) {
      const Record record = random_record(at, random);
      const std::string fields = fields_of(record);
      Arena arena;
      Record read;
      ASSERT_TRUE(read_fields(read, kind_of(record), fields, arena).ok()) << "kind " << at;
      ASSERT_EQ(text_of(read), text_of(record));
      ASSERT_EQ(fields_of(read), fields);
    }
  }
}

TEST(JournalCodec, LeavesOutDefaults) {
  Record record;
  for (std::size_t at = 0; at < std::variant_size_v<event::Body>; ++at) {
    SCOPED_TRACE(at);
    Arena arena;
    // Without fields an event has its defaults, and with its defaults no fields.
    ASSERT_TRUE(read_fields(record, static_cast<std::uint32_t>(64 + at), {}, arena).ok());
    EXPECT_EQ(fields_of(record), "");
  }
  record.body = event::Event{event::TextStart{"m", "", ""}, {}, {}};
  Arena arena;
  Record read;
  const std::string fields = fields_of(record);
  ASSERT_TRUE(read_fields(read, kind_of(record), fields, arena).ok());
  EXPECT_EQ(std::get<event::TextStart>(std::get<event::Event>(read.body).body).role, "");
}

TEST(JournalCodec, PassesOverUnknownTagsAndKeepsUnknownKinds) {
  std::string fields;
  FieldWriter writer(fields);
  writer.text(1, "call");
  writer.number(2, 3);
  writer.number(9, 77);
  writer.text(20, "of a newer release");
  writer.number(tags::branch, 4);
  Arena arena;
  Record read;
  ASSERT_TRUE(read_fields(read, Shape<ToolStarted>::kind, fields, arena).ok());
  EXPECT_EQ(std::get<ToolStarted>(std::get<Fact>(read.body)).attempt, 3);
  EXPECT_EQ(read.branch, 4U);

  for (const std::uint32_t kind : {63U, 127U, 5000U}) {
    ASSERT_TRUE(read_fields(read, kind, fields, arena).ok());
    const auto& unknown = std::get<UnknownFact>(std::get<Fact>(read.body));
    EXPECT_EQ(unknown.kind, kind);
    EXPECT_EQ(fields_of(read), fields);
    EXPECT_EQ(kind_of(read), kind);
  }
}

TEST(JournalCodec, RejectsMalformedFields) {
  const std::vector<std::string> cases{
      std::string("\x05", 1),              // a text without its length
      std::string("\x05\x09xy", 4),        // a text that is cut
      std::string("\x06\x01", 2),          // a UUID that is cut
      std::string("\x07\x01", 2),          // a type that does not exist
      std::string("\x08\x02\x04\x02", 4),  // tags that fall
      std::string("\x04\x02", 2),          // a number where a text is
      std::string("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", 11),  // more than 64 bits
  };
  for (const std::string& fields : cases) {
    Arena arena;
    Record read;
    const auto result = read_fields(read, Shape<ToolStarted>::kind, fields, arena);
    ASSERT_FALSE(result.ok()) << hex_text(fields);
    EXPECT_EQ(result.error().code, Errc::store_damaged);
  }
}

TEST(JournalCodec, RejectsAValueThatIsNoneOfItsKind) {
  std::string fields;
  FieldWriter(fields).number(2, 99);  // status of a result
  Arena arena;
  Record read;
  EXPECT_FALSE(read_fields(read, Shape<ToolResult>::kind, fields, arena).ok());
}

// Reads all of a page; gives the number of records, or nothing when it is damaged.
std::optional<std::size_t> read_all(std::string_view bytes, std::uint64_t last,
                                    std::uint64_t count) {
  PageReader reader(bytes, last, count);
  for (std::size_t records = 0;; ++records) {
    const auto record = reader.next();
    if (!record) {
      EXPECT_EQ(record.error().code, Errc::store_damaged);
      EXPECT_FALSE(reader.next().ok());
      return std::nullopt;
    }
    if (record.value() == nullptr) return records;
  }
}

Page page_of_all_kinds(std::uint32_t seed) {
  RandomFields random(seed);
  PageWriter writer;
  for (std::size_t at = 0; at < test::record_kinds; ++at) {
    Record record = random_record(at, random);
    record.at_ms = 1'700'000'000'000 + static_cast<std::int64_t>(at) * 3;
    writer.add(record);
  }
  return writer.take();
}

TEST(JournalPage, NumbersItsRecordsDenselyAndKeepsTheirTimes) {
  PageWriter writer;
  writer.add({.at_ms = 1000, .body = Fact(StepStarted{1})});
  writer.add({.span = 10, .at_ms = 1005, .body = Fact(Gap{})});
  writer.add({.at_ms = 900, .body = Fact(StepStarted{2})});  // the clock was set back
  const Page page = writer.take();
  EXPECT_TRUE(writer.empty());
  EXPECT_EQ(page.count, 12U);
  EXPECT_EQ(page.last_at_ms, 1005);
  PageReader reader(page.bytes, 42, 12);
  std::vector<std::pair<std::uint64_t, std::int64_t>> seen;
  for (auto record = reader.next(); record.value() != nullptr; record = reader.next()) {
    seen.emplace_back(record.value()->seq, record.value()->at_ms);
  }
  EXPECT_EQ(seen, (decltype(seen){{31, 1000}, {41, 1005}, {42, 1005}}));
}

TEST(JournalPage, SurvivesCutsAndFlips) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  const Page page = page_of_all_kinds(seed);
  ASSERT_EQ(read_all(page.bytes, page.count, page.count), test::record_kinds);
  for (std::size_t size = 0; size < page.bytes.size(); size += 1 + size / 200) {
    EXPECT_EQ(read_all(std::string_view(page.bytes).substr(0, size), page.count, page.count),
              std::nullopt)
        << size;
  }
  // A flipped bit may give another page that can be read; the checksum finds it all the same.
  const auto sum = checksum_of(page.bytes, "run", page.count, page.count);
  std::string flipped = page.bytes;
  for (std::size_t at = 0; at < flipped.size(); at += 1 + at / 300) {
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
    read_all(flipped, page.count, page.count);
    EXPECT_NE(checksum_of(flipped, "run", page.count, page.count), sum) << at;
    flipped[at] = page.bytes[at];
  }
}

TEST(JournalPage, IsDamagedWhereItsPlaceDoesNotFit) {
  const Page page = page_of_all_kinds(1);
  EXPECT_EQ(read_all(page.bytes, page.count, page.count - 1), std::nullopt);
  EXPECT_EQ(read_all(page.bytes, page.count + 1, page.count + 1), std::nullopt);
  EXPECT_EQ(read_all(page.bytes, 1, 2), std::nullopt);
  EXPECT_EQ(read_all(page.bytes, 0, 0), std::nullopt);
  const auto sum = checksum_of(page.bytes, "run", 7, 7);
  EXPECT_NE(checksum_of(page.bytes, "nur", 7, 7), sum);
  EXPECT_NE(checksum_of(page.bytes, "run", 8, 7), sum);
}

TEST(JournalPage, HasTheChecksumOfTheStandard) {
  // RFC 3720, B.4.
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c("6789", crc32c("12345")), 0xE3069283U);
}

// The form of a page is for good: what a release wrote, each later one reads.
TEST(JournalPage, ReadsWhatTheFirstReleaseWrote) {
  const auto file = test::source_folder() / "test/golden/journal/page-1.hex";
  std::ifstream in(file);
  std::string golden;
  std::getline(in, golden);
  PageWriter writer;
  std::int64_t at_ms = 1'700'000'000'000;
  const auto add = [&](auto body) { writer.add({.at_ms = at_ms += 7, .body = body}); };
  const auto fact = [&](Fact body) { add(body); };
  const auto seen = [&](event::Body body) {
    add(event::Event{body, R"("timestamp":1)", "550e8400-e29b-41d4-a716-446655440000"});
  };
  fact(Accepted{"support", "3", "00ff", "t1", "local", R"({"a":1})", "[]", "{}", "", 0});
  fact(Claimed{"owner", 2, "restart", 1500});
  fact(ModelRequested{1, 2, 0});
  seen(event::TextStart{"550e8400-e29b-41d4-a716-446655440001"});
  seen(event::TextDelta{"550e8400-e29b-41d4-a716-446655440001", "Hello \xED\xA0\x80"});
  seen(event::ActivitySnapshot{"m", "plan", "{}", false});
  seen(event::Usage{"openai", "gpt", 10, 20, 30, std::nullopt, 0, std::nullopt, "{}", true});
  const std::vector<event::Question> questions{{"q", "Sure?", "{}"}};
  seen(event::Interrupt{"{}", "why", questions});
  fact(ToolIntent{"c1", "p", "pay", "{}", "aa", Effect::keyed, "key", CallKind::tool});
  fact(ToolResult{"c1", CallState::unknown, "gone", "code", "{}"});
  fact(Terminal{RunState::failed, "why", R"({"code":"x"})", "", ""});
  const Page page = writer.take();
  EXPECT_EQ(hex_text(page.bytes), golden) << "write it to " << file;
  EXPECT_EQ(read_all(page.bytes, 11, 11), 11U);
}

}  // namespace
}  // namespace millrace::journal
