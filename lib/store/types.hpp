// What the store keeps, as its callers see it: rows by their ids, never by a place in a file.
//
// Times are milliseconds of the wall clock. Texts and bytes are owned: a row outlives its query.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "journal/facts.hpp"
#include "journal/page.hpp"

namespace millrace::store {

// The name of a run: "run_" and 32 hexadecimal digits, a prefix that no client's id may have.
class RunId {
 public:
  static constexpr std::size_t size = 16;

  RunId() = default;
  // 16 bytes as the store keeps them; anything else is the empty id.
  static RunId of_bytes(std::string_view bytes);
  // Of a random UUID in its text form.
  static RunId of_uuid(std::string_view uuid);
  // Nothing for a text that is not the name of a run.
  static std::optional<RunId> parse(std::string_view text);

  [[nodiscard]] std::string_view bytes() const { return {bytes_.data(), bytes_.size()}; }
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool empty() const { return *this == RunId(); }
  auto operator<=>(const RunId&) const = default;

 private:
  std::array<char, size> bytes_{};
};

// A run that is to exist.
struct NewRun {
  RunId id;
  std::string kind;  // "agent", "job", ...
  std::string name;
  std::string version;
  std::string plan_hash;
  std::string principal;
  std::string thread;         // "": none
  std::optional<RunId> root;  // of a child
  std::optional<RunId> parent;
  std::string parent_call;
  std::string idem_key;  // "": none
  std::string idem_hash;
  std::string owner;  // not "": it runs from its first commit on, at epoch 1
  std::int64_t run_at = 0;
  std::optional<std::int64_t> deadline;
};

struct RunRow {
  NewRun run;
  journal::RunState state = journal::RunState::queued;
  std::int64_t epoch = 0;
  std::uint64_t last = 0;      // number of its last record; of the root's line for a child
  std::uint64_t reserved = 0;  // numbers up to it may have been shown
  std::int64_t step = 0;
  std::int64_t attempts = 0;
  std::int64_t recoveries = 0;
  bool stop = false;
  std::int64_t created = 0;
  std::optional<std::int64_t> ended;
  std::string head;
};

// What becomes of a run; absent members stay. Any state but `running` ends its ownership.
struct RunChange {
  RunId run;
  std::optional<journal::RunState> state = {};
  std::optional<std::int64_t> step = {};
  std::optional<std::int64_t> attempts = {};
  std::optional<std::int64_t> run_at = {};
  std::optional<bool> stop = {};
  std::optional<std::string> head = {};
};

struct CallRow {
  RunId run;
  std::string call;
  journal::CallKind kind = journal::CallKind::tool;
  std::string name;
  journal::Effect effect = journal::Effect::once;
  std::string args;
  std::string args_hash;
  journal::CallState state = journal::CallState::intent;
  std::int64_t tries = 0;
  std::int64_t epoch = 0;
  std::string result;
  bool operator==(const CallRow&) const = default;
};

struct ApprovalRow {
  std::string id;
  RunId run;  // the root, on whose line its facts are
  std::string call;
  journal::ApprovalKind kind = journal::ApprovalKind::approval;
  std::string principal;
  std::string args_hash;
  std::string tools_hash;
  std::string shown;         // what the user sees
  std::int64_t expires = 0;  // 0: never
  std::optional<std::int64_t> decided;
  std::string decision;
  std::string decided_by;
  bool has_expired = false;
};

struct CheckpointRow {
  RunId run;
  std::int64_t number = 0;
  std::uint64_t seq = 0;
  bool is_full = false;
  std::string data;
};

// A reader's run: the part of a run's line from `first` on that one request began.
struct SegmentRow {
  RunId run;
  std::uint64_t first = 0;
  std::string principal;
  std::string thread;
  std::string ag_ui_run;
  std::string body_hash;
};

struct ThreadRow {
  std::string principal;
  std::string id;
  std::string title;
  std::int64_t created = 0;
  std::int64_t updated = 0;
  std::string extra;
};

struct MessageRow {
  std::string id;
  std::int64_t place = 0;
  std::string json;
  bool operator==(const MessageRow&) const = default;
};

struct ArtifactRow {
  std::string id;
  std::string principal;
  std::string thread;
  std::string type;
  std::string title;
  std::int64_t updated = 0;
  std::string content;
};

struct AttachmentRow {
  std::string id;
  std::string principal;
  std::string thread;  // "": of none yet
  std::string name;
  std::string media;
  std::string hash;  // of its blob
  std::int64_t created = 0;
};

struct OutboxRow {
  std::string id;
  RunId run;
  std::string url;
  std::string body;
  std::int64_t tries = 0;
  std::int64_t next_at = 0;
};

// Everything that one run commits at once: all of it or nothing.
struct AppendBatch {
  RunId run;               // the root
  std::int64_t epoch = 0;  // of the claim under which it was made
  journal::Page page;      // may be empty
  bool is_urgent = false;  // an effect waits for the commit
  bool is_resent = false;  // given again after `full` or `failed` (store/writer.hpp)
  std::optional<NewRun> accept;
  std::vector<NewRun> children;
  std::vector<RunChange> changes;
  std::vector<CallRow> calls;              // a state that the ledger does not allow fails the batch
  std::vector<ApprovalRow> approvals;      // one that is there already stays as it is
  std::vector<CheckpointRow> checkpoints;  // their seq is the batch's last
  std::optional<SegmentRow> segment;       // its first is the batch's first
  // Of the run's thread; a message with a known id takes its place.
  std::vector<MessageRow> messages;
  std::vector<OutboxRow> outbox;
};

enum class AppendStatus : std::uint8_t {
  committed,
  existing,  // the same request was accepted before, as `run`
  conflict,  // another request has the key
  busy,      // `run` is at work in the thread
  fenced,    // the run has another owner or epoch, is over, or is not there
  full,      // no space; the batch may be given again
  failed,
};

struct AppendOutcome {
  AppendStatus status = AppendStatus::committed;
  RunId run;
  std::uint64_t first = 0;  // numbers of its records; 0 for a batch without any
  std::uint64_t last = 0;
  std::optional<Error> error;  // of full and failed
};

struct StoredPage {
  std::uint64_t last = 0;
  std::uint64_t count = 0;
  std::string bytes;
};

// How an owner ended: one that let go of its runs in good order has not failed with them.
enum class Release : std::uint8_t { clean, lost };

// A run that was taken over, with all its children.
struct Claim {
  RunRow run;
  std::vector<RunRow> children;
  std::string cause;
  std::int64_t downtime_ms = 0;
};

struct RunHead {
  RunId run;
  std::uint64_t last = 0;
  journal::RunState state = journal::RunState::queued;
};

struct RunQuery {
  std::optional<std::string> principal;  // absent: of all
  std::optional<journal::RunState> state;
  std::optional<std::string> thread;
  bool with_children = false;
  std::string before;  // cursor of the page before; "" begins with the newest
  std::size_t limit = 50;
};
struct RunList {
  std::vector<RunRow> runs;
  std::string next;  // "": nothing follows
};

struct ApprovalQuery {
  std::optional<std::string> principal;
  std::optional<RunId> run;
  bool open_only = true;
};

struct Decision {
  std::string approval;
  std::string principal;   // must be the approval's
  std::string args_hash;   // what was shown; "" is not compared
  std::string tools_hash;  // what the tools are now; "" is not compared
  std::string decision;
  std::string edits;
  std::string by;
};
enum class DecisionStatus : std::uint8_t { decided, answered, expired, mismatch, not_found };
struct DecisionOutcome {
  DecisionStatus status = DecisionStatus::decided;
  RunId run;
  std::uint64_t seq = 0;  // of the fact
};

struct SweepPolicy {
  std::int64_t events_ms = std::int64_t{30} * 24 * 3600 * 1000;  // of runs that ended
  std::int64_t blobs_ms = std::int64_t{24} * 3600 * 1000;        // that nothing refers to
};
struct SweepReport {
  std::vector<RunHead> expired;  // runs whose approvals expired
  std::size_t journals = 0;
  std::size_t blobs = 0;
};

// Something that `check` found; `run` is empty where it is of the whole store.
struct Problem {
  RunId run;
  std::string what;
};

}  // namespace millrace::store
