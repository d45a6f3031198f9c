// Newline-delimited JSON: a record a line (LF, CR or CRLF ends it), white space around it ignored,
// blank lines skipped.
#pragma once

#include <string>

#include "framing/framing.hpp"

namespace millrace::framing {

class NdjsonFraming final : public Framing {
 public:
  explicit NdjsonFraming(FramingLimits limits = {}) : limits_(limits) {}

  Result<void> feed(std::string_view bytes, FrameSink& sink) override;
  Result<void> finish(FrameSink& sink) override;

 private:
  FramingLimits limits_;
  std::string carry_;
  std::string line_;  // the line being handled; its memory is used again
};

}  // namespace millrace::framing
