// What sees each request of a server from its head to the end of its answer: it gives the request
// an id and the address that it came from, and reports how it was answered.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "http/message.hpp"

namespace millrace::http {

// How a request is known.
struct RequestIdentity {
  std::string id;       // in the field X-Request-ID of its answer
  std::string address;  // of the client; behind a proxy not that of the connection
  std::string trace;    // the value of `traceparent`; "" is none
};

// A request whose answer is over.
struct RequestReport {
  RequestIdentity identity;
  std::string method;  // "" for a head that could not be read
  std::string path;
  std::string route = {};                          // the path as the router has it; "" is unknown
  std::shared_ptr<const Caller> caller = nullptr;  // null: unknown
  int status = 0;                                  // 0: nothing was sent
  std::uint64_t bytes = 0;                         // of the body
  bool is_complete = false;                        // all of the answer was given
  std::chrono::steady_clock::duration took{};
};

// Thread: engine thread; report() also once the loop has stopped.
class RequestObserver {
 public:
  virtual ~RequestObserver() = default;
  // `peer` is the address of the connection; "" where it is unknown.
  [[nodiscard]] virtual RequestIdentity identify(const Headers& headers, std::string_view peer) = 0;
  virtual void report(const RequestReport& report) = 0;
  // An answer becomes a stream (1), or that is over (-1).
  virtual void count_stream(int change) { static_cast<void>(change); }
};

// A request on its way; its end reports it.
class ObservedRequest {
 public:
  ObservedRequest(std::shared_ptr<RequestObserver> observer, const Headers& headers,
                  std::string_view peer)
      : observer_(std::move(observer)), begun_(std::chrono::steady_clock::now()) {
    report.identity = observer_->identify(headers, peer);
  }
  ~ObservedRequest() {
    if (observer_ == nullptr) return;
    if (is_stream_) observer_->count_stream(-1);
    report.took = std::chrono::steady_clock::now() - begun_;
    try {
      observer_->report(report);
    } catch (...) {
      // Without memory for a line there is none.
    }
  }
  ObservedRequest(const ObservedRequest&) = delete;
  ObservedRequest& operator=(const ObservedRequest&) = delete;

  // Reports nothing.
  void forget() { observer_ = nullptr; }
  // Its answer is a stream until its end.
  void begin_stream() {
    if (observer_ == nullptr || std::exchange(is_stream_, true)) return;
    observer_->count_stream(1);
  }

  RequestReport report;

 private:
  std::shared_ptr<RequestObserver> observer_;
  std::chrono::steady_clock::time_point begun_;
  bool is_stream_ = false;
};

inline constexpr std::string_view request_id_field = "X-Request-ID";

}  // namespace millrace::http
