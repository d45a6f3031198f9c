#include "encoder/recorded_lobe.hpp"

#include <algorithm>
#include <charconv>
#include <utility>
#include <variant>

#include "base/json.hpp"
#include "encoder/lobe.hpp"

namespace millrace::encoder {
namespace {

// Numbers from here on are milliseconds since 1970; no run has so many records.
constexpr std::uint64_t first_timestamp = 1'000'000'000'000;

template <class Number>
bool read_digits(std::string_view text, Number& number) {
  const char* const last = text.data() + text.size();
  const auto [end, failed] = std::from_chars(text.data(), last, number);
  return failed == std::errc() && end == last;
}

// A frame that is no event of an operation: it has no id, so that no reader goes on behind it.
class Frame {
 public:
  Frame(std::string_view type, std::string_view operation_id, std::int64_t at_ms) {
    json::append_member(data, "type", type);
    json::append_member(data, "operationId", operation_id);
    json::append_member(data, "timestamp", at_ms);
  }
  [[nodiscard]] std::string bytes(std::string_view event) const {
    std::string out;
    if (!event.empty()) out.append("event: ").append(event).push_back('\n');
    return out.append("data: ").append(data).append("}\n\n");
  }

  std::string data = "{";
};

}  // namespace

LobeCursor LobeCursor::or_later(const LobeCursor& other) const {
  LobeCursor later = std::pair(other.seq, other.part) > std::pair(seq, part) ? other : *this;
  later.at_ms = std::max(at_ms, other.at_ms);
  return later;
}

std::optional<LobeCursor> parse_lobe_cursor(std::string_view text) {
  LobeCursor cursor;
  if (text.empty()) return cursor;
  const std::size_t dash = text.find('-');
  if (!read_digits(text.substr(0, dash), cursor.seq)) return std::nullopt;
  if (dash == std::string_view::npos) {
    if (cursor.seq < first_timestamp) return cursor;
    cursor.at_ms = static_cast<std::int64_t>(
        std::min<std::uint64_t>(cursor.seq, std::numeric_limits<std::int64_t>::max()));
    cursor.seq = 0;
    return cursor;
  }
  if (!read_digits(text.substr(dash + 1), cursor.part)) return std::nullopt;
  return cursor;
}

RecordedLobe::RecordedLobe(LobeCursor after, bool with_subagents)
    : after_(after),
      with_subagents_(with_subagents),
      operation_([this](const OperationEvent& event) { write(event, state().id); }) {}

void RecordedLobe::on_record(const journal::Record& record) {
  operation_.on_record(record);
  if (!with_subagents_) return;
  const auto* fact = std::get_if<journal::Fact>(&record.body);
  const auto* child = fact == nullptr ? nullptr : std::get_if<journal::ChildStarted>(fact);
  if (child != nullptr) begin(record, *child);
  const auto found = children_.find(record.branch);
  if (found != children_.end()) found->second->operation.on_record(record);
}

// One that goes on with an answer of the user begins with the same branch again.
void RecordedLobe::begin(const journal::Record& record, const journal::ChildStarted& child) {
  const auto branch = static_cast<std::uint32_t>(child.branch);
  if (children_.contains(branch)) return;
  const auto above = children_.find(record.branch);
  const OperationState& parent =
      above == children_.end() ? state() : above->second->operation.state();
  std::string members = "{";
  json::append_member(members, "parentOperationId", parent.id);
  json::append_member(members, "toolCallId", child.call);
  members.front() = ',';
  const auto emit = [this, branch](const OperationEvent& event) {
    const Child& of = *children_.at(branch);
    write(event, of.operation.state().id, of.about);
  };
  auto made = std::make_unique<Child>(Child{LobeOperation(emit, branch), std::move(members)});
  LobeOperation& operation = made->operation;
  children_.emplace(branch, std::move(made));
  operation.begin_child(record, child, parent);
}

void RecordedLobe::write(const OperationEvent& event, std::string_view operation_id,
                         std::string_view about) {
  if (!after_.is_before(event)) return;
  const std::string id = std::to_string(event.seq) + "-" + std::to_string(event.part);
  out_.append("id: ").append(id).append("\nevent: ").append(event.type).append("\ndata: {");
  json::append_member(out_, "type", event.type);
  json::append_member(out_, "operationId", operation_id);
  out_.append(about);
  json::append_member(out_, "stepIndex", event.step_index);
  json::append_member(out_, "timestamp", event.at_ms);
  json::append_raw_member(out_, "data", event.data);
  json::append_member(out_, "id", id);
  out_.append("}\n\n");
}

void RecordedLobe::fail(std::string_view code, std::string_view message) {
  std::string data = "{";
  json::append_member(data, "error", message);
  json::append_member(data, "errorType", lobe_error_type(code));
  json::append_member(data, "phase", "stream_subscription");
  Frame frame("error", state().id, state().changed_ms);
  json::append_raw_member(frame.data, "data", data + "}");
  out_.append(frame.bytes("error"));
}

void RecordedLobe::take_into(std::string& buffer) {
  buffer.clear();
  out_.swap(buffer);
}

std::string RecordedLobe::connected(std::string_view operation_id, std::string_view after,
                                    std::int64_t now_ms) {
  Frame frame("connected", operation_id, now_ms);
  json::append_member(frame.data, "lastEventId", after.empty() ? "0" : after);
  return frame.bytes("connected");
}

std::string RecordedLobe::heartbeat(std::string_view operation_id, std::int64_t now_ms) {
  return Frame("heartbeat", operation_id, now_ms).bytes({});
}

}  // namespace millrace::encoder
