#include "store/row_json.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <type_traits>

#include "base/base64.hpp"
#include "base/shown.hpp"
#include "base/utf8.hpp"
#include "store/admission.hpp"

namespace millrace::store {
namespace {

using json::Tree;

Error wrong_member(std::string_view name) {
  return make_error(Errc::invalid_argument,
                    "The member '" + std::string(name) + "' is missing or not what it must be.");
}

Tree bytes_json(std::string_view bytes) {
  Tree out = Tree::object();
  out.set("base64", base64::encode(bytes));
  return out;
}

constexpr std::array<std::string_view, 3> words_of_records{"whole", "compact", "removed"};

constexpr std::size_t place_of(StoredRecords value) {
  return static_cast<std::size_t>(value);
}

// Sets a member for each field of a row.
class RowWriter {
 public:
  explicit RowWriter(Tree& out) : out_(out) {}

  void text(std::string_view name, const std::string& value) {
    if (value.empty()) return;
    if (utf8::is_valid(value)) {
      out_.set(name, value);
    } else {
      out_.set(name, bytes_json(value));
    }
  }
  void bytes(std::string_view name, const std::string& value) {
    out_.set(name, base64::encode(value));
  }
  void some_bytes(std::string_view name, const std::string& value) {
    if (!value.empty()) bytes(name, value);
  }
  template <class Number>
  void number(std::string_view name, const Number& value) {
    out_.set(name, Tree::integer(static_cast<std::int64_t>(value)));
  }
  void number(std::string_view name, const std::optional<std::int64_t>& value) {
    if (value) number(name, *value);
  }
  void flag(std::string_view name, bool value) {
    if (value) out_.set(name, Tree::flag(true));
  }
  void id(std::string_view name, const RunId& value) { out_.set(name, value.text()); }
  void id(std::string_view name, const std::optional<RunId>& value) {
    if (value) id(name, *value);
  }
  template <class Enum>
  void word(std::string_view name, Enum value, Enum /*last*/) {
    out_.set(name, journal::name_of(value));
  }
  void lane(std::string_view name, Lane value) {
    if (value != Lane::normal) out_.set(name, name_of(value));
  }
  void records(std::string_view name, StoredRecords value) {
    if (value != StoredRecords::whole) out_.set(name, words_of_records.at(place_of(value)));
  }

 private:
  Tree& out_;
};

// Reads the same members.
class RowReader {
 public:
  explicit RowReader(const Tree& in) : in_(in) {}

  void text(std::string_view name, std::string& value) {
    const Tree* found = take(name);
    if (found == nullptr) return;
    if (found->is_string()) {
      value = found->string();
      return;
    }
    const auto decoded = base64::decode((*found)["base64"].string());
    if (!decoded || decoded->empty()) return fail(name);
    value = *decoded;
  }
  void bytes(std::string_view name, std::string& value) {
    const Tree* found = take(name);
    auto decoded = found == nullptr ? std::nullopt : base64::decode(found->string());
    if (!decoded || !found->is_string()) return fail(name);
    value = std::move(*decoded);
  }
  template <class Number>
  void number(std::string_view name, Number& value) {
    const Tree* found = take(name);
    if (found == nullptr || !found->is_number()) return fail(name);
    const std::int64_t read = found->integer_or(0);
    value = static_cast<Number>(read);
    const bool fits = static_cast<std::int64_t>(value) == read && (read >= 0 || value < Number{});
    if (!fits) fail(name);
  }
  void number(std::string_view name, std::optional<std::int64_t>& value) {
    if (in_.find(name) != nullptr) number(name, value.emplace());
  }
  void flag(std::string_view name, bool& value) {
    const Tree* found = take(name);
    value = found != nullptr;
    if (found != nullptr && !found->is_true()) fail(name);
  }
  void id(std::string_view name, RunId& value) {
    const Tree* found = take(name);
    const auto read = RunId::parse(found == nullptr ? std::string_view() : found->string());
    if (!read) return fail(name);
    value = *read;
  }
  void id(std::string_view name, std::optional<RunId>& value) {
    if (in_.find(name) != nullptr) id(name, value.emplace());
  }
  template <class Enum>
  void word(std::string_view name, Enum& value, Enum last) {
    const Tree* found = take(name);
    if (found == nullptr) return fail(name);
    for (int at = 0; at <= static_cast<int>(last); ++at) {
      value = static_cast<Enum>(at);
      if (journal::name_of(value) == found->string()) return;
    }
    fail(name);
  }

