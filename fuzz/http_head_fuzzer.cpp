// What the HTTP server makes of a connection's bytes does not depend on how they are cut, and what
// it accepts has none of the ambiguities it exists to refuse.
#include <optional>
#include <string>

#include "fuzz_support.hpp"
#include "http/body_decoder.hpp"
#include "http/request_head.hpp"

using namespace millrace;

namespace {

struct Outcome {
  std::optional<Errc> refusal;
  std::size_t used = 0;  // bytes of complete requests
  std::string bodies;
  int requests = 0;

  bool operator==(const Outcome&) const = default;
};

void check_accepted(const http::RequestHead& head, std::string_view raw) {
  fuzz::require(head.headers.count("Host") == 1, "one Host");
  fuzz::require(head.headers.count("Content-Length") <= 1, "at most one length");
  fuzz::require(head.headers.count("Transfer-Encoding") <= 1, "at most one coding");
  fuzz::require(!head.headers.find("Content-Length") || !head.headers.find("Transfer-Encoding"),
                "not both a length and a coding");
  fuzz::require(head.path == "*" || head.path.starts_with('/'), "a path");
  for (std::size_t at = 0; at < raw.size(); ++at) {
    const bool is_return = raw[at] == '\r';
    fuzz::require(is_return == (at + 1 < raw.size() && raw[at + 1] == '\n'), "CR LF only together");
    fuzz::require(raw[at] != '\0', "no NUL");
  }
}

// Reads request after request, as a connection does.
class Reader {
 public:
  void feed(std::string_view bytes) {
    waiting_.append(bytes);
    while (!outcome.refusal && step()) {
    }
  }

  Outcome outcome;

 private:
  static constexpr http::HeadLimits head_limits{1024, 256, 16};
  static constexpr http::BodyLimits body_limits{512, 64, 64, 4};

  bool reject(const Error& error) {
    outcome.refusal = error.code;
    return false;
  }

  void take(std::size_t bytes) {
    waiting_.erase(0, bytes);
    outcome.used += bytes;
  }

  bool step() {
    if (waiting_.empty()) return false;
    if (decoder_) {
      auto used = decoder_->feed(waiting_, outcome.bodies);
      if (!used) return reject(used.error());
      take(used.value());
      if (!decoder_->done()) return false;
      decoder_.reset();
      outcome.bodies.push_back('|');
      return true;
    }
    auto length = scanner_.scan(waiting_);
    if (!length) return reject(length.error());
    if (length.value() == 0) return false;
    const std::string_view raw = std::string_view(waiting_).substr(0, length.value());
    auto head = http::parse_request_head(raw, head_limits);
    if (!head) return reject(head.error());
    check_accepted(head.value(), raw);
    ++outcome.requests;
    take(length.value());
    scanner_ = http::HeadScanner(head_limits);
    outcome.bodies.clear();
    if (head.value().framing != http::Framing::none) {
      decoder_.emplace(head.value().framing, head.value().content_length, body_limits);
    }
    return true;
  }

  std::string waiting_;
  http::HeadScanner scanner_{head_limits};
  std::optional<http::BodyDecoder> decoder_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  Reader whole;
  whole.feed(bytes);
  Reader cut;
  fuzz::feed_in_pieces(bytes, data[0], [&](std::string_view piece) {
    if (!cut.outcome.refusal) cut.feed(piece);
  });
  fuzz::require(whole.outcome.refusal == cut.outcome.refusal,
                "the verdict does not depend on cuts");
  fuzz::require(whole.outcome.requests == cut.outcome.requests, "nor does the count of requests");
  if (!whole.outcome.refusal) fuzz::require(whole.outcome == cut.outcome, "nor do the bodies");
  // Alone: a head that no scanner saw before.
  (void)http::parse_request_head(bytes, {});
  return 0;
}
