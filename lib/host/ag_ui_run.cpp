#include "host/ag_ui_run.hpp"

#include <utility>

#include "adapter/wires.hpp"
#include "base/json_depth.hpp"
#include "base/shown.hpp"
#include "encoder/ag_ui_proto.hpp"

namespace millrace::host {
namespace {

event::TrackerOptions tracker_options() {
  event::TrackerOptions options;
  options.mode = event::Mode::strict;
  options.distinct_ids = !adapter::find_wire("ag_ui")->keeps_ids;
  return options;
}

}  // namespace

AgUiRun::AgUiRun(encoder::AgUiOptions options)
    : is_binary_(options.is_binary),
      encoder_(std::move(options)),
      parts_(tracker_options(), ids_, encoder_),
      adapter_(adapter::find_wire("ag_ui")->make({parts_, ids_, event::Mode::strict, true})),
      document_(json::data_depth_limit) {
  encoder_.start();
}

Result<void> AgUiRun::push(std::string_view events_json) {
  auto parsed = document_.parse(events_json);
  if (!parsed) return std::move(parsed).error();
  if (!parsed.value().is_array()) {
    return make_error(Errc::invalid_argument,
                      "The events must be a JSON array, not " + shown_value(parsed.value()) + ".");
  }
  for (const json::Value event : parsed.value().items()) {
    if (parts_.failed()) break;
    // The adapter itself warns of what it cannot use.
    (adapter_->on_record("", event) ? has_event_ : has_other_) = true;
  }
  return {};
}

std::string_view AgUiRun::content_type() const {
  return is_binary_ ? encoder::ag_ui_proto_type : std::string_view("text/event-stream");
}

void AgUiRun::finish() {
  if (has_other_ && !has_event_ && !parts_.failed()) {
    return fail(
        row_of(Errc::not_a_stream).code,
        "None of the values of the source is an AG-UI event. Convert a stream of another kind by "
        "its adapter: give its Response and the option `adapter`.");
  }
  if (!parts_.failed()) {
    adapter_->on_end();
    parts_.close_all();
  }
  encoder_.finish();
}

void AgUiRun::fail(std::string_view code, std::string_view message) {
  if (!parts_.failed()) adapter_->on_end();
  parts_.fail(code, message);
  encoder_.fail(code, message);
}

encoder::AgUiOptions read_run_options(const json::Value& options) {
  encoder::AgUiOptions result;
  result.thread_id = options["threadId"].string();
  result.run_id = options["runId"].string();
  result.parent_run_id = options["parentRunId"].string();
  result.client_version = options["protocolVersion"].string();
  result.is_binary =
      encoder::wants_ag_ui_proto(options["accept"].string(), options["protocolVersion"].string());
  return result;
}

}  // namespace millrace::host
