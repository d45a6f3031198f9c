#include "encoder/lobe.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"
#include "base/number_text.hpp"
#include "encoder/left_over.hpp"
#include "event/codec.hpp"

namespace millrace::encoder {
namespace {

// What the end of an answer is called, by wire.
struct Ending {
  std::string_view wire;
  std::string_view reason;  // instead of the provider's own, or ""
  std::string_view second;  // a further stop behind it, or ""
};
constexpr std::array<Ending, 2> endings{{
    {"anthropic", "", "message_stop"},
    {"ollama", "finished", ""},
}};

constexpr std::string_view responses_wire = "openai_responses";
constexpr std::array<std::string_view, 6> of_items{
    "text",      "reasoning",   "reasoning_signature", "reasoning_response_item",
    "grounding", "base64_image"};

const Ending* ending_of(std::string_view wire) {
  const auto* row =
      std::find_if(endings.begin(), endings.end(), [&](const Ending& e) { return e.wire == wire; });
  return row == endings.end() ? nullptr : row;
}

}  // namespace

std::string_view lobe_error_type(std::string_view code) {
  const Errc known = code_of(code);
  const bool is_ours = known != Errc::internal || code == row_of(known).code;
  return is_ours ? row_of(row_of(known).type).name : "ProviderBizError";
}

void write_lobe_counts(std::string& out, const event::Usage& usage) {
  const auto count = [&](std::string_view key, const std::optional<std::int64_t>& value) {
    if (value) json::append_member(out, key, *value);
  };
  out.push_back('{');
  count("inputCachedTokens", usage.cached_input_tokens);
  count("inputWriteCacheTokens", usage.cache_write_input_tokens);
  count("outputReasoningTokens", usage.reasoning_tokens);
  count("totalInputTokens", usage.input_tokens);
  count("totalOutputTokens", usage.output_tokens);
  count("totalTokens", usage.total_tokens);
  out.push_back('}');
}

// Only what items of Responses hold is called as they are.
std::string_view LobeEncoder::frame_id(std::string_view type) const {
  const bool is_of_item = options_.wire == responses_wire &&
                          std::find(of_items.begin(), of_items.end(), type) != of_items.end();
  return answer_id_.empty() || is_of_item ? id_ : answer_id_;
}

// A line end in an id would begin another field.
void LobeEncoder::begin(std::string_view type, std::string_view id) {
  out_.append("id: ");
  for (const char c : id) {
    if (c != '\n' && c != '\r' && c != '\0') out_.push_back(c);
  }
  out_.append("\nevent: ").append(type).append("\ndata: ");
}

void LobeEncoder::write(std::string_view type, std::string_view text) {
  begin(type);
  json::append_string(out_, text);
  end();
}

void LobeEncoder::write_data(const event::Event& event) {
  event::Spelling spelling;
  spelling.tool_error_members = true;
  begin("data");
  event::write_json(out_, event, spelling);
  end();
}

void LobeEncoder::on_event(const event::Event& event) {
  if (ended_) return;
  if (!std::holds_alternative<event::Citation>(event.body)) release_stop();
  const auto data = [&] { write_data(event); };
  std::visit(event::Overloaded{
                 [&](const event::TextStart& start) { take_id(start.id, false); },
                 [&](const event::TextDelta& text) { on_text(text.id, text.delta); },
                 [](const event::TextEnd&) {},
                 [](const event::ReasoningSpanStart&) {},
                 [](const event::ReasoningSpanEnd&) {},
                 [&](const event::ReasoningStart& start) { begin_reasoning(start.id); },
                 [&](const event::ReasoningDelta& text) {
                   if (!summaries_.empty()) summaries_.back().append(text.delta);
                   if (!reasoning_.empty()) reasoning_.back().bytes += text.delta.size();
                   on_reasoning(text.id, text.delta);
                 },
                 [](const event::ReasoningEnd&) {},
                 [&](const event::EncryptedValue& value) { on_encrypted(value); },
                 [&](const event::ToolStart& call) {
                   // Readers run what comes as a call of theirs.
                   if (call.hosted && !is_hosted(call.id)) hosted_.emplace(call.id);
                   is_hosted(call.id) ? data() : on_tool_start(call);
                 },
                 [&](const event::ToolArgs& piece) {
                   is_hosted(piece.id) ? data() : on_tool_piece(piece.id, piece.delta, {});
                 },
                 [](const event::ToolEnd&) {},
                 [&](const event::ToolResult&) { data(); },
                 [&](const event::ToolProgress&) { data(); },
                 [&](const event::ToolDetails&) { data(); },
                 [&](const event::StateSnapshot&) { data(); },
                 [&](const event::StateDelta&) { data(); },
                 [&](const event::MessagesSnapshot&) { data(); },
                 [&](const event::ActivitySnapshot&) { data(); },
                 [&](const event::ActivityDelta&) { data(); },
                 [&](const event::Usage& usage) { on_usage(event, usage); },
                 [&](const event::ProviderState& state) { on_state(event, state); },
                 [&](const event::Citation& citation) { on_citation(event, citation); },
                 [&](const event::Interrupt&) { data(); },
                 [&](const event::Reset&) { on_reset(event); },
                 [&](const event::Retry&) { data(); },
                 [&](const event::Stage&) { data(); },
                 [&](const event::Warning& warning) { on_warning(event, warning); },
                 [&](const event::Finish& finish) { on_finish(event, finish); },
                 [](const event::AnswerInfo&) {},
                 [](const event::Alternative&) {},
                 [&](const event::Logprobs&) { data(); },
                 [&](const event::PartialImage&) { data(); },
                 [&](const event::Failed& failed) { on_failed(event, failed); },
                 [&](const event::StepStart&) { data(); },
                 [&](const event::StepEnd&) { data(); },
                 [&](const event::SubagentStart&) { data(); },
                 [&](const event::SubagentEnd&) { data(); },
                 [&](const event::SubagentFailed&) { data(); },
                 [&](const event::RunStart&) { data(); },
                 [&](const event::RunUsage&) { data(); },
                 [&](const event::RunEnd&) { data(); },
                 [&](const event::Foreign&) { data(); },
             },
             event.body);
}

// A text behind an image or a block of a server's tool is a message of its own, in an answer that
// has one id. Reasoning has its own.
void LobeEncoder::take_id(std::string_view id, bool is_reasoning) {
  if (id == text_id_) return;
  text_id_ = id;
  const bool is_behind_part = std::exchange(is_behind_part_, false);
  if (is_behind_part && !id_.empty() && !has_reasoning_id_) return;
  id_ = id;
  has_reasoning_id_ = is_reasoning;
}

bool LobeEncoder::is_hosted(std::string_view call_id) const {
  return hosted_.contains(std::string(call_id));
}

void LobeEncoder::effective() {
  if (!first_) first_ = now_;
  last_ = now_;
  has_later_content_ = true;
}

void LobeEncoder::on_tool_start(const event::ToolStart& call) {
  effective();
  if (!call.parent_id.empty()) id_ = call.parent_id;
  const std::size_t index = calls_.try_emplace(std::string(call.id), calls_.size()).first->second;
  begin("tool_calls");
  out_.append("[{");
  json::append_member(out_, "index", static_cast<std::int64_t>(index));
  json::append_member(out_, "id", call.id);
  json::append_member(out_, "type", "function");
  std::string function = "{";
  json::append_member(function, "name", call.name);
  json::append_member(function, "arguments", "");
  json::append_raw_member(out_, "function", function + "}");
  out_.append("}]");
  end();
}

void LobeEncoder::on_tool_piece(std::string_view id, std::string_view arguments,
                                std::string_view signature) {
  const auto call = calls_.find(std::string(id));
  if (call == calls_.end() || (arguments.empty() && signature.empty())) return;
  if (!arguments.empty()) effective();
  begin("tool_calls");
  out_.append("[{");
  json::append_member(out_, "index", static_cast<std::int64_t>(call->second));
  json::append_member(out_, "id", id);
  json::append_member(out_, "type", "function");
  std::string function = "{";
  json::append_member(function, "arguments", arguments);
  json::append_raw_member(out_, "function", function + "}");
  if (!signature.empty()) json::append_member(out_, "thoughtSignature", signature);
  out_.append("}]");
  end();
}

// LobeHub's sources are addresses with titles: what is more is an event of its own.
void LobeEncoder::on_citation(const event::Event& event, const event::Citation& citation) {
  json::Document document;
  const auto parsed = document.parse(citation.json);
  if (!parsed) return;
  sources_.add(parsed.value());
  Sources own;
  own.add(parsed.value());
  std::string shown;
  own.write(shown);
  if (!is_shown(parsed.value(), shown)) write_data(event);
}

// All sources so far in one event: readers keep the last one.
void LobeEncoder::flush_citations() {
  if (!sources_.has_more()) return;
  begin("grounding");
  sources_.write(out_);
  end();
}

void LobeEncoder::on_usage(const event::Event& event, const event::Usage& usage) {
  flush_citations();
  begin("usage");
  const std::size_t from = out_.size();
  if (options_.write_usage) {
    options_.write_usage(out_, usage);
  } else {
    write_lobe_counts(out_, usage);
  }
  const std::string shown = out_.substr(from);
  end();
  write_speed(usage.output_tokens);
  if (!is_shown(usage.json, shown)) write_data(event);
}

void LobeEncoder::write_speed(std::optional<std::int64_t> output_tokens) {
  if (!first_) return;
  const Milliseconds duration = *last_ - *first_;
  begin("speed", "output_speed");
  out_.push_back('{');
  if (options_.streamed && duration.count() > 0 && output_tokens.value_or(0) > 1) {
    const double seconds = static_cast<double>(duration.count()) / 1000.0;
    json::append_raw_member(out_, "tps",
                            number_text(static_cast<double>(*output_tokens) / seconds));
  }
  json::append_member(out_, "ttft", std::int64_t{first_->count()});
  json::append_member(out_, "duration", std::int64_t{duration.count()});
  json::append_member(out_, "latency", std::int64_t{now_.count()});
  out_.push_back('}');
  end();
}

// An answer may have several messages, each with an end.
void LobeEncoder::on_finish(const event::Event& event, const event::Finish& finish) {
  if (stopped_ && !has_later_content_) return;
  stopped_ = true;
  has_later_content_ = false;
  flush_citations();
  const Ending* ending = ending_of(options_.wire);
  const bool renamed = ending != nullptr && !ending->reason.empty();
  if (renamed && !is_usual(finish)) write_data(event);
  stop_ = renamed ? ending->reason : finish.reason;
}

// Sources may come right behind the end, in the same record or the next: they go before it.
void LobeEncoder::release_stop() {
  if (!stop_) return;
  flush_citations();
  write("stop", *std::exchange(stop_, std::nullopt));
}

// A record that no adapter could read is an error of one chunk; the stream goes on.
void LobeEncoder::on_warning(const event::Event& event, const event::Warning& warning) {
  if (warning.code != row_of(Errc::record_skipped).code) return write_data(event);
  begin("error");
  out_.push_back('{');
  json::append_member(out_, "type", "StreamChunkError");
  json::append_member(out_, "message", warning.message);
  std::string body = "{";
  json::append_member(body, "message", warning.message);
  json::append_member(body, "chunk", warning.payload);
  if (!options_.provider.empty()) json::append_member(body, "provider", options_.provider);
  json::append_raw_member(out_, "body", body + "}");
  out_.push_back('}');
  end();
}

// What was streamed comes again, under new indexes and with its own sources.
void LobeEncoder::on_reset(const event::Event& event) {
  write_data(event);
  calls_.clear();
  hosted_.clear();
  sources_ = {};
  reasoning_id_.clear();
  reasoning_.clear();
  parts_.reset();
  stopped_ = false;
}

void LobeEncoder::on_failed(const event::Event& event, const event::Failed& failed) {
  flush_citations();
  if (failed.code == row_of(Errc::cancelled).code) {
    write("stop", "abort");
  } else {
    begin("error", "first_chunk_error");
    out_.push_back('{');
    const std::string_view usual = lobe_error_type(failed.code);
    json::append_member(out_, "type", options_.error_type ? options_.error_type(usual) : usual);
    json::append_member(out_, "message", failed.message);
    std::string body = "{";
    json::append_member(body, "message", failed.message);
    if (!failed.code.empty()) json::append_member(body, "code", failed.code);
    if (!options_.provider.empty()) json::append_member(body, "provider", options_.provider);
    if (!event.extra.empty()) body.append(",").append(event.extra);
    json::append_raw_member(out_, "body", body + "}");
    out_.push_back('}');
    end();
  }
  ended_ = true;
}

void LobeEncoder::finish() {
  if (ended_) return;
  release_stop();
  flush_citations();
  // An answer that was cut has failed: this one is whole, though servers may not have said why.
  const Ending* ending = ending_of(options_.wire);
  if (ending != nullptr && !ending->second.empty()) write("stop", ending->second);
  ended_ = true;
}

std::string LobeEncoder::take() {
  return std::exchange(out_, {});
}

void LobeEncoder::take_into(std::string& buffer) {
  buffer.clear();
  buffer.swap(out_);
}

}  // namespace millrace::encoder
