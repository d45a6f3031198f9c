#include "host/model_stream.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json.hpp"
#include "host/ag_ui_run.hpp"
#include "host/option_numbers.hpp"
#include "model/call/chain.hpp"
#include "model/provider/dialects.hpp"
#include "run/input.hpp"

namespace millrace::host {
namespace {

Result<model::ModelProtocol> read_protocol(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, model::ModelProtocol>, 3> rows{{
      {"events", model::ModelProtocol::events},
      {"ag_ui", model::ModelProtocol::ag_ui},
      {"lobe", model::ModelProtocol::lobe},
  }};
  const auto* row =
      std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.first == name; });
  if (row != rows.end()) return row->second;
  return make_error(Errc::invalid_option, "There is no protocol '" + std::string(name) +
                                              "'. Use 'events', 'ag_ui' or 'lobe'.");
}

}  // namespace

Result<ModelCallSpec> read_model_call(std::string_view chain_json, std::string_view payload_json,
                                      std::string_view options_json, IdSource& ids) {
  ModelCallSpec spec;
  auto chain = model::read_chain(chain_json);
  if (!chain) return std::move(chain).error();
  spec.call.chain = std::move(chain).value();
  auto payload = model::read_payload(payload_json, ids);
  if (!payload) return std::move(payload).error();
  spec.payload = std::move(payload).value();
  json::Document document;
  auto parsed = document.parse(options_json);
  if (!parsed) return std::move(parsed).error();
  const json::Value& options = parsed.value();
  auto protocol = read_protocol(options["protocol"].string());
  if (!protocol) return std::move(protocol).error();
  spec.output.protocol = protocol.value();
  spec.payload.lobe_temperature = spec.output.protocol == model::ModelProtocol::lobe;
  if (options["fromClient"].is_true()) {
    spec.withheld = message::drop_untrusted_state(spec.payload.messages.edit());
  }
  spec.output.with_events = options["withEvents"].is_true();
  spec.output.run = read_run_options(options);
  spec.output.provider = spec.call.chain.front().config.id;
  spec.output.streamed = spec.payload.stream;
  const json::Value hooks = options["hooks"];
  spec.call.hooks = {hooks["payload"].is_true(), hooks["error"].is_true(),
                     hooks["events"].is_true(), hooks["retry"].is_true()};
  spec.call.retry.after_first_token = options["retryAfterFirstToken"].is_true();
  if (const json::Value prices = options["pricing"]; prices.is_object()) {
    spec.call.prices = std::make_shared<const model::CostOptions>(model::read_cost_options(prices));
  }
  read_time(options["firstWaitMs"], spec.call.retry.first_wait);
  read_time(options["keepAliveMs"], spec.keep_alive);
  read_time(options["throttleMs"], spec.throttle);
  read_time(options["longestPauseMs"], spec.longest_pause);
  const json::Value limits = options["limits"];
  read_limit(limits["lineBytes"], spec.call.decoder.limits.line_bytes);
  read_limit(limits["eventBytes"], spec.call.decoder.limits.event_bytes);
  read_limit(limits["toolArgumentsBytes"], spec.call.decoder.tool_arguments_limit_bytes);
  read_limit(limits["parts"], spec.call.decoder.parts_limit);
  spec.call.decoder.calls_side_by_side = spec.output.protocol == model::ModelProtocol::lobe;
  spec.call.decoder.vendor_ids = spec.output.protocol == model::ModelProtocol::lobe;
  spec.call.decoder.reads_reasoning = !options["thinkTags"].is(json::Type::boolean_false);
  return spec;
}

ModelStream::ModelStream(StreamId id, HostServices& services, ModelCallSpec spec)
    : model::CallDriver({services.loop, services.client, services.call, &services.pool}),
      id_(id),
      services_(services),
      keep_alive_(spec.keep_alive),
      longest_pause_(spec.longest_pause),
      withheld_(std::move(spec.withheld)),
      output_(spec.output, model::secrets_of(spec.call)),
      silence_(services.loop, [this] { on_silence(); }),
      throttle_(services.loop, spec.throttle, [this] {
        const auto self = shared_from_this();
        progressed();
      }) {
  prepare(std::move(spec.call), std::move(spec.payload), *this);
}

ModelStream::~ModelStream() = default;

void ModelStream::start() {
  output_.start(call());
  if (withheld_.count > 0) {
    output_.on_event(
        {event::Warning{row_of(Errc::invalid_messages).code, run::withheld_sentence(withheld_)}});
  }
  begin();
}

void ModelStream::resume() {
  full_ = false;
  if (pause_) pause_->cancel();
  model::CallDriver::resume();
}

void ModelStream::cancel() {
  closed_ = true;
  silence_.cancel();
  if (pause_) pause_->cancel();
  halt();
}

void ModelStream::taken() {
  taken_ = true;
  services_.queue.push_head(id_, "{}");
  watch_silence();
}

void ModelStream::hook_called(std::uint64_t id, model::Hook hook, std::string_view json) {
  throttle_.flush();
  output_.call_hook(id, hook, json);
}

void ModelStream::on_event(const event::Event& event) {
  throttle_.note(event);
  output_.on_event(event);
}

// Hands over what there is.
void ModelStream::progressed() {
  if (closed_) return;
  const bool ended = call().ended();
  if (ended) output_.finish(call());
  if (!ended && throttle_.holds()) return;
  std::string& output = output_.output();
  if (!output.empty()) {
    if (!has_begun_ && has_token()) {
      has_begun_ = true;
      services_.queue.flush(id_);
    }
    const bool room = services_.queue.push(id_, output);
    services_.on_output(output.size());
    throttle_.handed_over();
    constexpr std::size_t retained_bytes = std::size_t{64} << 10U;
    output.clear();
    if (output.capacity() > retained_bytes) output.shrink_to_fit();
    watch_silence();
    if (!room && !ended) {
      full_ = true;
      pause();
      watch_pause();
    }
  }
  if (ended) close();
}

// A provider that is held back keeps its connection as long as it likes.
void ModelStream::watch_pause() {
  if (!pause_) {
    pause_ = std::make_unique<os::Timer>(services_.loop, [this] {
      const auto self = shared_from_this();
      if (full_ && !closed_) halt();
    });
  }
  pause_->start_at(os::Timer::Clock::now() + longest_pause_);
}

void ModelStream::close() {
  if (std::exchange(closed_, true)) return;
  silence_.cancel();
  if (pause_) pause_->cancel();
  // Bytes whose head no reader has seen are of no use: the error is the answer.
  const bool rejected = call().error() && !taken_ && output_.shape() == OutputShape::bytes;
  services_.queue.end(id_, rejected ? call().failure_json() : std::string());
  services_.forget(id_);
}

void ModelStream::watch_silence() {
  if (!taken_ || keep_alive_.count() == 0 || closed_) return;
  silence_.start_at(os::Timer::Clock::now() + keep_alive_);
}

void ModelStream::on_silence() {
  const auto self = shared_from_this();
  if (!full_) {
    throttle_.flush();
    output_.keep_alive();
    progressed();
  }
  watch_silence();
}

}  // namespace millrace::host
