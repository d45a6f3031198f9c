#include "encoder/recorded_ag_ui.hpp"

#include <string_view>
#include <utility>
#include <variant>

#include "encoder/ag_ui_proto.hpp"

namespace millrace::encoder {
namespace {

constexpr std::string_view frame_end = "\n\n";
constexpr std::size_t most_room = 4096;  // of a frame, while the next one is waited for

}  // namespace

std::string messages_run(const AgUiOptions& options, std::string_view messages_json) {
  AgUiEncoder encoder(options);
  encoder.start();
  encoder.on_event(event::Event{event::MessagesSnapshot{messages_json}, {}});
  encoder.finish();
  return encoder.take();
}

void RecordedAgUi::begin(const journal::Segment& segment) {
  run_.thread_id = options_.thread_id;
  run_.run_id = segment.ag_ui_run;
  run_.parent_run_id = segment.parent;
  run_.client_version = options_.client_version ? *options_.client_version : segment.protocol;
  encoder_ = std::make_unique<AgUiEncoder>(run_);
  open_.clear();
}

void RecordedAgUi::on_record(const journal::Record& record) {
  if (ended_) return;
  if (!is_writing_ && record.seq > options_.after) {
    is_writing_ = true;
    if (options_.fresh) open_again();
  }
  if (const auto* fact = std::get_if<journal::Fact>(&record.body)) {
    if (const auto* accepted = std::get_if<journal::Accepted>(fact)) {
      options_.thread_id = accepted->thread;
    }
    const auto* segment = std::get_if<journal::Segment>(fact);
    if (segment == nullptr || record.branch != 0) return;
    if (encoder_ && options_.one_run) {
      ended_ = true;
      return;
    }
    begin(*segment);
    encoder_->start();
    if (const std::string messages = std::exchange(options_.messages_json, {}); !messages.empty()) {
      encoder_->on_event(event::Event{event::MessagesSnapshot{messages}, {}});
    }
  } else if (encoder_) {
    if (!is_writing_) open_.add(record);
    const auto& event = std::get<event::Event>(record.body);
    encoder_->on_event(event);
    if (std::holds_alternative<event::RunEnd>(event.body) && event.subagent.empty()) {
      encoder_->finish();
    }
  }
  write(record.seq);
  if (options_.one_run && encoder_ && encoder_->ended()) ended_ = true;
}

// The open parts of the AG-UI run, as its first frames.
void RecordedAgUi::open_again() {
  if (!encoder_ || encoder_->ended()) return;
  AgUiEncoder again(run_);
  again.start();
  open_.open(again);
  out_.append(again.pending());
}

// Moves what the encoder wrote to the output, with the record's number in its last frame.
void RecordedAgUi::write(std::uint64_t seq) {
  if (!encoder_ || encoder_->pending().empty()) return;
  encoder_->take_into(piece_);
  if (!is_writing_) return;
  const std::size_t before = piece_.size() < frame_end.size()
                                 ? std::string::npos
                                 : piece_.rfind(frame_end, piece_.size() - frame_end.size() - 1);
  const std::size_t last = before == std::string::npos ? 0 : before + frame_end.size();
  out_.append(piece_, 0, last).append("id: ").append(std::to_string(seq)).push_back('\n');
  out_.append(piece_, last);
  // The encoder gets it next: a long frame leaves no room behind.
  if (piece_.capacity() > most_room) std::string().swap(piece_);
}

void RecordedAgUi::fail(std::string_view code, std::string_view message) {
  if (std::exchange(ended_, true)) return;
  if (!encoder_) encoder_ = std::make_unique<AgUiEncoder>(run_);
  if (encoder_->ended()) return;
  encoder_->fail(code, message);
  out_.append(encoder_->pending());
}

void RecordedAgUi::take_into(std::string& buffer) {
  buffer.clear();
  if (options_.is_binary) {
    append_ag_ui_proto(buffer, out_);
    std::string().swap(out_);
    return;
  }
  out_.swap(buffer);
}

}  // namespace millrace::encoder
