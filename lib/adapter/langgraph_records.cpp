// The records of a graph besides messages: its state, its interrupts, its end.
#include <algorithm>
#include <array>
#include <utility>

#include "adapter/interrupts.hpp"
#include "adapter/langgraph.hpp"
#include "base/error.hpp"

namespace millrace::adapter {
namespace {

constexpr std::string_view interrupt_member = "__interrupt__";

// The statuses of a graph whose run is not whole.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> failed_statuses{{
    {"error", "The run of the graph failed."},
    {"timeout", "The run of the graph took too long."},
}};

}  // namespace

// What the graph reports besides messages.
void LangGraph::on_stage(const json::Value& record) {
  if (services_.facts == nullptr) return;
  services_.parts.pass(event::Stage{name_, record.to_json()});
}

void LangGraph::on_metadata(const json::Value& record) {
  if (services_.facts == nullptr) return;
  services_.facts->set("id", record["run_id"].string());
  constexpr std::array<std::string_view, 1> left_out{"run_id"};
  services_.facts->note(record, {}, left_out);
}

void LangGraph::on_updates(const json::Value& record) {
  on_stage(record);
  give_interrupt(record, !strict());
}

// The state of a graph that is interrupted has what the update before it had.
void LangGraph::on_values(const json::Value& record) {
  on_stage(record);
  give_interrupt(record, false);
}

// A subgraph's interrupt is reported by the graph, too.
void LangGraph::give_interrupt(const json::Value& record, bool repeats) {
  const json::Value value = record[interrupt_member];
  if (!value.exists() || (nested_ && !strict())) return;
  std::string text = value.to_json(strict() ? json::Surrogates::replace : json::Surrogates::keep);
  if (!repeats && text == interrupt_) return;
  interrupt_ = std::move(text);
  const InterruptList interrupts(value);
  services_.parts.pass(event::Interrupt{interrupt_, "langgraph:interrupt", interrupts.list()});
}

void LangGraph::on_error(const json::Value& record) {
  if (record.is_nothing() && !strict()) return;
  flush_usage();
  const json::Value error = record["error"];
  if (error.is_object()) {
    const ErrorRecord result = read_error(error, "Unknown error");
    services_.parts.fail(result.code, result.message);
    return;
  }
  std::string_view message = record.is_string() ? record.string() : record["message"].string();
  if (message.empty()) message = error.filled_string().value_or("Unknown error");
  services_.parts.fail(error.string(), message);
}

void LangGraph::on_finish(const json::Value& record) {
  leave_segment();
  flush_usage();
  const std::string_view status = record["status"].string();
  const auto* failed = std::find_if(failed_statuses.begin(), failed_statuses.end(),
                                    [&](const auto& row) { return row.first == status; });
  if (failed == failed_statuses.end()) return;
  services_.parts.fail(status, read_error(record["error"], failed->second).message);
}

void LangGraph::on_end() {
  leave_segment();
  flush_usage();
  if (!strict() || !seen_ || flow_ != Flow::unknown || !interrupt_.empty()) return;
  services_.parts.pass(event::Warning{
      row_of(Errc::stream_empty).code,
      "The graph's stream has no messages. Its stream modes must include `messages`."});
}

}  // namespace millrace::adapter
