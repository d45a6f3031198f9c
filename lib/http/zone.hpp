// Paths with rules of their own for who may ask and how refusals read, in place of the server's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/request_head.hpp"
#include "http/response_stream.hpp"

namespace millrace::http {

// A whole answer that needs no handler.
struct Answer {
  int status = 200;
  Headers headers;
  std::string body;
};

// Thread: immutable, or engine thread.
// Lifetime: outlives the server that has it.
class Zone {
 public:
  // What becomes of a request before its route is looked for.
  struct Admission {
    std::optional<Answer> refusal;         // the answer, where there is one already
    std::shared_ptr<const Caller> caller;  // who asks; null: nobody that is known
  };

  virtual ~Zone() = default;
  [[nodiscard]] virtual bool has(std::string_view path) const = 0;
  // Fields of every response to this request.
  [[nodiscard]] virtual Headers fields(const RequestHead& head) const = 0;
  // One that does not count is a look ahead: the same request comes again with its body.
  [[nodiscard]] virtual Admission admit(const RequestHead& head, std::string_view remote_address,
                                        bool counts = true) = 0;
  // The answer where no route has the path (`allow` is empty) or its method.
  [[nodiscard]] virtual Answer unknown(std::string_view allow) const = 0;
  // Null where errors read as the server's own.
  [[nodiscard]] virtual ErrorBody error_body(std::string_view path) const = 0;
};

}  // namespace millrace::http
