// The body of a request that is built on another thread, and how long the call waits for it.
#include <utility>

#include "model/call/call_state.hpp"

namespace millrace::model {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

// Whether the bodies of requests with these messages are long ones.
bool is_long(const message::Messages& messages) {
  constexpr std::size_t long_bytes = std::size_t{256} << 10U;
  constexpr std::size_t frame_bytes = 32;  // of each, at least
  std::size_t bytes = 0;
  for (const message::Message& message : messages) {
    bytes += frame_bytes + message.content.text.size();
    for (const message::ToolCall& call : message.tool_calls) {
      bytes += frame_bytes + call.arguments.size();
    }
    if (bytes > long_bytes) return true;
  }
  return false;
}

}  // namespace

// To write the body of a long conversation takes as long as thousands of deltas of others.
bool ModelCall::State::build_aside(const Credential& credential, Moment now) {
  if (!is_long(payload_->messages)) return false;
  const auto result = std::make_shared<Result<ChatRequest>>(make_error(Errc::internal));
  // The call may end before the work does.
  const bool taken = host_.aside(++builds_, [result, payload = payload_, chain = options_.chain,
                                             at = link_at_, credential](IdSource& ids) {
    *result = build_chat(chain[at].config, *payload, ids, credential, at > 0);
  });
  if (!taken) return false;
  building_ = Building{builds_, now.steady, result};
  phase_ = Phase::building;
  watch_building(now);
  return true;
}

// The threads may be busy for long: the wait for them is a wait for the answer.
void ModelCall::State::watch_building(Moment now) {
  std::optional<milliseconds> left = time_left(now);
  Errc code = Errc::total_timeout;
  if (const milliseconds most = link().config.timeouts.first_byte; most != milliseconds{0}) {
    const milliseconds rest = most - duration_cast<milliseconds>(now.steady - building_->since);
    if (!left || rest < *left) {
      left = rest;
      code = Errc::first_byte_timeout;
    }
  }
  if (!left) return;
  if (*left > milliseconds{0}) return host_.wait(*left);
  building_.reset();
  // A thread may still read what the next attempt changes.
  payload_ = std::make_shared<ChatPayload>(*payload_);
  // It says nothing of the provider.
  if (std::exchange(entered_, false)) services_.circuits.left(link().config, key_);
  settle(of_provider(make_error(code)), now);
}

void ModelCall::State::on_built(std::uint64_t number, Moment now) {
  if (phase_ != Phase::building || !building_ || building_->number != number) return;
  const auto built = std::exchange(building_, std::nullopt)->result;
  take_built(std::move(*built), now);
}

}  // namespace millrace::model
