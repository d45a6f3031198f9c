// One client connection: reads requests, hands them to the router one at a time, sends what the
// response streams queue, and keeps the deadlines. Everything here runs on the engine thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "http/access.hpp"
#include "http/body_decoder.hpp"
#include "http/buffered_bytes.hpp"
#include "http/connection_response.hpp"
#include "http/options.hpp"
#include "http/request_head.hpp"
#include "http/router.hpp"
#include "http/socket.hpp"

namespace millrace::http {

class Connection;

// What the connections of one server share.
struct ServerContext {
  ServerContext(os::EventLoop& event_loop, ServerOptions server_options, Router routes,
                AccessList access_list);
  ~ServerContext();
  ServerContext(const ServerContext&) = delete;
  ServerContext& operator=(const ServerContext&) = delete;

  void remove(const std::shared_ptr<Connection>& connection);

  os::EventLoop& loop;
  ServerOptions options;
  Router router;
  AccessList access;
  std::vector<char> scratch;  // for the bytes of one read, which are used before the next
  std::unordered_set<std::shared_ptr<Connection>> connections;
  const std::shared_ptr<std::uint64_t> buffered_bytes = std::make_shared<std::uint64_t>(0);
  bool is_stopping = false;
  std::function<void()> on_empty;  // called when the last connection of a stopping server is gone
};

// Lifetime: the context owns it until it is closed; waits and response streams hold it too.
class Connection final : public SocketOwner, public std::enable_shared_from_this<Connection> {
 public:
  using Clock = std::chrono::steady_clock;

  Connection(ServerContext& context, int descriptor, bool is_ip6, std::string remote_address);

  void start();
  // Answers with the error and closes when the client has had time to read it.
  void reject(const Error& error);
  [[nodiscard]] bool is_late(Clock::time_point now) const;
  // Acts on the deadline that is_late found.
  void on_late(Clock::time_point now);
  // Closes as soon as no request is being answered.
  void finish_up();
  // Asks the handler of an answer on its way to end it.
  void expedite();
  // Closes at once.
  void close();
  // Closes without telling anybody: the server and perhaps the loop are gone.
  void orphan();

  // For the response stream of the request being answered.
  void queue(std::string_view bytes);
  void queue_part(std::string_view bytes, bool as_chunk);  // of a streamed body
  // True when the peer keeps up; otherwise the stream is told when it has.
  [[nodiscard]] bool has_room();
  [[nodiscard]] bool may_go_on() const;
  void end_response(bool keep_alive);
  void post(std::function<void()> work);

  void on_readable() override;
  void on_writable() override;

 private:
  enum class Phase : std::uint8_t {
    waiting,     // for the first byte of a request
    head,        // a request has begun
    body,        // its head is good
    responding,  // its handler was called
    closing,     // the last bytes are being sent
    lingering,   // everything is sent; what still comes is dropped, so that the peer can read it
    closed,
  };

  // The request being read.
  struct Incoming {
    Incoming(const HeadLimits& limits, std::shared_ptr<std::uint64_t> total)
        : scanner(limits), buffered(std::move(total)) {}
    HeadScanner scanner;
    RequestHead head;
    Exchange exchange;
    std::unique_ptr<BodyDecoder> decoder;
    std::string body;
    std::shared_ptr<BodySink> sink;  // takes the body instead
    bool is_held = false;            // it takes no more for now
    const Handler* handler = nullptr;
    std::shared_ptr<const Caller> caller;
    BufferedBytes buffered;        // of the body
    std::uint64_t span_bytes = 0;  // that came within this span of ServerTimes::body_span
  };

  // Reading.
  void receive(std::string_view bytes);
  void resume();
  std::size_t process(std::string_view bytes);
  [[nodiscard]] bool may_begin() const;
  void begin_request();
  std::size_t take_head(std::string_view bytes);
  std::size_t take_body(std::string_view bytes);
  void on_head(bool body_has_come);
  [[nodiscard]] bool begin_sink(const Router::Match& match);
  void on_sink_room();
  Result<void> check_access();
  [[nodiscard]] bool enter_zone(Zone& zone, const Router::Match& match);
  void answer_options(const std::string& allow);
  void dispatch();
  [[nodiscard]] std::size_t read_room() const;

  // Answering without a handler.
  void observe(Exchange& exchange, const RequestHead& head) const;
  void answer(int status, const Headers& headers, std::string_view body, bool keep_alive);
  void answer_error(const Error& error, const Headers& headers, bool keep_alive);

  // Writing.
  [[nodiscard]] std::size_t queued_bytes() const { return out_.size() - sent_; }
  void schedule_flush();
  void flush();
  void on_flushed();
  void begin_waiting();
  void begin_closing();
  void settle();
  void act_on_deadline(Clock::time_point now);
  void set_deadline(std::chrono::milliseconds from_now);
  // Empties a buffer and gives back most of its memory, which a silent connection need not hold.
  static void release(std::string& buffer);
  // The edge where exceptions of callbacks and of the library end: this connection is lost, no
  // other.
  template <class Work>
  void guarded(Work work) {
    if (phase_ == Phase::closed) return;
    try {
      work();
    } catch (...) {
      is_processing_ = false;
      close();
    }
  }

  static constexpr Clock::time_point never = Clock::time_point::max();

  ServerContext* context_;  // null when orphaned
  Socket socket_;
  std::string remote_address_;
  std::string in_;  // read but not used yet
  std::string out_;
  std::size_t sent_ = 0;  // bytes of out_
  std::unique_ptr<Incoming> incoming_;
  std::weak_ptr<ConnectionResponse> response_;
  Clock::time_point deadline_ = never;        // of the phase
  Clock::time_point write_deadline_ = never;  // for the next byte to be taken
  Phase phase_ = Phase::waiting;
  bool is_processing_ = false;
  bool is_read_waiting_ = false;
  bool is_write_waiting_ = false;
  bool is_flush_scheduled_ = false;
  bool wants_drain_ = false;
  bool has_ended_ = false;  // the peer sends no more
};

}  // namespace millrace::http
