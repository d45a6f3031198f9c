#include "api/readiness.hpp"

#include <utility>

#include "store/store_work.hpp"

namespace millrace::api {

Readiness::Readiness(std::shared_ptr<store::Writer> writer, os::EventLoop& loop,
                     ReadinessTimes times)
    : writer_(std::move(writer)),
      loop_(loop),
      times_(times),
      late_(loop, [this] { end_early(); }) {}

void Readiness::look(Done done) {
  if (!is_looking_ && seen_ && Clock::now() - seen_at_ < times_.valid_for) return done(*seen_);
  waiting_.push_back(std::move(done));
  if (!late_.is_running()) late_.start_at(Clock::now() + times_.longest_wait);
  if (!is_looking_) begin();
}

void Readiness::begin() {
  is_looking_ = true;
  began_ = Clock::now();
  // Whether it takes what is written is part of the answer.
  store::on_store<bool>(
      *writer_, loop_,
      [](store::StorageBackend& backend) {
        return backend.next_due().ok() && backend.claim({}, {}, 0).ok();
      },
      [weak = weak_from_this()](bool is_working) {
        if (const auto self = weak.lock()) self->end(is_working);
      });
}

void Readiness::end(bool is_working) {
  is_looking_ = false;
  seen_ = is_working;
  seen_at_ = Clock::now();
  late_.cancel();
  report(is_working);
}

void Readiness::end_early() {
  if (Clock::now() - began_ > times_.longest_look) return report(false);
  if (seen_) return report(*seen_);
  store::on_store<bool>(
      *writer_, loop_, [](store::StorageBackend& backend) { return backend.next_due().ok(); },
      [weak = weak_from_this()](bool is_working) {
        if (const auto self = weak.lock()) self->report(is_working);
      },
      &store::Writer::read);
}

void Readiness::report(bool is_working) {
  for (const Done& done : std::exchange(waiting_, {})) done(is_working);
}

}  // namespace millrace::api
