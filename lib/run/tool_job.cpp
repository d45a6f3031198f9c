#include "run/tool_job.hpp"

#include <algorithm>
#include <utility>

#include "run/vendor_result.hpp"
#include "tool/result_text.hpp"

namespace millrace::run {
namespace {

constexpr std::size_t most_details_bytes = std::size_t{1} << 20U;

}  // namespace

ToolJob::ToolJob(os::EventLoop& loop, const tool::Spec& spec, Events events)
    : name_(spec.name),
      timeout_(spec.timeout),
      result_limit_(spec.result_limit),
      events_(std::move(events)) {
  if (timeout_.count() <= 0) return;
  timer_.emplace(loop, [this] { on_timeout(); });
  timer_->start_at(os::Timer::Clock::now() + timeout_);
}

void ToolJob::start(tool::Tool& tool, tool::ToolCall call) {
  auto running = tool.start(std::move(call), shared_from_this());
  if (!over_) running_ = std::move(running);
}

// What runs is let go by the caller, after everything else: it may hold this object.
std::unique_ptr<tool::RunningTool> ToolJob::close() {
  over_ = true;
  if (timer_) timer_->cancel();
  return std::move(running_);
}

void ToolJob::cancel() {
  if (over_) return;
  const auto self = shared_from_this();
  const auto running = close();
  if (running) running->cancel();
  const auto cancelled = std::move(events_.cancelled);
  events_ = {};
  if (cancelled) cancelled();
}

void ToolJob::on_timeout() {
  if (over_) return;
  const auto self = shared_from_this();
  const auto running = close();
  if (running) running->cancel();
  const Events events = std::exchange(events_, {});
  if (events.cancelled) events.cancelled();
  events.finished(
      {"The tool " + name_ + " did not answer within " + std::to_string(timeout_.count()) + " ms.",
       true, "tool_timeout"});
}

void ToolJob::finished(tool::ToolOutcome outcome) {
  if (over_) return;
  const auto self = shared_from_this();
  const auto running = close();
  const std::size_t images = outcome.details.parts.is_null()
                                 ? 0
                                 : outcome.details.parts.to_json(json::Surrogates::replace).size();
  const std::size_t beside = tool::members_json(outcome.details).size() - images;
  const auto too_large = [&](std::size_t given, std::size_t most, std::string_view what) {
    return tool::ToolOutcome{"The tool " + name_ + " returned " + std::to_string(given) +
                                 " bytes " + std::string(what) + "; " + std::to_string(most) +
                                 " are allowed.",
                             true, "tool_failed"};
  };
  if (beside > std::max(result_limit_, most_details_bytes)) {
    outcome = too_large(beside, most_details_bytes, "beside its text");
  } else if (images > most_image_bytes) {
    outcome = too_large(images, most_image_bytes, "of images");
  }
  // The model takes the result of every tool for data.
  outcome.content = tool::result_text(outcome.content, result_limit_);
  const Events events = std::exchange(events_, {});
  events.finished(std::move(outcome));
}

void ToolJob::progress(std::string_view json) {
  if (!over_ && events_.progress) events_.progress(json);
}

}  // namespace millrace::run
