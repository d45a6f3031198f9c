#include "adapter/decoder.hpp"

#include <algorithm>

#include "adapter/skipped_members.hpp"
#include "base/json_depth.hpp"
#include "base/utf8.hpp"
#include "framing/aws_event_stream.hpp"
#include "framing/json_values.hpp"
#include "framing/ndjson.hpp"
#include "framing/sse.hpp"

namespace millrace::adapter {
namespace {

// Records that are not JSON: so many are told of, and so many are passed over.
constexpr std::size_t most_reported = 64;
constexpr std::size_t most_skipped_before_records = 64;
constexpr std::size_t most_skipped = 10'000;

std::unique_ptr<framing::Framing> make_framing(FramingKind kind,
                                               const framing::FramingLimits& limits) {
  switch (kind) {
    case FramingKind::sse_records:
      return std::make_unique<framing::SseFraming>(framing::SseDispatch::complete_json, limits);
    case FramingKind::sse_blocks:
      return std::make_unique<framing::SseFraming>(framing::SseDispatch::blank_line_or_end, limits);
    case FramingKind::aws_event_stream:
      return std::make_unique<framing::AwsEventStreamFraming>(limits);
    case FramingKind::ndjson: break;
  }
  return std::make_unique<framing::NdjsonFraming>(limits);
}

event::TrackerOptions tracker_options(const Wire& wire, const DecoderOptions& options) {
  event::TrackerOptions result;
  result.mode = options.mode;
  result.tool_arguments_limit_bytes = options.tool_arguments_limit_bytes;
  result.parts_limit = options.parts_limit;
  result.calls_side_by_side = options.calls_side_by_side;
  result.distinct_ids = !wire.keeps_ids;
  return result;
}

}  // namespace

Decoder::Decoder(const Wire& wire, const DecoderOptions& options, IdSource& ids,
                 event::EventSink& sink)
    : wire_(wire),
      options_(options),
      parts_(tracker_options(wire, options), ids, sink),
      facts_(options.details ? std::make_unique<AnswerFacts>() : nullptr),
      checked_(options.details ? std::make_unique<CheckedRecord>() : nullptr),
      adapter_(
          wire.make(Services{parts_, ids, options.mode, options.reads_reasoning, options.vendor_ids,
                             options.answers, facts_.get(), &unknown_events_, options.logprobs,
                             options.background, &document_, options.late_reasoning})),
      document_(json::data_depth_limit) {
  if (facts_) parts_.before_failure([this] { give_facts(); });
  if (!wire.json_body || !strict()) framing_ = make_framing(wire.framing, options.limits);
}

Decoder::~Decoder() = default;

Result<void> Decoder::feed(std::string_view bytes) {
  if (done()) return {};
  remember(bytes);
  std::string start;
  if (!framing_) {
    if (!choose_framing(bytes)) return {};
    start.swap(start_);
    bytes = start;
  }
  auto result = framing_->feed(bytes, *this);
  if (has_stream() && !head_.empty()) std::string().swap(head_);
  if (options_.background) give_facts();
  if (!result && strict()) {
    fail(result.error());
    return {};
  }
  return result;
}

void Decoder::replay(std::string_view notes) {
  std::string body;
  while (!notes.empty()) {
    const std::size_t end = std::min(notes.find('\n'), notes.size());
    body.append("data: ").append(notes.substr(0, end)).append("\n\n");
    notes.remove_prefix(std::min(end + 1, notes.size()));
  }
  if (auto fed = feed(body); !fed) fail(fed.error());
  static_cast<void>(take_notes());
  rejoin();
}

void Decoder::rejoin() {
  framing_ = make_framing(wire_.framing, options_.limits);
  start_.clear();
}

// Tells a body of JSON by its first character.
bool Decoder::choose_framing(std::string_view bytes) {
  constexpr std::size_t probe_bytes = 4096;
  start_.append(bytes);
  const std::size_t first = start_.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first == std::string::npos && start_.size() < probe_bytes) return false;
  const bool is_json = first < probe_bytes && (start_[first] == '{' || start_[first] == '[');
  is_object_ = is_json && start_[first] == '{';
  if (is_json) {
    framing_ = std::make_unique<framing::JsonValuesFraming>(options_.limits);
  } else {
    framing_ = make_framing(wire_.framing, options_.limits);
  }
  return true;
}

