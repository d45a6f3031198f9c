// Texts in pieces whose server sends in each piece all that went before again.
// Source: NousResearch/hermes-agent, pull request 35718; anomalyco/opencode, issue 17339 (2026).
#pragma once

#include <cstddef>
#include <string_view>

#include "adapter/given_text.hpp"

namespace millrace::adapter {

// Knows what came by its length and a hash: nothing is kept.
class ResentText {
 public:
  // Whether more than an empty object came, of which the piece is no repetition.
  [[nodiscard]] bool is_other(std::string_view piece) const {
    constexpr std::size_t empty_object = 2;
    if (size_ <= empty_object) return false;
    return piece.size() < size_ || !(hash_of(piece.substr(0, size_)) == hash_);
  }
  // What of the piece is new. `may_resend`: what came can have no second beginning, so that a piece
  // that begins with all of it is no continuation.
  std::string_view take(std::string_view piece, bool may_resend) {
    const bool is_long = size_ > 0 && piece.size() >= size_;
    if (is_long && (may_resend || resends_) && hash_of(piece.substr(0, size_)) == hash_) {
      resends_ = true;
      piece.remove_prefix(size_);
    }
    hash_.add(piece);
    size_ += piece.size();
    return piece;
  }

 private:
  static PieceHash hash_of(std::string_view text) {
    PieceHash hash;
    hash.add(text);
    return hash;
  }

  PieceHash hash_;
  std::size_t size_ = 0;
  bool resends_ = false;
};

}  // namespace millrace::adapter
