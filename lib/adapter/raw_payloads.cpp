#include "adapter/raw_payloads.hpp"

#include <algorithm>

#include "adapter/adapter.hpp"
#include "base/utf8.hpp"

namespace millrace::adapter {
Result<void> RawPayloads::feed(std::string_view bytes) {
  remember(bytes);
  return framing_.feed(bytes, *this);
}

Result<void> RawPayloads::finish() {
  MILLRACE_TRY(framing_.finish(*this));
  if (frames_ > 0 || head_.empty()) return {};
  json::Document document;
  const auto value = document.parse(head_);
  if (!value || !error_of(value.value())) return {};
  // Between tokens, which is the only place where JSON can have it, a blank does as well.
  std::replace(head_.begin(), head_.end(), terminator, ' ');
  give(json::trim(head_));
  return {};
}

void RawPayloads::remember(std::string_view bytes) {
  total_bytes_ += bytes.size();
  if (frames_ > 0 || total_bytes_ > head_limit_bytes) {
    head_.clear();
  } else {
    head_.append(bytes);
  }
}

void RawPayloads::on_frame(const framing::Frame& frame) {
  ++frames_;
  const std::string_view payload = json::trim(frame.data);
  if (!payload.empty() && payload != done_payload) give(payload);
}

void RawPayloads::give(std::string_view payload) {
  if (utf8::is_valid(payload)) {
    out_.append(payload);
  } else {
    utf8::append_replaced(out_, payload);
  }
  out_.push_back(terminator);
}

}  // namespace millrace::adapter
