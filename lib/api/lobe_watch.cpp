#include "api/lobe_watch.hpp"

#include <utility>

namespace millrace::api {

LobeWatch::LobeWatch(Seen seen, Done done)
    : seen_(std::move(seen)),
      done_(std::move(done)),
      known_(std::make_shared<LobeProjection>([this](const encoder::OperationEvent& event) {
        if (!has_enough_ && seen_) has_enough_ = seen_(event);
      })) {}

LobeWatch::LobeWatch(std::shared_ptr<LobeProjection> known, Done done)
    : done_(std::move(done)), known_(std::move(known)) {}

void LobeWatch::read_committed(const run::FoundRun& found) {
  wanted_ = found.hub->committed();
  begin(found, false);
}

void LobeWatch::follow(const run::FoundRun& found, bool counts) {
  begin(found, counts);
}

void LobeWatch::begin(const run::FoundRun& found, bool counts) {
  // It was left while the run was looked for.
  if (!done_) return;
  run_ = found.run;
  if (wanted_ > 0 && known_->last >= wanted_) return finish(nullptr);
  hub_ = found.hub;
  if (const auto attached = hub_->attach(shared_from_this(), known_->last, counts); !attached) {
    finish(&attached.error());
  }
}

void LobeWatch::leave() {
  done_ = nullptr;
  if (const auto hub = std::exchange(hub_, nullptr)) hub->detach(*this);
}

bool LobeWatch::on_record(const journal::Record& record) {
  if (!done_) return false;
  // Another watch may have read it for both.
  if (record.seq > known_->last) {
    known_->last = record.seq;
    known_->operation.on_record(record);
  }
  const bool is_all = wanted_ > 0 && record.seq >= wanted_;
  if (!has_enough_ && !is_all) return true;
  finish(nullptr);
  return false;
}

void LobeWatch::on_end(const Error* error) {
  if (error == nullptr) known_->operation.rest();
  finish(error);
}

void LobeWatch::finish(const Error* error) {
  const auto self = shared_from_this();
  const auto done = std::exchange(done_, nullptr);
  if (const auto hub = std::exchange(hub_, nullptr)) hub->detach(*this);
  if (done) done(*this, error);
}

json::Tree parsed_json(std::string_view json) {
  if (json.empty()) return {};
  auto parsed = json::Tree::parse(json);
  return parsed ? std::move(parsed).value() : json::Tree();
}

}  // namespace millrace::api