Result<void> Decoder::finish() {
  if (done()) return {};
  if (!framing_) framing_ = make_framing(wire_.framing, options_.limits);
  auto result = framing_->finish(*this);
  if (!result && !strict()) return result;
  // Of frames only the count of tokens follows the end of an answer, which lacks nothing without
  // it.
  const bool is_afterword = !result && wire_.framing == FramingKind::aws_event_stream &&
                            result.error().code == Errc::stream_truncated && is_complete();
  if (!result && !is_afterword) fail(result.error());
  if (done() || report_plain_error() || report_unframed_error()) return {};
  if (is_object_ && result && frames_ == 1) adapter_->on_only_object();
  adapter_->on_end();
  const bool is_pending = options_.background && !adapter_->pending_id().empty();
  if (strict() && !is_pending) judge_body();
  give_facts();
  return {};
}

// The last event of an answer that did not fail; of one that did, the one before the error.
void Decoder::give_facts() {
  if (!facts_ || !facts_->has_changes()) return;
  const std::string json = facts_->take();
  parts_.pass(event::AnswerInfo{json});
}

void Decoder::fail(const Error& error) {
  if (!strict() || done()) return;
  adapter_->on_end();
  parts_.fail(error.code_name(), error.message);
}

// Of lines of JSON every line is a frame: a record tells that they are a stream.
bool Decoder::has_stream() const {
  return wire_.framing == FramingKind::ndjson ? records_ > 0 : frames_ > 0;
}

void Decoder::remember(std::string_view bytes) {
  if (has_stream()) return;
  head_.append(bytes.substr(0, head_limit_bytes - head_.size()));
}

// A body without a single record that is a JSON error, as gateways answer under status 200. Of
// lines of JSON it is one that takes several lines.
bool Decoder::report_plain_error() {
  const bool has_lines = wire_.framing == FramingKind::ndjson;
  if (has_stream() || (has_lines && skipped_ == 0)) return false;
  return report_error_in(head_);
}

// An error that stands as plain JSON behind the records, as Gemini breaks off, or in a field of its
// own, as llama.cpp does.
// Source: googleapis/js-genai, processStreamResponse; the server of ggml-org/llama.cpp (2025).
bool Decoder::report_unframed_error() {
  return strict() && !is_complete() && report_error_in(framing_->unframed());
}

bool Decoder::report_error_in(std::string_view json) {
  if (json.empty()) return false;
  auto value = document_.parse(json);
  if (!value) return false;
  const auto error = error_of(value.value());
  if (!error) return false;
  adapter_->on_record({}, value.value());
  fail_with(parts_, options_.mode, *error);
  return true;
}

bool Decoder::is_sse() const {
  return wire_.framing == FramingKind::sse_records || wire_.framing == FramingKind::sse_blocks;
}

// Nothing came, or nothing but white space, comments and the sentinel.
bool Decoder::is_empty() const {
  if (frames_ > 0) return frames_ == sentinels_;
  return is_sse() ? framing::read_sse_head(head_) == framing::SseHead::silent
                  : json::trim(head_).empty();
}

// What came begins as a record does, and it is not whole.
bool Decoder::is_cut_in_first_record() const {
  if (is_sse()) return framing::read_sse_head(head_) == framing::SseHead::begun;
  return wire_.framing == FramingKind::ndjson && frames_ == 0 && !head_.ends_with('\n') &&
         json::trim(head_).starts_with('{');
}

