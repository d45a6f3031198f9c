#include "adapter/named_records.hpp"

#include <algorithm>

#include "adapter/adapter.hpp"
#include "base/json.hpp"
#include "base/utf8.hpp"

namespace millrace::adapter {
Result<void> NamedRecords::feed(std::string_view bytes) {
  if (!found_) {
    body_.append(
        bytes.substr(0, limits_.event_bytes - std::min(limits_.event_bytes, body_.size())));
  }
  MILLRACE_TRY(framing_.feed(bytes, *this));
  if (found_ || body_.size() < limits_.event_bytes) return {};
  return make_error(Errc::event_too_large, "A body without a record is larger than " +
                                               std::to_string(limits_.event_bytes) + " bytes.");
}

Result<void> NamedRecords::finish() {
  MILLRACE_TRY(framing_.finish(*this));
  if (!found_) give_body();
  return {};
}

// A stream of comments alone is a stream in which nothing was said.
void NamedRecords::give_body() {
  if (json::trim(body_).empty() || body_.front() == ':') return;
  std::string valid;
  utf8::append_replaced(valid, body_);
  out_.append("text\n\n");
  json::append_string(out_, valid);
  out_.push_back(terminator);
}

void NamedRecords::on_frame(const framing::Frame& frame) {
  found_ = true;
  std::string().swap(body_);
  const std::string_view payload = json::trim(frame.data);
  if (payload.empty() || payload == done_payload) return;
  append(frame.event);
  out_.push_back('\n');
  append(frame.id);
  out_.push_back('\n');
  append(payload);
  out_.push_back(terminator);
}

void NamedRecords::append(std::string_view text) {
  if (utf8::is_valid(text)) {
    out_.append(text);
  } else {
    utf8::append_replaced(out_, text);
  }
}

}  // namespace millrace::adapter
