#include "model/call/model_output.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/json.hpp"
#include "encoder/answer_parts.hpp"
#include "encoder/lobe.hpp"
#include "event/answer_name.hpp"
#include "event/codec.hpp"
#include "event/usage_list.hpp"
#include "model/call/call_usage.hpp"
#include "model/call/scope.hpp"
#include "model/usage/cards.hpp"
#include "model/usage/usage.hpp"

namespace millrace::model {
namespace {

class AgUiBytes final : public ModelEncoder {
 public:
  explicit AgUiBytes(encoder::AgUiOptions options) : encoder_(std::move(options)) {}

  void start(const model::ModelCall& /*call*/) override { encoder_.start(); }
  void on_event(const event::Event& event) override { encoder_.on_event(event); }
  void finish(const model::ModelCall& /*call*/) override { encoder_.finish(); }
  void take_into(std::string& out) override { out.append(encoder_.take()); }

 private:
  encoder::AgUiEncoder encoder_;
};

class LobeBytes final : public ModelEncoder {
 public:
  explicit LobeBytes(const ModelOutputOptions& options)
      : encoder_({options.provider,
                  {},
                  options.streamed,
                  [this](std::string& out, const event::Usage& usage) { write_usage(out, usage); },
                  model::scoped_signature,
                  [this](std::string_view usual) { return call_->error_type_or(usual); }}),
        own_id_(options.run.run_id),
        started_(std::chrono::steady_clock::now()) {}

  void start(const model::ModelCall& call) override { call_ = &call; }
  void on_event(const event::Event& event) override {
    // The word for the end of the answer has said it.
    const auto* failed = std::get_if<event::Failed>(&event.body);
    if (failed != nullptr && failed->code == row_of(Errc::output_limit_reached).code) return;
    // Clients keep the last usage of a stream: it is that of all attempts.
    if (std::holds_alternative<event::Usage>(event.body) && ++usages_ < counted()) return;
    report_time();
    report_answerer();
    encoder_.on_event(event);
  }
  void finish(const model::ModelCall& /*call*/) override {
    report_time();
    encoder_.finish();
  }
  void take_into(std::string& out) override { out.append(encoder_.take()); }

 private:
  [[nodiscard]] std::size_t counted() const {
    if (call_ == nullptr) return 0;
    const auto& attempts = call_->attempts();
    return static_cast<std::size_t>(
        std::count_if(attempts.begin(), attempts.end(),
                      [](const model::Attempt& attempt) { return attempt.counts; }));
  }
  void write_usage(std::string& out, const event::Usage& usage) const {
    if (counted() > 1) return model::write_json(out, model::sum_of(call_->attempts()));
    const bool is_of_call = call_ != nullptr && !call_->attempts().empty();
    const model::Attempt* attempt = is_of_call ? &call_->attempts().back() : nullptr;
    model::ModelUsage read = is_of_call ? model::read_vendor_usage(attempt->usage_rules, usage)
                                        : model::read_vendor_usage(usage);
    const auto prices = is_of_call ? attempt->prices : nullptr;
    read.cost = model::known_cost(usage.provider, usage.model, read,
                                  prices ? *prices : model::CostOptions{});
    model::write_json(out, read);
  }
  void report_time() {
    encoder_.at(std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - started_));
  }

  // Each attempt may be answered in a way of its own.
  void report_answerer() {
    if (call_ == nullptr || call_->attempts().size() == attempts_) return;
    attempts_ = call_->attempts().size();
    encoder_.answered_by(call_->wire(), call_->attempts().back().model);
    // Not every vendor names its answers.
    encoder_.answered_as(own_id_);
  }

  encoder::LobeEncoder encoder_;
  std::string own_id_;
  std::chrono::steady_clock::time_point started_;
  const model::ModelCall* call_ = nullptr;
  std::size_t attempts_ = 0;
  std::size_t usages_ = 0;
};

std::unique_ptr<ModelEncoder> make_encoder(const ModelOutputOptions& options) {
  switch (options.protocol) {
    case ModelProtocol::ag_ui: return std::make_unique<AgUiBytes>(options.run);
    case ModelProtocol::lobe: return std::make_unique<LobeBytes>(options);
    case ModelProtocol::events: break;
  }
  return nullptr;
}

}  // namespace

event::Spelling diagnostic_spelling() {
  event::Spelling spelling;
  spelling.extras = event::Extras::diagnostic;
  spelling.surrogates = json::Surrogates::keep;
  spelling.tool_error_members = true;
  return spelling;
}

// Gives events to their readers.
class ModelOutput::Fork final : public event::EventSink {
 public:
  explicit Fork(const ModelOutputOptions& options)
      : run_(options.run),
        items_(options.protocol == ModelProtocol::events || options.with_events),
        encoder_(make_encoder(options)),
        batch_(output_, diagnostic_spelling()) {}

