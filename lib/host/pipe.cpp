#include "host/pipe.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "adapter/named_records.hpp"
#include "adapter/raw_payloads.hpp"
#include "base/json.hpp"
#include "event/batch.hpp"
#include "host/ag_ui_run.hpp"
#include "host/option_numbers.hpp"
#include "model/call/model_output.hpp"
#include "os/random_ids.hpp"

namespace millrace::host {
namespace {

class BytesPipe final : public Pipe {
 public:
  void feed(std::string_view bytes) override { output_.append(bytes); }
  void finish() override {}
  [[nodiscard]] bool done() const override { return false; }
  [[nodiscard]] OutputShape shape() const override { return OutputShape::bytes; }

 private:
  bool end_broken(const Error& /*error*/) override { return false; }
};

// Splitter is RawPayloads or NamedRecords.
template <class Splitter, PipeSpec::Kind kind>
class RecordsPipe final : public Pipe {
 public:
  explicit RecordsPipe(const PipeSpec& spec) : records_(output_, spec.decoder.limits) {}

  void feed(std::string_view bytes) override { report(records_.feed(bytes)); }
  void finish() override { report(records_.finish()); }
  [[nodiscard]] bool done() const override { return done_; }
  [[nodiscard]] OutputShape shape() const override { return shape_of(kind); }

 private:
  bool end_broken(const Error& /*error*/) override { return false; }
  void report(const Result<void>& result) {
    if (result) return;
    done_ = true;
    // An empty record, which the splitter never gives, announces the error.
    output_.push_back(Splitter::terminator);
    output_.append(error_json(result.error())).push_back(Splitter::terminator);
  }

  Splitter records_;
  bool done_ = false;
};

using PayloadsPipe = RecordsPipe<adapter::RawPayloads, PipeSpec::Kind::payloads>;
using NamedRecordsPipe = RecordsPipe<adapter::NamedRecords, PipeSpec::Kind::records>;

class EventsPipe final : public Pipe {
 public:
  explicit EventsPipe(const PipeSpec& spec)
      : strict_(spec.decoder.mode == event::Mode::strict),
        batch_(output_, model::diagnostic_spelling()),
        decoder_(*spec.wire, spec.decoder, ids_, batch_) {}

  void feed(std::string_view bytes) override { report(decoder_.feed(bytes)); }
  void finish() override { report(decoder_.finish()); }
  [[nodiscard]] bool done() const override { return broken_ || decoder_.done(); }
  [[nodiscard]] bool is_over() const override { return decoder_.is_over(); }
  [[nodiscard]] OutputShape shape() const override { return shape_of(PipeSpec::Kind::events); }

 private:
  bool end_broken(const Error& error) override {
    decoder_.fail(error);
    return strict_;
  }
  void report(const Result<void>& result) {
    if (result) return;
    broken_ = true;
    batch_.add_json(R"({"type":"@error","error":)" + error_json(result.error()) + "}");
  }

  bool strict_;
  bool broken_ = false;
  os::RandomIds ids_;
  event::JsonBatch batch_;
  adapter::Decoder decoder_;
};

class AgUiPipe final : public Pipe {
 public:
  explicit AgUiPipe(const PipeSpec& spec)
      : encoder_(spec.run), decoder_(*spec.wire, spec.decoder, ids_, encoder_) {
    encoder_.start();
    if (spec.run_started) encoder_.take();
    collect();
  }

  void feed(std::string_view bytes) override {
    report(decoder_.feed(bytes));
    collect();
  }
  void finish() override {
    report(decoder_.finish());
    encoder_.finish();
    collect();
  }
  [[nodiscard]] bool done() const override { return encoder_.ended(); }
  [[nodiscard]] bool is_over() const override { return decoder_.is_over(); }
  [[nodiscard]] OutputShape shape() const override { return OutputShape::bytes; }

