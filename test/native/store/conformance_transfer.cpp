// Every row of a store in another one, and as lines of JSON.
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "store/conformance.hpp"
#include "store/hash_chain.hpp"
#include "store/row_json.hpp"

namespace millrace::store {
namespace {

using journal::RunState;

// The rows of a store as JSON, in their order.
std::vector<std::string> lines_of(StorageBackend& from) {
  std::vector<std::string> lines;
  const auto dumped = from.dump([&](const AnyRow& row) -> Result<void> {
    lines.push_back(row_json(row).to_json());
    return {};
  });
  EXPECT_TRUE(dumped.ok()) << (dumped.ok() ? "" : dumped.error().message);
  return lines;
}

Result<void> load_lines(StorageBackend& into, const std::vector<std::string>& lines) {
  std::size_t at = 0;
  return into.load([&]() -> Result<std::optional<AnyRow>> {
    if (at == lines.size()) return std::optional<AnyRow>();
    auto parsed = json::Tree::parse(lines[at++]);
    if (!parsed) return std::move(parsed).error();
    auto row = read_row(parsed.value());
    if (!row) return std::move(row).error();
    return std::optional<AnyRow>(std::move(row).value());
  });
}

// A store with a row of every kind, also such that are no UTF-8.
void put_rows(StorageBackend& backend, std::int64_t now) {
  const auto append = [&](const AppendBatch& batch) {
    return backend.append({&batch, 1}).front().status;
  };
  NewRun root = new_run(1, "owner", "t");
  root.version = "1.0";
  root.plan_hash = std::string("\xff\x00plan", 6);
  root.idem_key = "key";
  root.idem_hash = std::string(32, '\xee');
  root.deadline = now + 1000;
  AppendBatch first = accepting(root);
  first.segment = SegmentRow{id_of(1), 0, "alice", "t", "r1", "hash"};
  ASSERT_EQ(append(first), AppendStatus::committed);
  AppendBatch batch = text_batch(1, "surrogate \xED\xA0\x80");
  NewRun child = new_run(2, "owner", "");
  child.root = child.parent = id_of(1);
  child.parent_call = "c1";
  batch.children = {child};
  CallRow call;
  call.run = id_of(1);
  call.call = "c1";
  call.name = "pay";
  call.args = R"({"sum":1})";
  call.state = journal::CallState::started;
  call.effect = journal::Effect::keyed;
  call.result = std::string("\0", 1);
  batch.calls = {call};
  batch.checkpoints = {{id_of(1), 0, 0, true, R"({"state":{}})"}};
  batch.messages = {{"m1", 0, "{}"}, {"m2", 1, "\xED\xA0\x80"}};
  batch.outbox = {{"o", id_of(1), "http://o", "body", 2, now + 5}};
  ApprovalRow approval;
  approval.id = "a";
  approval.run = id_of(1);
  approval.principal = "alice";
  approval.shown = "{}";
  approval.expires = now + 50;
  batch.approvals = {approval};
  batch.changes.push_back({.run = id_of(1), .state = RunState::waiting});
  ASSERT_EQ(append(batch), AppendStatus::committed);
  ASSERT_EQ(append(accepting(new_run(3))), AppendStatus::committed);
  ASSERT_TRUE(backend.put_thread({"bob", "t", "Bob's", 7, 8, "{}"}).ok());
  ASSERT_TRUE(backend.put_artifact({"art", "bob", "t", "html", "A", 1, "<p>"}).ok());
  const auto hash = backend.put_blob(std::string("\0\xff png", 6));
  ASSERT_TRUE(hash.ok());
  ASSERT_TRUE(
      backend.put_attachment({"att", "bob", "t", "a.png", "image/png", hash.value(), 1}).ok());
}

TEST_P(StorageConformance, GivesTheSameRowsFromAnotherStore) {
  put_rows(backend(), now_);
  const auto lines = lines_of(backend());
  std::set<std::string> kinds;
  for (const std::string& line : lines) kinds.insert(line.substr(0, line.find(':')));
  EXPECT_EQ(kinds.size(), std::variant_size_v<AnyRow>);
  const auto other = GetParam()([this] { return now_; });
  const auto loaded = load_lines(*other->backend, lines);
  ASSERT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
  EXPECT_EQ(lines_of(*other->backend), lines);
  EXPECT_EQ(texts_of(*other->backend, 1), texts_of(backend(), 1));
  EXPECT_TRUE(other->backend->check().value().empty());
  // It is a store as any other.
  Decision decision;
  decision.approval = "a";
  decision.principal = "alice";
  EXPECT_EQ(other->backend->decide(decision).value().status, DecisionStatus::decided);
  const std::string name = "support";
  EXPECT_EQ(other->backend->claim({&name, 1}, "next", 10).value().size(), 2U);
}

// All rows of a store, and the hashes of the pages of one run among them.
std::vector<AnyRow> rows_in(StorageBackend& backend) {
  std::vector<AnyRow> rows;
  EXPECT_TRUE(backend
                  .dump([&](const AnyRow& row) -> Result<void> {
                    rows.push_back(row);
                    return {};
                  })
                  .ok());
  return rows;
}
Result<void> load_rows(StorageBackend& backend, const std::vector<AnyRow>& rows) {
  std::size_t next = 0;
  return backend.load([&]() -> Result<std::optional<AnyRow>> {
    return next < rows.size() ? std::optional(rows[next++]) : std::nullopt;
  });
}
std::vector<JournalRow*> pages_in(std::vector<AnyRow>& rows) {
  std::vector<JournalRow*> pages;
  for (AnyRow& row : rows) {
    if (auto* page = std::get_if<JournalRow>(&row)) pages.push_back(page);
  }
  return pages;
}

TEST_P(StorageConformance, ChainsThePagesOfARun) {
  append(accepting(new_run(1)));
  append(text_batch(1, "one"));
  append(text_batch(1, "two"));
  ASSERT_EQ(end(1).status, AppendStatus::committed);
  auto rows = rows_in(backend());
  HashChain chain;
  std::string before;
  for (const JournalRow* row : pages_in(rows)) {
    EXPECT_EQ(row->hash, chain.hash(before, row->run, row->page));
    before = row->hash;
  }
  EXPECT_EQ(before.size(), 32U);
  EXPECT_TRUE(backend().check().value().empty());
  // In less room, the chain is that of the pages before.
  now_ += *SweepPolicy().compact_ms;
  EXPECT_EQ(backend().sweep({}).value().compacted, 1U);
  auto compacted = rows_in(backend());
  EXPECT_EQ(pages_in(compacted).back()->hash, before);
  EXPECT_TRUE(backend().check().value().empty());
  // A page that was changed with its checksum breaks it, one that lost its hash as well.
  for (const bool is_changed : {true, false}) {
    auto damaged = rows;
    JournalRow& row = *pages_in(damaged).at(2);
    if (is_changed) {
      row.page.bytes = page_of_text("owt").bytes;
      row.checksum =
          journal::checksum_of(row.page.bytes, row.run.bytes(), row.page.last, row.page.count);
    } else {
      row.hash.clear();
    }
    const auto other = GetParam()([this] { return now_; });
    ASSERT_TRUE(load_rows(*other->backend, damaged).ok());
    const auto problems = other->backend->check().value();
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_NE(problems[0].what.find("hash"), std::string::npos) << problems[0].what;
  }
  // And a page does not come without its checksum.
  pages_in(rows).at(1)->checksum += 1;
  const auto other = GetParam()([this] { return now_; });
  EXPECT_EQ(load_rows(*other->backend, rows).error().code, Errc::invalid_argument);
}

TEST_P(StorageConformance, TakesAllRowsOrNone) {
  put_rows(backend(), now_);
  const auto lines = lines_of(backend());
  EXPECT_EQ(load_lines(backend(), lines).error().code, Errc::invalid_state);
  const auto other = GetParam()([this] { return now_; });
  // Each line may be the one that is damaged, be there twice, or lack what it refers to.
  for (std::size_t at = 0; at < lines.size(); ++at) {
    auto damaged = lines;
    damaged[at] = R"({"unknown":{}})";
    EXPECT_EQ(load_lines(*other->backend, damaged).error().code, Errc::invalid_argument) << at;
    EXPECT_TRUE(lines_of(*other->backend).empty()) << lines[at];
  }
  const std::vector<std::string> twice{lines[0], lines[0]};
  EXPECT_EQ(load_lines(*other->backend, twice).error().code, Errc::invalid_argument);
  const std::vector<std::string> alone(lines.begin() + 1, lines.end());
  EXPECT_EQ(load_lines(*other->backend, alone).error().code, Errc::invalid_argument);
  EXPECT_TRUE(lines_of(*other->backend).empty());
  ASSERT_TRUE(load_lines(*other->backend, lines).ok());
  EXPECT_EQ(lines_of(*other->backend), lines);
}

TEST_P(StorageConformance, EndsWithItsReader) {
  put_rows(backend(), now_);
  int rows = 0;
  const auto dumped = backend().dump([&](const AnyRow&) -> Result<void> {
    return ++rows < 3 ? Result<void>() : make_error(Errc::store_full);
  });
  ASSERT_FALSE(dumped.ok());
  EXPECT_EQ(dumped.error().code, Errc::store_full);
  EXPECT_EQ(rows, 3);
  EXPECT_EQ(append(text_batch(3, "goes on")).status, AppendStatus::committed);
}

TEST(RowJson, NamesTheMemberThatIsWrong) {
  const auto message_of = [](std::string_view line) {
    auto row = read_row(json::Tree::parse(line).value());
    return row ? std::string() : row.error().message;
  };
  EXPECT_EQ(message_of(R"({"blob":{"created":1,"base64":"AA=="}})"), "");
  EXPECT_NE(message_of(R"({"blob":{"created":1,"base64":"A"}})").find("'base64'"),
            std::string::npos);
  EXPECT_NE(message_of(R"({"blob":{"base64":"AA=="}})").find("'created'"), std::string::npos);
  EXPECT_NE(message_of(R"({"blob":{"created":1,"base64":"AA==","new":1}})").find("not know"),
            std::string::npos);
  EXPECT_NE(message_of(R"({"run":{"id":"run_1"}})").find("'id'"), std::string::npos);
  EXPECT_NE(message_of(R"({"blob":[]})").find("'blob'"), std::string::npos);
  EXPECT_NE(message_of(R"({"page":{},"blob":{}})").find("no row"), std::string::npos);
  EXPECT_NE(message_of("[]").find("no row"), std::string::npos);
}

}  // namespace
}  // namespace millrace::store