  void start(const model::ModelCall& call) {
    if (encoder_) encoder_->start(call);
    call_ = &call;
    if (items_) add(frame("RUN_STARTED"));
  }

  void on_event(const event::Event& event) override {
    if (encoder_) encoder_->on_event(event);
    if (!items_) return;
    if (const auto* usage = std::get_if<event::Usage>(&event.body)) usage_.add(*usage);
    if (const auto* finish = std::get_if<event::Finish>(&event.body)) usage_.end(*finish);
    if (take_name(event)) return;
    report_parts(event);
    // The report comes before the event that ends the run.
    if (std::holds_alternative<event::Failed>(event.body)) {
      failed_members_ = event.extra;
      return;
    }
    batch_.on_event(event);
  }

  void add(std::string_view json) { batch_.add_json(json); }

  void finish(const model::ModelCall& call) {
    if (encoder_) encoder_->finish(call);
    if (!items_) return;
    std::string report = call.report_json();
    add(R"({"type":"@report",)" + report.substr(1));
    if (!call.error()) {
      add(frame("RUN_FINISHED"));
      return;
    }
    add(R"({"type":"@failed","error":)" + call.failure_json() + "}");
    std::string failed = R"("type":"RUN_ERROR")";
    json::append_member(failed, "message", call.error()->message);
    json::append_member(failed, "code", call.error()->code_name());
    if (!failed_members_.empty()) failed.append(",").append(failed_members_);
    add(usage_.object_with(failed));
  }

  void keep_alive() {
    if (encoder_ && !items_) output_.append(encoder::AgUiEncoder::keep_alive);
  }

  std::string& output() {
    if (!encoder_) return output_;
    if (!items_) {
      encoder_->take_into(output_);
      return output_;
    }
    std::string bytes;
    encoder_->take_into(bytes);
    if (bytes.empty()) return output_;
    std::string item = R"({"type":"@bytes")";
    json::append_member(item, "text", bytes);
    item.push_back('}');
    add(item);
    return output_;
  }

  [[nodiscard]] OutputShape shape() const {
    return items_ ? OutputShape::items : OutputShape::bytes;
  }

 private:
  std::string frame(std::string_view type) const {
    std::string out = R"("type":")";
    out.append(type).push_back('"');
    json::append_member(out, "threadId", run_.thread_id);
    json::append_member(out, "runId", run_.run_id);
    return usage_.object_with(out);
  }

  // A name of the answer is for LobeHub's stream alone.
  bool take_name(const event::Event& event) {
    const auto* state = std::get_if<event::ProviderState>(&event.body);
    const bool is_name = state != nullptr && state->provider == event::issuer_provider &&
                         state->kind == event::answer_kind;
    if (is_name) {
      see_answerer();
      json::Document document;
      const auto name = document.parse(state->json);
      parts_.mixes(name && name.value()["mixes"].is_true());
    }
    return is_name;
  }

  void see_answerer() {
    if (call_ == nullptr || call_->attempts().size() == attempts_) return;
    attempts_ = call_->attempts().size();
    parts_.answered_by(call_->wire(), call_->attempts().back().model);
  }

  // Callbacks of a chat get the same pieces as parts as the stream.
  void report_parts(const event::Event& event) {
    see_answerer();
    parts_.on_event(event);
    if (parts_.in_parts() == in_parts_) return;
    in_parts_ = parts_.in_parts();
    add(in_parts_ ? R"({"type":"@parts","on":true})" : R"({"type":"@parts","on":false})");
  }

  encoder::AgUiOptions run_;
  bool items_;
  const model::ModelCall* call_ = nullptr;
  encoder::AnswerParts parts_;
  std::size_t attempts_ = 0;
  bool in_parts_ = false;
  std::unique_ptr<ModelEncoder> encoder_;
  std::string output_;
  event::JsonBatch batch_;
  event::UsageList usage_;
  std::string failed_members_;  // of the event that ends a failed run, `"key":value,...`
};

ModelOutput::ModelOutput(const ModelOutputOptions& options, std::vector<std::string> secrets)
    : fork_(std::make_unique<Fork>(options)), redacting_(*fork_, std::move(secrets)) {}

ModelOutput::~ModelOutput() = default;

void ModelOutput::start(const model::ModelCall& call) {
  fork_->start(call);
}

void ModelOutput::call_hook(std::uint64_t id, model::Hook hook, std::string_view json) {
  std::string item = R"({"type":"@hook")";
  json::append_member(item, "id", static_cast<std::int64_t>(id));
  json::append_member(item, "hook", model::name_of(hook));
  json::append_raw_member(item, "value", json);
  item.push_back('}');
  fork_->add(item);
}

void ModelOutput::finish(const model::ModelCall& call) {
  fork_->finish(call);
}

void ModelOutput::keep_alive() {
  fork_->keep_alive();
}

std::string& ModelOutput::output() {
  return fork_->output();
}

OutputShape ModelOutput::shape() const {
  return fork_->shape();
}

}  // namespace millrace::model
