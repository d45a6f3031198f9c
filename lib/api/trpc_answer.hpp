// What a tRPC client gets for one HTTP request: the outcome of its call, or of all calls of a
// batch.
//
// Each call is answered through a response of its own, by the route that does what it asks for.
// Source: the HTTP protocol of tRPC 11, and superjson 2 (2026).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/api_answers.hpp"
#include "api/trpc_calls.hpp"
#include "base/json_tree.hpp"

namespace millrace::api {

constexpr std::string_view trpc_prefix = "/trpc/lambda/";  // behind it, the names of procedures

// Thread: engine thread.
class TrpcAnswer : public std::enable_shared_from_this<TrpcAnswer> {
 public:
  TrpcAnswer(ResponsePtr response, std::size_t calls, bool is_batch)
      : response_(std::move(response)), outcomes_(calls), left_(calls), is_batch_(is_batch) {}

  // Where the answer to the call at this place is sent, once.
  ResponsePtr part(std::size_t at, TrpcCall call);
  // The call at this place is not made.
  void reject(std::size_t at, const TrpcCall& call, int status, std::string_view message);
  [[nodiscard]] bool is_open() const { return response_->is_open(); }

 private:
  friend class TrpcPart;
  struct Outcome {
    int status = 0;
    json::Tree body;
  };
  void take(std::size_t at, const TrpcCall& call, int status, std::string_view body);
  void set(std::size_t at, Outcome outcome);

  ResponsePtr response_;
  std::vector<Outcome> outcomes_;
  std::size_t left_;
  bool is_batch_;
};

// Shape: {"error": {"message", "code": number, "data": {"code", "httpStatus", "path",
// "errorCode"?}}}; `error` is in {"json"} with superjson.
json::Tree trpc_error(const TrpcCall& call, int status, std::string_view message,
                      std::string_view error_code = {});
// The same of a request for this path whose calls were not read.
std::string trpc_error_body(const Error& error, std::string_view path);

}  // namespace millrace::api
