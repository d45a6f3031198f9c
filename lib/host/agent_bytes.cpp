#include "host/agent_bytes.hpp"

#include <utility>

#include "host/agent_stream.hpp"

namespace millrace::host {

AgentBytes::AgentBytes(DrainQueue::StreamId id, HostServices& services, encoder::AgUiOptions run,
                       const std::shared_ptr<AgentStream>& agent)
    : id_(id), services_(services), encoder_(std::move(run)), agent_(agent) {
  encoder_.start();
  encoder_.take();
}

void AgentBytes::resume() {
  full_ = false;
  if (const auto agent = agent_.lock()) agent->resume_for_all();
}

// Whether the run goes on without this reader is the host's to say.
void AgentBytes::cancel() {
  closed_ = true;
  if (const auto agent = agent_.lock()) agent->leave(*this);
}

void AgentBytes::deliver(bool ended) {
  if (closed_) return;
  if (ended) encoder_.finish();
  if (has_output()) {
    encoder_.take_into(buffer_);
    services_.on_output(buffer_.size());
    full_ = !services_.queue.push(id_, buffer_) && !ended;
    // Many runs wait at this point for long.
    std::string().swap(buffer_);
  }
  if (!ended) return;
  closed_ = true;
  services_.queue.end(id_, {});
  services_.forget(id_);
}

}  // namespace millrace::host
