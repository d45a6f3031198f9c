// The bytes of an attachment as an answer, read from the store piece by piece.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "api/api_answers.hpp"
#include "api/api_context.hpp"
#include "base/sha256_stream.hpp"

namespace millrace::api {

// What of a blob is sent, and under which head.
struct AttachmentPart {
  std::string hash;  // of the whole blob
  std::uint64_t from = 0;
  std::uint64_t size = 0;
  bool is_whole = false;
  int status = 200;
  http::Headers headers;
};

// Reads on as the client takes what there is. A whole blob is compared with its hash: its last
// piece is not sent where the two differ, and the answer is cut.
// Thread: engine thread.
class AttachmentStream final : public std::enable_shared_from_this<AttachmentStream> {
 public:
  AttachmentStream(ApiContextPtr context, ResponsePtr response, AttachmentPart part);

  void start();

 private:
  using Piece = Result<std::optional<std::string>>;
  void read();
  void take(const Piece& piece);
  void fail(const Error& error);

  ApiContextPtr context_;
  ResponsePtr response_;  // null once the answer was cut
  AttachmentPart part_;
  std::uint64_t sent_ = 0;
  Sha256Stream hash_;
  bool is_reading_ = false;
  bool has_begun_ = false;
};

}  // namespace millrace::api
