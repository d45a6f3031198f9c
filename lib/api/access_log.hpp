// Ids of requests, and a line of JSON for each one that was answered.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/client_address.hpp"
#include "base/result.hpp"
#include "http/request_observer.hpp"
#include "os/blocking_pool.hpp"

namespace millrace::api {

// A valid value of `traceparent`, else "".
// Source: W3C Trace Context, section 3.2; of a later version, what version 00 has.
std::string_view valid_trace(std::string_view value);
// Whether a client's id of its request is taken: 1 to 128 of the characters that ids are made of.
bool is_request_id(std::string_view id);
// Whether it is, or has in it, what looks like a key or a secret of the same request: answers and
// the log repeat it.
bool has_secret(std::string_view id, const http::Headers& headers);

// A path as the log shows it: without keys that a client put there, and without what follows an
// escaped question mark, which was meant as a query.
std::string shown_path(std::string_view path);

struct AccessLogOptions {
  std::string file;  // lines are added to it; "-" is standard output, "" writes none
  std::vector<std::string> trusted_proxies;
};

// Shape of a line: {"time", "id", "method", "path", "status", "bytes", "ms", "address"?,
// "principal"?, "key"?: its name, "trace"?, "cut"?: true where the answer did not reach its end}.
// Neither the query nor a header field is written, since both may hold secrets.
//
// Lines wait in memory for a thread that writes them. Beyond the bound of that memory they are left
// out, and {"dropped": number} says so. A file that was moved or removed is opened anew.
class AccessLog final : public http::RequestObserver,
                        public std::enable_shared_from_this<AccessLog> {
 public:
  // Errors: invalid_option for a file that cannot be opened, or an address that cannot be read.
  static Result<std::shared_ptr<AccessLog>> open(os::BlockingPool& pool,
                                                 const AccessLogOptions& options);
  // What open() would reject; makes no file.
  static Result<void> check(const AccessLogOptions& options);
  // Other options in place of those that it was opened with.
  // Shape: the change, which cannot fail. Thread: engine thread, the change as well.
  // Errors: as open(), which changes nothing.
  Result<std::function<void()>> prepare(const AccessLogOptions& options);
  // Writes what waits.
  ~AccessLog() override;
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  [[nodiscard]] http::RequestIdentity identify(const http::Headers& headers,
                                               std::string_view peer) override;
  void report(const http::RequestReport& report) override;
  // The engine thread has ended, or is about to: what comes is written by the caller.
  void close() { pool_ = nullptr; }

 private:
  class Sink;
  AccessLog(os::BlockingPool& pool, TrustedProxies proxies, std::shared_ptr<Sink> sink);
  static Result<std::shared_ptr<Sink>> open_sink(const std::string& file);
  void take(TrustedProxies proxies, std::shared_ptr<Sink> sink);
  void flush();

  os::BlockingPool* pool_;
  TrustedProxies proxies_;
  std::shared_ptr<Sink> sink_;  // null: no lines are written
  bool is_flushing_ = false;
};

}  // namespace millrace::api