// Ends a strict stream: complete, or with the error that says why it is not.
void Decoder::judge_body() {
  if (records_ > 0 && adapter_->may_be_complete()) {
    parts_.close_all();
    return;
  }
  const bool is_nothing = records_ == 0 && is_empty();
  if (is_nothing) {
    fail(make_error(Errc::stream_empty));
  } else if (records_ > 0 || is_cut_in_first_record()) {
    fail(make_error(Errc::stream_truncated));
  } else {
    const bool is_json =
        (is_object_ && frames_ == 1 && skipped_ == 0) || json::trim(head_) == "null";
    fail(make_error(Errc::not_a_stream, (is_json ? "The body is JSON, but no answer of the wire \""
                                                 : "The body is not a stream of the wire \"") +
                                            std::string(wire_.name) +
                                            "\". Check the adapter and the address."));
  }
}

void Decoder::on_frame(const framing::Frame& frame) {
  ++frames_;
  if (!frame.several_lines) {
    on_payload(frame.event, frame.data);
    return;
  }
  if (auto value = document_.parse(frame.data)) {
    on_payload(frame.event, frame.data);
    return;
  }
  // Several records whose server wrote no blank line between them.
  std::string_view rest = frame.data;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    on_payload(frame.event, rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

void Decoder::on_payload(std::string_view name, std::string_view payload) {
  payload = json::trim(payload);
  if (done() || payload.empty()) return;
  if (!wire_.sentinel.empty() && payload == wire_.sentinel) {
    ++sentinels_;
    if (strict()) adapter_->on_sentinel();
    return;
  }
  if (strict() && sentinels_ > 0 && is_complete()) {
    if (facts_) facts_->add_name(skipped_members, "a record behind " + std::string(wire_.sentinel));
    return;
  }
  auto value = document_.parse(payload);
  if (!value) {
    skip(payload, value.error());
    return;
  }
  if (report_envelope(value.value())) return;
  if (facts_ && wire_.check != nullptr) check(name, value.value());
  if (adapter_->on_record(name, value.value())) {
    ++records_;
  } else {
    unknown_events_.note(facts_.get(), name, value.value());
  }
}

// Names what of the record is unknown.
void Decoder::check(std::string_view name, const json::Value& record) {
  // Where records name themselves, their frames say nothing more.
  if (wire_.framing == FramingKind::sse_records) name = {};
  if (checked_->repeats(document_.shape(), name, *facts_)) return;
  checked_->begin(document_.shape(), name, *facts_);
  wire_.check({*facts_, *checked_}, name, record);
}

// A gateway's refusal under status 200, whatever the wire:
// {"code":500,"msg":"...","success":false}.
// Source: the answers of api.z.ai and open.bigmodel.cn to routes that they do not serve (2026).
bool Decoder::report_envelope(const json::Value& record) {
  if (!strict() || records_ > 0 || !record["success"].is(json::Type::boolean_false)) return false;
  auto words = record["msg"].filled_string();
  if (!words) words = record["message"].filled_string();
  if (!words || error_of(record)) return false;
  ErrorRecord error = read_error(record, {});
  error.message = *words;
  fail_with(parts_, options_.mode, error);
  return true;
}

void Decoder::skip(std::string_view payload, const Error& error) {
  constexpr std::size_t shown_bytes = 256;
  ++skipped_;
  if (strict() && skipped_ > (records_ == 0 ? most_skipped_before_records : most_skipped)) {
    return fail(make_error(
        records_ == 0 ? Errc::not_a_stream : Errc::stream_corrupt,
        "More than " + std::to_string(skipped_ - 1) + " records of the stream are not JSON."));
  }
  if (skipped_ > most_reported) return;
  std::string sentence = std::string(wire_.parse_error);
  if (strict()) {
    sentence.append(": ").append(error.message);
    const std::string shown = redacted(payload, shown_bytes);
    parts_.pass(event::Warning{row_of(Errc::record_skipped).code, sentence, shown});
  } else {
    std::string clean;
    utf8::append_replaced(clean, payload);
    parts_.pass(event::Warning{row_of(Errc::record_skipped).code, sentence, clean});
  }
}

}  // namespace millrace::adapter
