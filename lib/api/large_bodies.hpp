// Reads large request bodies beside the engine thread, so that parsing them holds up no stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <unordered_map>
#include <utility>

#include "base/result.hpp"
#include "http/response_stream.hpp"
#include "os/blocking_pool.hpp"

namespace millrace::api {

// Thread: engine thread; destroy there or after the loop has stopped, and before the loop. What is
// read then is forgotten.
class LargeBodies {
 public:
  explicit LargeBodies(os::BlockingPool& pool) : pool_(pool) {}

  // Calls `then` with what `read` gives and the response: at once for a small body, otherwise after
  // a thread of the pool has read it. A response that cannot wait for one is refused.
  // Shape: `read` gives a Result and owns all that it uses.
  template <class Read, class Then>
  void read(std::size_t body_bytes, std::shared_ptr<http::ResponseStream> response, Read read,
            Then then) {
    constexpr std::size_t least_bytes = std::size_t{128} << 10U;
    if (body_bytes < least_bytes) return then(read(), std::move(response));
    const std::uint64_t place = ++waiting_->last_place;
    auto requested =
        pool_.run([weak = std::weak_ptr(waiting_), place, read, then]() -> os::BlockingPool::Done {
          using Outcome = decltype(read());
          auto outcome = std::make_shared<Outcome>(guarded(read));
          return [weak, place, outcome, then] {
            if (auto response_for = take(weak, place)) {
              answer(then, std::move(*outcome), response_for);
            }
          };
        });
    if (!requested) {
      (void)response->send_error(requested.error());
    } else {
      // A response lives and ends on the engine thread: the work knows only its place.
      waiting_->responses.emplace(place, std::move(response));
    }
  }

  // Forgets the responses that wait.
  void clear() { waiting_->responses.clear(); }

 private:
  // Outside of the server's own guard.
  template <class Then, class Outcome>
  static void answer(const Then& then, Outcome outcome,
                     const std::shared_ptr<http::ResponseStream>& response) {
    try {
      then(std::move(outcome), response);
    } catch (const std::exception& thrown) {
      (void)response->send_error(
          make_error(Errc::internal, "The request could not be handled.", thrown.what()));
    }
  }

  template <class Read>
  static auto guarded(const Read& read) -> decltype(read()) {
    try {
      return read();
    } catch (const std::exception& thrown) {
      return make_error(Errc::internal, "The body could not be read.", thrown.what());
    }
  }

  struct Waiting {
    std::unordered_map<std::uint64_t, std::shared_ptr<http::ResponseStream>> responses;
    std::uint64_t last_place = 0;
  };

  static std::shared_ptr<http::ResponseStream> take(const std::weak_ptr<Waiting>& weak,
                                                    std::uint64_t place) {
    const auto waiting = weak.lock();
    if (!waiting) return nullptr;
    auto found = waiting->responses.extract(place);
    return found.empty() ? nullptr : std::move(found.mapped());
  }

  os::BlockingPool& pool_;
  std::shared_ptr<Waiting> waiting_ = std::make_shared<Waiting>();
};

}  // namespace millrace::api
