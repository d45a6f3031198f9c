// Takes the body of a request piece by piece while it comes, so that it is never whole in memory.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <string_view>

#include "base/result.hpp"

namespace millrace::http {

struct RequestHead;

// Thread: engine thread; must not block.
// Lifetime: a request that is cut ends it without a call of its handler.
class BodySink {
 public:
  virtual ~BodySink() = default;
  // False: the connection reads no more until `on_room` is called. What was given is taken anyway.
  virtual bool write(std::string_view bytes) = 0;
  virtual void on_room(std::function<void()> callback) = 0;
  // The most bytes that the next read is to take, at least one.
  [[nodiscard]] virtual std::size_t read_limit() const {
    return std::numeric_limits<std::size_t>::max();
  }
};

// Makes the sink of one request; null: its body is a text in memory.
// Errors: the answer to the request, which then has no body.
using MakeSink = std::function<Result<std::shared_ptr<BodySink>>(const RequestHead& head)>;

}  // namespace millrace::http
