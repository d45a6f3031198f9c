#include "api/attachment_stream.hpp"

#include <algorithm>
#include <utility>

namespace millrace::api {
namespace {

// Read at once: what a slow client holds in memory.
constexpr std::uint64_t piece_bytes = std::uint64_t{256} << 10U;

}  // namespace

AttachmentStream::AttachmentStream(ApiContextPtr context, ResponsePtr response, AttachmentPart part)
    : context_(std::move(context)), response_(std::move(response)), part_(std::move(part)) {}

void AttachmentStream::start() {
  // The response holds this while its client reads.
  response_->on_drain([self = shared_from_this()] { self->read(); });
  read();
}

void AttachmentStream::read() {
  // A client may also make room for more while a piece is being read.
  if (std::exchange(is_reading_, true)) return;
  const auto most = static_cast<std::size_t>(std::min(piece_bytes, part_.size - sent_));
  context_->read_store<Piece>(
      [hash = part_.hash, from = part_.from + sent_, most](store::StorageBackend& backend) {
        return backend.blob_part(hash, from, most);
      },
      [self = shared_from_this()](const Piece& piece) { self->take(piece); });
}

void AttachmentStream::take(const Piece& piece) {
  is_reading_ = false;
  if (!response_ || !response_->is_open()) return;
  if (!piece) return fail(piece.error());
  const Error damaged = make_error(Errc::store_damaged, "The blob " + part_.hash + " is damaged.");
  // It was removed meanwhile, or has lost bytes.
  if (!piece.value() || piece.value()->empty()) return fail(damaged);
  const std::string& bytes = *piece.value();
  sent_ += bytes.size();
  const bool is_last = sent_ == part_.size;
  if (part_.is_whole) hash_.update(bytes);
  if (is_last && part_.is_whole && hash_.hex() != part_.hash) return fail(damaged);
  if (!has_begun_) {
    const auto begun = response_->start_sized(part_.status, part_.headers, part_.size);
    if (!begun) return fail(begun.error());
    has_begun_ = true;
  }
  const bool has_room = response_->write(bytes);
  if (is_last) return response_->end();
  if (has_room) read();
}

// An answer that has begun has no other way to report it than its length.
void AttachmentStream::fail(const Error& error) {
  response_->on_drain(nullptr);
  const auto response = std::exchange(response_, nullptr);
  if (!has_begun_) send_failure(response, error);
}

}  // namespace millrace::api
