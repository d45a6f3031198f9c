// Server-sent events by the rules of the WHATWG HTML standard: LF, CR and CRLF, comments,
// multi-line data, ids, retry, one BOM, all of them also split between chunks.
// Source: WHATWG HTML, section "Parsing an event stream" (2026).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "framing/framing.hpp"

namespace millrace::framing {

enum class SseDispatch : std::uint8_t {
  blank_line,  // as the standard says
  // For streams whose records stand in `data:` alone: a first data line that is a complete JSON
  // document is given at its own line end, since some servers end a record with a single LF. At the
  // end of the stream an unterminated record is given, too. An object of JSON that stands outside
  // of all fields is stray(), and so is one in a field `error`, as its member of this name.
  complete_json,
  // As blank_line, but an unterminated last block is given at the end of the stream.
  blank_line_or_end,
};

// How the beginning of a body without a whole record reads as server-sent events.
enum class SseHead : std::uint8_t {
  silent,   // nothing but empty lines and comments
  begun,    // also fields, or the beginning of one
  foreign,  // a line that is neither
};

SseHead read_sse_head(std::string_view head);

class SseFraming final : public Framing {
 public:
  explicit SseFraming(SseDispatch dispatch, FramingLimits limits = {})
      : dispatch_(dispatch), limits_(limits) {}

  Result<void> feed(std::string_view bytes, FrameSink& sink) override;
  Result<void> finish(FrameSink& sink) override;
  [[nodiscard]] std::string_view unframed() const override { return unframed_; }

  // True once a `data` field was seen.
  [[nodiscard]] bool seen_data() const { return seen_data_; }
  // The reconnection time the stream asked for, in milliseconds.
  [[nodiscard]] std::optional<std::int64_t> retry() const { return retry_; }
  [[nodiscard]] std::string_view last_id() const { return id_; }

 private:
  Result<void> on_line(std::string_view line, bool blank_follows, FrameSink& sink);
  Result<void> on_field(std::string_view name, std::string_view value, bool blank_follows,
                        FrameSink& sink);
  Result<void> on_data(std::string_view value, bool blank_follows, FrameSink& sink);
  void give(std::string_view data, FrameSink& sink);
  void give_held(FrameSink& sink);
  bool strip_bom(std::string_view& bytes);
  bool keep_unframed(std::string_view line);

  SseDispatch dispatch_;
  FramingLimits limits_;
  std::string carry_;  // an unfinished line
  std::string data_;   // data lines of the event that is not complete
  // What is being handled; kept as members so that their memory is used again.
  std::string line_;
  std::string held_;
  std::string unframed_;
  std::string event_;
  std::string id_;
  std::optional<std::int64_t> retry_;
  std::size_t data_lines_ = 0;
  std::size_t bom_seen_ = 0;
  bool at_start_ = true;
  bool skip_line_feed_ = false;  // the last chunk ended behind a CR
  bool seen_data_ = false;
  bool in_unframed_ = false;  // the next line belongs to it
};

}  // namespace millrace::framing