 private:
  bool end_broken(const Error& error) override {
    decoder_.fail(error);
    encoder_.fail(error.code_name(), error.message);
    collect();
    return true;
  }
  void report(const Result<void>& result) {
    if (!result) encoder_.fail(result.error().code_name(), result.error().message);
  }
  void collect() {
    if (output_.empty()) {
      output_ = encoder_.take();
    } else {
      output_.append(encoder_.take());
    }
  }

  os::RandomIds ids_;
  encoder::AgUiEncoder encoder_;
  adapter::Decoder decoder_;
};

constexpr std::array<std::pair<std::string_view, PipeSpec::Kind>, 5> kinds{{
    {"bytes", PipeSpec::Kind::bytes},
    {"payloads", PipeSpec::Kind::payloads},
    {"records", PipeSpec::Kind::records},
    {"events", PipeSpec::Kind::events},
    {"ag_ui", PipeSpec::Kind::ag_ui},
}};

bool needs_wire(PipeSpec::Kind kind) {
  return kind == PipeSpec::Kind::events || kind == PipeSpec::Kind::ag_ui;
}

void read_limits(const json::Value& limits, adapter::DecoderOptions& options) {
  read_limit(limits["lineBytes"], options.limits.line_bytes);
  read_limit(limits["eventBytes"], options.limits.event_bytes);
  read_limit(limits["toolArgumentsBytes"], options.tool_arguments_limit_bytes);
}

}  // namespace

Result<PipeSpec> read_pipe_spec(std::string_view kind, std::string_view options_json) {
  PipeSpec spec;
  const auto* row =
      std::find_if(kinds.begin(), kinds.end(), [&](const auto& r) { return r.first == kind; });
  if (row == kinds.end()) {
    return make_error(Errc::invalid_option,
                      "There is no pipe '" + std::string(kind) +
                          "'; use the addon and the JavaScript of one version.");
  }
  spec.kind = row->second;
  json::Document document;
  auto parsed = document.parse(options_json);
  if (!parsed) return std::move(parsed).error();
  const json::Value& options = parsed.value();
  const bool strict = options["strict"].is_true() || spec.kind == PipeSpec::Kind::ag_ui;
  spec.decoder.mode = strict ? event::Mode::strict : event::Mode::as_received;
  read_limits(options["limits"], spec.decoder);
  spec.decoder.reads_reasoning = !options["thinkTags"].is(json::Type::boolean_false);
  spec.decoder.details = options["details"].is_true();
  spec.decoder.logprobs = spec.decoder.details;
  spec.run = read_run_options(options);
  spec.run_started = options["runStarted"].is_true();
  if (!needs_wire(spec.kind)) return spec;
  spec.wire = adapter::find_wire(options["wire"].string());
  if (spec.wire == nullptr) {
    return make_error(Errc::unknown_wire, "There is no adapter for the wire '" +
                                              std::string(options["wire"].string()) +
                                              "'; use one of docs/adapters.md.");
  }
  return spec;
}

std::unique_ptr<Pipe> make_pipe(const PipeSpec& spec) {
  switch (spec.kind) {
    case PipeSpec::Kind::payloads: return std::make_unique<PayloadsPipe>(spec);
    case PipeSpec::Kind::records: return std::make_unique<NamedRecordsPipe>(spec);
    case PipeSpec::Kind::events: return std::make_unique<EventsPipe>(spec);
    case PipeSpec::Kind::ag_ui: return std::make_unique<AgUiPipe>(spec);
    case PipeSpec::Kind::bytes: break;
  }
  return std::make_unique<BytesPipe>();
}

OutputShape shape_of(PipeSpec::Kind kind) {
  switch (kind) {
    case PipeSpec::Kind::payloads:
    case PipeSpec::Kind::records: return OutputShape::text;
    case PipeSpec::Kind::events: return OutputShape::items;
    case PipeSpec::Kind::bytes:
    case PipeSpec::Kind::ag_ui: break;
  }
  return OutputShape::bytes;
}

}  // namespace millrace::host