  void lane(std::string_view name, Lane& value) {
    if (in_.find(name) == nullptr) return;
    const std::string_view text = take(name)->string();
    for (const Lane lane : lanes) {
      if (name_of(lane) != text) continue;
      value = lane;
      return;
    }
    fail(name);
  }

  void records(std::string_view name, StoredRecords& value) {
    const Tree* found = take(name);
    if (found == nullptr) return;
    const auto* word = std::find(words_of_records.begin(), words_of_records.end(), found->string());
    if (word == words_of_records.end()) return fail(name);
    value = static_cast<StoredRecords>(std::distance(words_of_records.begin(), word));
  }
  // Bytes that may be missing.
  void some_bytes(std::string_view name, std::string& value) {
    if (in_.find(name) != nullptr) bytes(name, value);
  }

  Result<void> finish() {
    if (!wrong_.empty()) return wrong_member(wrong_);
    if (taken_ == in_.members().size()) return {};
    return make_error(Errc::invalid_argument, "It has a member that this release does not know.");
  }

 private:
  const Tree* take(std::string_view name) {
    const Tree* found = in_.find(name);
    if (found != nullptr) ++taken_;
    return found;
  }
  void fail(std::string_view name) {
    if (wrong_.empty()) wrong_ = name;
  }

  const Tree& in_;
  std::size_t taken_ = 0;
  std::string wrong_;
};

// The name of a table in an export, and its members.
template <class Row>
struct Members;

#define MILLRACE_ROW(Type, word)                   \
  template <>                                      \
  struct Members<Type> {                           \
    static constexpr std::string_view name = word; \
    template <class Fields, class Row>             \
    static void each(Fields& fields, Row& row);    \
  };                                               \
  template <class Fields, class Row>               \
  void Members<Type>::each(Fields& fields, Row& row)

MILLRACE_ROW(RunRow, "run") {
  fields.id("id", row.run.id);
  fields.text("kind", row.run.kind);
  fields.text("name", row.run.name);
  fields.text("version", row.run.version);
  fields.text("planHash", row.run.plan_hash);
  fields.text("principal", row.run.principal);
  fields.text("thread", row.run.thread);
  fields.id("root", row.run.root);
  fields.id("parent", row.run.parent);
  fields.text("parentCall", row.run.parent_call);
  fields.word("state", row.state, journal::RunState::dead);
  fields.number("epoch", row.epoch);
  fields.number("last", row.last);
  fields.number("reserved", row.reserved);
  fields.number("step", row.step);
  fields.number("attempts", row.attempts);
  fields.number("recoveries", row.recoveries);
  fields.number("runAt", row.run.run_at);
  fields.number("deadline", row.run.deadline);
  fields.flag("stop", row.stop);
  fields.text("idempotencyKey", row.run.idem_key);
  fields.text("idempotencyHash", row.run.idem_hash);
  fields.number("created", row.created);
  fields.number("ended", row.ended);
  fields.text("head", row.head);
  fields.lane("lane", row.run.lane);
  fields.records("records", row.records);
}
MILLRACE_ROW(SegmentRow, "segment") {
  fields.id("run", row.run);
  fields.number("first", row.first);
  fields.text("principal", row.principal);
  fields.text("thread", row.thread);
  fields.text("agUiRun", row.ag_ui_run);
  fields.text("bodyHash", row.body_hash);
}
MILLRACE_ROW(JournalRow, "page") {
  fields.id("run", row.run);
  fields.number("last", row.page.last);
  fields.number("count", row.page.count);
  fields.number("checksum", row.checksum);
  fields.bytes("base64", row.page.bytes);
  fields.some_bytes("hash", row.hash);
}
MILLRACE_ROW(CheckpointRow, "checkpoint") {
  fields.id("run", row.run);
  fields.number("number", row.number);
  fields.number("seq", row.seq);
  fields.flag("isFull", row.is_full);
  fields.text("data", row.data);
  fields.number("checksum", row.checksum);
}
MILLRACE_ROW(CallRow, "call") {
  fields.id("run", row.run);
  fields.text("call", row.call);
  fields.word("kind", row.kind, journal::CallKind::child);
  fields.text("name", row.name);
  fields.word("effect", row.effect, journal::Effect::read);
  fields.text("args", row.args);
  fields.text("argsHash", row.args_hash);
  fields.word("state", row.state, journal::CallState::unknown);
  fields.number("tries", row.tries);
  fields.number("epoch", row.epoch);
  fields.text("result", row.result);
}
MILLRACE_ROW(ApprovalRow, "approval") {
  fields.text("id", row.id);
  fields.id("run", row.run);
  fields.text("call", row.call);
  fields.word("kind", row.kind, journal::ApprovalKind::select);
  fields.text("principal", row.principal);
  fields.text("argsHash", row.args_hash);
  fields.text("toolsHash", row.tools_hash);
  fields.text("shown", row.shown);
  fields.number("expires", row.expires);
  fields.number("decided", row.decided);
  fields.text("decision", row.decision);
  fields.text("decidedBy", row.decided_by);
  fields.flag("hasExpired", row.has_expired);
}
MILLRACE_ROW(OutboxRow, "delivery") {
  fields.text("id", row.id);
  fields.id("run", row.run);
  fields.text("url", row.url);
  fields.text("body", row.body);
  fields.number("tries", row.tries);
  fields.number("nextAt", row.next_at);
}
MILLRACE_ROW(ThreadRow, "thread") {
  fields.text("principal", row.principal);
  fields.text("id", row.id);
  fields.text("title", row.title);
  fields.number("created", row.created);
  fields.number("updated", row.updated);
  fields.text("extra", row.extra);
  fields.flag("isCut", row.is_cut);
}
MILLRACE_ROW(ThreadMessage, "message") {
  fields.text("principal", row.principal);
  fields.text("thread", row.thread);
  fields.text("id", row.message.id);
  fields.number("place", row.message.place);
  fields.text("json", row.message.json);
  fields.id("run", row.message.run);
}
MILLRACE_ROW(ArtifactRow, "artifact") {
  fields.text("id", row.id);
  fields.text("principal", row.principal);
  fields.text("thread", row.thread);
  fields.text("type", row.type);
  fields.text("title", row.title);
  fields.number("updated", row.updated);
  fields.text("content", row.content);
}
MILLRACE_ROW(BlobRow, "blob") {
  fields.number("created", row.created);
  fields.bytes("base64", row.bytes);
}
MILLRACE_ROW(AttachmentRow, "attachment") {
  fields.text("id", row.id);
  fields.text("principal", row.principal);
  fields.text("thread", row.thread);
  fields.text("name", row.name);
  fields.text("media", row.media);
  fields.text("hash", row.hash);
  fields.number("created", row.created);
}

#undef MILLRACE_ROW

// Reads `line` when its member names this type of row.
template <class Row>
bool read_as(const Tree& line, Result<AnyRow>& read) {
  const Tree* members = line.find(Members<Row>::name);
  if (members == nullptr) return false;
  if (!members->is_object()) {
    read = wrong_member(Members<Row>::name);
    return true;
  }
  Row row;
  RowReader reader(*members);
  Members<Row>::each(reader, row);
  if (auto finished = reader.finish(); !finished) {
    read = std::move(finished).error();
  } else {
    read = AnyRow(std::move(row));
  }
  return true;
}

template <class... Rows>
Result<AnyRow> read_any(const Tree& line, const std::variant<Rows...>* /*types*/) {
  Result<AnyRow> read = make_error(Errc::invalid_argument, "It is no row of a store.");
  static_cast<void>((read_as<Rows>(line, read) || ...));
  return read;
}

}  // namespace

Tree row_json(const AnyRow& row) {
  Tree line = Tree::object();
  std::visit(
      [&](const auto& value) {
        using Row = Members<std::decay_t<decltype(value)>>;
        RowWriter writer(line.set(Row::name, Tree::object()));
        Row::each(writer, value);
      },
      row);
  return line;
}

Result<AnyRow> read_row(const Tree& line) {
  if (line.members().size() != 1) {
    return make_error(Errc::invalid_argument, "It is no row of a store.");
  }
  return read_any(line, static_cast<const AnyRow*>(nullptr));
}

}  // namespace millrace::store
