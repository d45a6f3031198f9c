#include "api/lobe_reply.hpp"

#include <utility>

#include "store/backend.hpp"

namespace millrace::api {

// A reader that comes again by itself has its place in the header, and one that a page begins in
// the address: the later one counts.
std::optional<LobeReading> read_lobe_reading(const http::Request& request,
                                             const ResponsePtr& response) {
  LobeReading reading;
  reading.operation_id = request.query_value("operationId").value_or("");
  if (reading.operation_id.empty()) {
    send_refusal(response, 400, "operationId parameter is required");
    return std::nullopt;
  }
  reading.after = "0";
  reading.cursor = {};
  reading.with_subagents = request.query_value("subagents").value_or("") == "true";
  for (const std::string& given :
       {request.query_value("lastEventId").value_or(""),
        std::string(request.headers.find("Last-Event-ID").value_or(""))}) {
    const auto cursor = encoder::parse_lobe_cursor(given);
    if (!cursor) {
      send_refusal(response, 400, "lastEventId must be the id of an event");
      return std::nullopt;
    }
    const encoder::LobeCursor later = reading.cursor.or_later(*cursor);
    if (later == reading.cursor) continue;
    reading.cursor = later;
    reading.after = given;
  }
  return reading;
}

LobeReply::LobeReply(os::EventLoop& loop, std::shared_ptr<http::ResponseStream> response,
                     LobeReading reading)
    : RecordReply(loop, std::move(response)),
      reading_(std::move(reading)),
      encoder_(reading_.cursor, reading_.with_subagents) {}

void LobeReply::encode_end(const Error* error) {
  if (error == nullptr) return encoder_.rest();
  encoder_.fail(error->code_name(), error->message);
}

std::string LobeReply::opening() const {
  return encoder::RecordedLobe::connected(reading_.operation_id, reading_.after,
                                          store::system_clock()());
}

std::string LobeReply::keep_alive() const {
  return encoder::RecordedLobe::heartbeat(reading_.operation_id, store::system_clock()());
}

}  // namespace millrace::api
