#include "api/model_answers.hpp"

#include <utility>

#include "encoder/completion.hpp"
#include "os/timer.hpp"

namespace millrace::api {

class ModelAnswers::Call final : public model::CallDriver {
 public:
  Call(const model::DriverServices& services, model::CallChain chain, model::ChatPayload payload)
      : model::CallDriver(services), limit_(services.loop, [this] { end_late(); }) {
    model::CallOptions options;
    options.chain = std::move(chain);
    options.decoder.calls_side_by_side = true;
    prepare(std::move(options), std::move(payload), completion_);
  }

  void start(std::chrono::milliseconds limit, Done done) {
    done_ = std::move(done);
    limit_.start_at(os::Timer::Clock::now() + limit);
    begin();
  }
  void give_up() {
    done_ = nullptr;
    limit_.cancel();
    halt();
  }

 private:
  void end_late() {
    is_late_ = true;
    halt();
  }

  void progressed() override {
    if (!done_ || !call().ended()) return;
    limit_.cancel();
    const Done done = std::exchange(done_, nullptr);
    if (is_late_) return done(make_error(Errc::timeout, "The model did not answer in time."));
    if (call().error()) return done(*call().error());
    auto completion = json::Tree::parse(completion_.to_json({}));
    if (!completion) return done(completion.error());
    done(completion.value()["choices"].items().front()["message"]);
  }

  encoder::Completion completion_;
  os::Timer limit_;
  Done done_;
  bool is_late_ = false;
};

void ModelAnswers::request(const model::DriverServices& services, model::CallChain chain,
                           model::ChatPayload payload, std::chrono::milliseconds limit, Done done) {
  const auto call = std::make_shared<Call>(services, std::move(chain), std::move(payload));
  open_.insert(call);
  call->start(limit, [this, weak = std::weak_ptr(call),
                      done = std::move(done)](const Result<json::Tree>& message) {
    // The call is on its way out of its own functions.
    const auto ended = weak.lock();
    open_.erase(ended);
    done(message);
  });
}

void ModelAnswers::close() {
  for (const auto& call : std::exchange(open_, {})) call->give_up();
}

}  // namespace millrace::api
