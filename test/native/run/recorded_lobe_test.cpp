// The bytes of LobeHub's stream of recorded runs: from every event on the same ones.
#include <string>
#include <string_view>
#include <vector>

#include "encoder/recorded_lobe.hpp"
#include "eventful_run.hpp"
#include "journal/page.hpp"

namespace millrace::run {
namespace {

using encoder::LobeCursor;
using encoder::RecordedLobe;

std::string lobe_bytes(const std::vector<store::StoredPage>& pages, LobeCursor after) {
  RecordedLobe encoder(after);
  std::string all;
  std::string piece;
  for (const store::StoredPage& page : pages) {
    journal::PageReader records(page.bytes, page.last, page.count);
    while (true) {
      const auto record = records.next();
      EXPECT_TRUE(record.ok());
      if (!record || record.value() == nullptr) break;
      encoder.on_record(*record.value());
      encoder.take_into(piece);
      all += piece;
    }
  }
  EXPECT_TRUE(encoder.ended());
  return all;
}

TEST(RecordedLobe, GivesTheExactRestBehindEveryEventAndRecord) {
  test::Eventful eventful;
  const auto pages = test::pages_of(eventful.rig, eventful.run);
  const std::string whole = lobe_bytes(pages, {});
  for (const char* event : {"agent_runtime_init", "stream_retry", "tool_end", "human_approval"}) {
    EXPECT_NE(whole.find(event), std::string::npos) << event;
  }
  EXPECT_NE(whole.find("All done."), std::string::npos);
  std::vector<std::pair<LobeCursor, std::size_t>> places;  // of events, and where they end
  for (std::size_t at = 0; at < whole.size();) {
    const std::size_t end = whole.find("\n\n", at) + 2;
    const std::size_t line = whole.find('\n', at);
    const auto cursor =
        encoder::parse_lobe_cursor(std::string_view(whole).substr(at + 4, line - at - 4));
    ASSERT_TRUE(cursor.has_value());
    places.emplace_back(*cursor, end);
    EXPECT_EQ(lobe_bytes(pages, *cursor), whole.substr(end));
    at = end;
  }
  EXPECT_GT(places.size(), 20U);
  for (std::uint64_t seq = 0; seq <= pages.back().last; ++seq) {
    std::size_t behind = 0;
    for (const auto& [cursor, end] : places) {
      if (cursor.seq <= seq) behind = end;
    }
    EXPECT_EQ(lobe_bytes(pages, {seq, LobeCursor::all}), whole.substr(behind)) << seq;
  }
  // In less room as well.
  ASSERT_EQ(test::compact_runs(eventful.rig), 1U);
  const auto compacted = test::pages_of(eventful.rig, eventful.run);
  for (std::uint64_t seq = 0; seq <= pages.back().last; ++seq) {
    EXPECT_EQ(lobe_bytes(compacted, {seq, LobeCursor::all}),
              lobe_bytes(pages, {seq, LobeCursor::all}))
        << seq;
  }
}

}  // namespace
}  // namespace millrace::run
