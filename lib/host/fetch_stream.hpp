// A request that a host's own HTTP server got and passes on to the routes of a runtime: the same
// handlers answer it as those of the engine's server.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "host/host_task.hpp"
#include "host/reader_room.hpp"
#include "host/reader_stall.hpp"
#include "http/router.hpp"

namespace millrace::host {

class RuntimeStream;

struct FetchSpec {
  http::RequestHead head;
  std::string body;
  std::string remote_address;
  bool is_peek = false;
  bool is_oversized = false;                   // the host has read more of the body than may come
  bool is_fed = false;                         // the body comes piece by piece
  std::shared_ptr<const http::Caller> caller;  // the host itself asks, for this one
};

// Reads what a host says of a request.
// Shape: {"method", "target": path and query, "headers": [[name, value]], "remoteAddress"?,
// "peek"?: true for a look ahead, whose body is still to come, "oversized"?: true for a body that
// was too large to be read, "fed"?: true for a body that comes by `feed`, "principal"?: for whom
// the host itself asks, without a key}.
// Errors: invalid_json, invalid_argument.
Result<FetchSpec> read_fetch(std::string_view json, std::string body);

// The head is {"status", "headers": [[name, value]]}, then the bytes of the body. A look ahead that
// is not rejected gives {"bodyBytes": how many may come, "isFed": whether they are to be fed}
// alone. A request whose body is fed has a head {"hasRoom": true} whenever a piece may come. What
// keeps the runtime from answering is the end of the stream. One whose reader takes nothing of what
// waits for it is ended with connection_lost, and what waited is dropped.
// Thread: engine thread.
class FetchStream final : public HostTask, public std::enable_shared_from_this<FetchStream> {
 public:
  FetchStream(DrainQueue::StreamId id, HostServices& services,
              std::shared_ptr<RuntimeStream> runtime, FetchSpec spec);

  void start();

  void read_as(const PipeSpec& spec) override { static_cast<void>(spec); }
  void feed(std::string_view bytes) override;
  void fed() override;
  void resume() override;
  void cancel() override;
  void silence() override;

 private:
  class Response;
  void route();
  void let_come(std::uint64_t body_bytes, bool is_fed);
  void dispatch(const http::Router::Match& match, const std::shared_ptr<Response>& response);
  void handle(const http::Handler& handler, const std::shared_ptr<Response>& response);
  void announce_room();
  void answer(const http::Answer& answer);
  void open(int status, const http::Headers& headers);
  bool push(std::string_view bytes);
  void close(std::string end);
  void let_go();

  DrainQueue::StreamId id_;
  HostServices& services_;
  std::shared_ptr<RuntimeStream> runtime_;
  FetchSpec spec_;
  http::Headers fields_;
  std::shared_ptr<const http::Caller> caller_;
  std::shared_ptr<http::ObservedRequest> observed_;  // null where requests are not observed
  http::ErrorBody error_body_ = nullptr;
  std::string path_;
  bool is_head_ = false;  // no body is sent
  std::weak_ptr<Response> response_;
  // Of a body that is fed: where it goes, and what answers behind it.
  std::shared_ptr<http::BodySink> sink_;
  std::shared_ptr<Response> feeding_;
  http::Handler handler_;
  std::uint64_t fed_bytes_ = 0;
  std::uint64_t most_bytes_ = 0;
  ReaderRoom room_;
  ReaderStall stall_;
  bool closed_ = false;
};

}  // namespace millrace::host
