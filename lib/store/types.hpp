// What the store keeps, as its callers see it: rows by their ids, never by a place in a file.
//
// Times are milliseconds of the wall clock. Texts and bytes are owned: a row outlives its query.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <limits>
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
  // A new id. Those of one process are in the order in which they were made, so that lists and
  // queues keep the order of runs that begin in the same millisecond.
  // Thread: any.
  // Source: RFC 9562, UUID version 7 with a counter in `rand_a`.
  static RunId next();
  // Nothing for a text that is not the name of a run.
  static std::optional<RunId> parse(std::string_view text);

  [[nodiscard]] std::string_view bytes() const { return {bytes_.data(), bytes_.size()}; }
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool empty() const { return *this == RunId(); }
  bool operator==(const RunId&) const = default;
  // As databases compare bytes, without a sign: a page of a list goes on where the last one ended.
  auto operator<=>(const RunId& other) const { return bytes() <=> other.bytes(); }

 private:
  std::array<char, size> bytes_{};
};

// Which runs begin first where not all can be at work at once.
enum class Lane : std::uint8_t {
  high,
  normal,
  low,
  inner,  // it works for another run: no limit holds it back, and none counts it
};

// The time of a run that has no turn before StorageBackend::begin_held.
constexpr std::int64_t until_begun = std::int64_t{1} << 52U;

// The state of a thread that a new run was prepared from.
struct SeenThread {
  bool is_there = false;
  std::optional<std::int64_t> changes = {};  // as ThreadRow has it; nothing: any
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
  std::optional<std::int64_t> deadline;  // until when it waits for its client
  Lane lane = Lane::normal;
  bool may_wait = true;  // where its thread is busy and it has no owner; not stored
  // It begins only in a thread that is as it was seen; not stored.
  std::optional<SeenThread> seen = {};
};

// What a store has of the records of a run.
enum class StoredRecords : std::uint8_t {
  whole,
  compact,  // the same records in less room, a while after the end of the run
  removed,  // none: retention is over
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
  StoredRecords records = StoredRecords::whole;  // of a root
};

// What becomes of a run; absent members stay. Any state but `running` ends its ownership.
struct RunChange {
  RunId run;
  std::optional<journal::RunState> state = {};
  std::optional<std::int64_t> step = {};
  std::optional<std::int64_t> attempts = {};
  std::optional<std::int64_t> run_at = {};
  // Of one that begins to wait: when it goes on without what its client has not sent. Without, it
  // waits for its approvals.
  std::optional<std::int64_t> deadline = {};
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
  std::optional<std::int64_t> checksum = {};  // checksum_of_checkpoint; earlier releases wrote none
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
  // A message of a run was removed from it. A store keeps that itself; what it is given does not
  // count.
  bool is_cut = false;
  // Another number after each change of its messages, which no thread of these ids had before in
  // this process. A store keeps that itself, too.
  std::int64_t changes = 0;
};

// How many turns a thread has: each message of the user, and what one run answered in a row.
struct TurnCount {
  std::size_t turns = 0;
  // Runs of which the thread has messages of the user and no answer.
  std::vector<std::string> unanswered = {};
};

struct MessageRow {
  std::string id;
  std::int64_t place = 0;
  std::string json;
  // The run whose commit wrote it; a store keeps that itself. Nothing for what others wrote or
  // changed.
  std::optional<RunId> run = {};
  bool operator==(const MessageRow&) const = default;
};

// What a run gives its thread. The store makes the places.
enum class MessageRule : std::uint8_t {
  add,      // unless the thread has one with this id
  history,  // the same, but only in a thread that had no messages before
  put,      // takes the place of the one with this id, or the last one
  change,   // only where the thread has one with this id, which is no run's then
};
struct ThreadEntry {
  std::string id;
  std::string json;
  MessageRule rule = MessageRule::add;
};
struct ThreadUpdate {
  std::string title;  // of a thread that has none
  std::vector<ThreadEntry> messages;
  // What the thread has behind the message with this id is removed first; "" removes nothing.
  std::string cut_behind = {};
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
  std::int64_t size = 0;  // of its blob; what a store is given does not count
};

// The time of a message that waits for the end of its run, which makes it due in the same commit.
constexpr std::int64_t after_run = std::numeric_limits<std::int64_t>::max();

struct OutboxRow {
  std::string id;
  RunId run;
  std::string url;  // "": it is not sent itself, but makes messages of what its run does
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
  bool has_text = false;   // the page begins a text or a reasoning, or goes on with one
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
  std::optional<ThreadUpdate> thread;  // of the run; rows that are equal are not written again
  std::vector<OutboxRow> outbox;
};

enum class AppendStatus : std::uint8_t {
  committed,
  existing,  // the same request was accepted before, as `run`
  conflict,  // another request has the key
  busy,      // `run` is at work in the thread
  changed,   // the thread is not as the run's maker saw it
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

using journal::StoredPage;

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
  std::optional<std::string> principal;   // absent: of all
  std::vector<journal::RunState> states;  // none: all
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
  std::optional<std::string> id = {};
};

struct Decision {
  std::string approval;
  std::string principal;   // must be the approval's
  std::string args_hash;   // what was shown; "" is not compared
  std::string tools_hash;  // what the tools are now; "" is not compared
  std::string decision;
  std::string edits;
  std::string by;
  std::optional<RunId> run = {};  // must be the approval's
};
enum class DecisionStatus : std::uint8_t { decided, answered, expired, mismatch, not_found };
struct DecisionOutcome {
  DecisionStatus status = DecisionStatus::decided;
  RunId run;
  std::uint64_t seq = 0;  // of the fact
  std::int64_t at_ms = 0;
};

// What was used of the limits of a key of an API. `key` stands for the key, and is not the key.
struct KeyUseRow {
  std::string key;
  std::int64_t day = 0;         // of UTC, since 1970
  std::int64_t requests = 0;    // of that day
  std::int64_t free_at_us = 0;  // microseconds since 1970: when nothing of its minute is used
};
// What is used more.
struct KeySpending {
  std::string key;
  std::int64_t day = 0;
  std::int64_t requests = 0;
  std::int64_t minute_us = 0;
};

// How long what is kept; a time without a value never ends.
struct SweepPolicy {
  // Behind the end of a run: until its records take less room, and until they are removed.
  std::optional<std::int64_t> compact_ms = std::int64_t{3600} * 1000;
  std::optional<std::int64_t> events_ms = std::int64_t{30} * 24 * 3600 * 1000;
  // Of blobs that nothing refers to.
  std::optional<std::int64_t> blobs_ms = std::int64_t{24} * 3600 * 1000;
  // One sweep ends behind so many runs or bytes of their records; the next one goes on.
  std::size_t most_runs = 20;
  std::size_t most_bytes = std::size_t{4} << 20U;
  // No run is at work: a file may give pages back that it does not need.
  bool is_idle = false;
};
struct SweepReport {
  std::vector<RunHead> expired;  // runs whose approvals expired, or whose clients are late
  std::size_t compacted = 0;     // runs
  std::size_t journals = 0;      // runs whose records were removed
  std::size_t blobs = 0;
  bool has_more = false;  // there is more to do at once
};

// Something that `check` found; `run` is empty where it is of the whole store.
struct Problem {
  RunId run;
  std::string what;
  Errc code = Errc::store_damaged;
};

}  // namespace millrace::store
