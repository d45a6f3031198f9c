// The parts of a multipart/form-data body.
// Source: RFC 7578 and RFC 2046, section 5.1.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace millrace::http {

// Lifetime: `body` is a view of the parsed text.
struct FormPart {
  std::string name;
  std::optional<std::string> filename;  // of a file; percent escapes are decoded
  std::string content_type;
  std::string_view body;
};

// Units: bytes, but part_count.
struct FormLimits {
  std::size_t part_count = 100;
  std::size_t head_bytes = 16 * 1024;  // of one part
};

// The boundary of a Content-Type; nothing where that is not multipart/form-data with a boundary.
std::optional<std::string> form_boundary(std::string_view content_type);

// Errors: invalid_body where the body is cut, or a part has no name.
Result<std::vector<FormPart>> parse_form(std::string_view body, std::string_view boundary,
                                         const FormLimits& limits = {});

// The same, of a body that comes in pieces, and gives its parts while they come.
class FormReader {
 public:
  struct Events {
    // Its body is empty: it follows as `data`.
    std::function<void(const FormPart& part)> part;
    std::function<void(std::string_view bytes)> data;
  };

  FormReader(std::string_view boundary, Events events, const FormLimits& limits = {});

  // What follows a mistake, or the last boundary, is dropped.
  void feed(std::string_view bytes);
  // Errors: those of parse_form, of all that was given.
  [[nodiscard]] Result<void> end() const;

 private:
  enum class State : std::uint8_t { preamble, boundary, head, data, done, failed };

  bool step();
  bool skip_preamble();
  bool read_boundary();
  bool read_head();
  bool read_data();
  bool fail(Error error);

  std::string mark_;  // "--" and the boundary
  std::string next_;  // the same at the begin of a line
  Events events_;
  FormLimits limits_;
  State state_ = State::preamble;
  std::string buffer_;  // what no step has used yet
  std::size_t parts_ = 0;
  bool is_begun_ = false;
  std::optional<Error> error_;
};

}  // namespace millrace::http
