#include "api/run_reply.hpp"

#include <utility>

#include "api/sse_response.hpp"

namespace millrace::api {

RunReply::RunReply(os::EventLoop& loop, std::shared_ptr<http::ResponseStream> response,
                   RunReading reading)
    : RecordReply(loop, std::move(response)),
      reading_(std::move(reading)),
      encoder_(reading_.records) {}

void RunReply::encode_end(const Error* error) {
  if (error != nullptr) encoder_.fail(error->code_name(), error->message);
}

http::Headers RunReply::headers() const {
  return ag_ui_headers(reading_.records.is_binary);
}

std::string RunReply::keep_alive() const {
  // No event comes before the start of a run.
  if (reading_.records.is_binary && !has_sent_) return {};
  return ag_ui_keep_alive(reading_.records.is_binary);
}

void RunReply::take_into(std::string& buffer) {
  has_sent_ = true;
  encoder_.take_into(buffer);
}

void RunReply::left() {
  if (reading_.on_leave) reading_.on_leave();
}

}  // namespace millrace::api
