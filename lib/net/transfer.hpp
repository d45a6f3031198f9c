// One transfer: its request as it stands after redirects, what has arrived, and libcurl's
// callbacks. Decides nothing about sockets, names or handles; the client does.
#pragma once

#include <curl/curl.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/optional_box.hpp"
#include "net/body_decoder.hpp"
#include "net/ca_bundle.hpp"
#include "net/client.hpp"
#include "net/curl_handles.hpp"
#include "net/deadlines.hpp"
#include "net/idle_sockets.hpp"
#include "net/request_rules.hpp"
#include "net/url.hpp"
#include "os/timer.hpp"

namespace millrace::net {

// Thread: engine thread.
class Transfer {
 public:
  using TimePoint = Deadlines::TimePoint;

  // What is to be done when libcurl has ended a hop.
  enum class Next : std::uint8_t {
    finish,  // with error()
    follow,  // send the redirected request
    again,   // send the request on a connection of its own: the kept one was spoilt
    hold,    // decoded bytes wait for a resume
  };

  // What all transfers of a client have in common.
  struct Settings {
    explicit Settings(const ClientOptions& options)
        : user_agent(options.user_agent),
          receive_buffer_bytes(static_cast<long>(options.receive_buffer_bytes)),
          roots(options) {}
    std::string user_agent;
    long receive_buffer_bytes;
    CaBundle roots;
  };

  struct Hooks {
    std::function<void()> on_timer;  // a deadline may have passed
    std::function<void()>
        on_redirect;  // the rest of this hop can be left unread; from inside libcurl
  };

  Transfer(os::EventLoop& loop, TransferId id, Request request,
           std::shared_ptr<TransferHandler> handler, Hooks hooks);
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  [[nodiscard]] TransferId id() const { return id_; }
  [[nodiscard]] const Url& url() const { return url_; }
  [[nodiscard]] CURL* easy() const { return easy_.get(); }
  // True when this hop has a proxy, which may still be passed by for this host.
  [[nodiscard]] bool has_proxy() const { return request_.route && !proxy().empty(); }
  // True when this hop goes by it.
  [[nodiscard]] bool uses_proxy() const;
  // Counts the redirects followed; tells a late call for one hop from the next hop.
  [[nodiscard]] int hop() const { return hop_; }

  // Checks the request and reads its URL.
  // Errors: invalid_argument, invalid_url.
  Result<void> prepare();
  // Whether this hop may be made, by its URL and then by the addresses of its host.
  // Errors: address_blocked.
  [[nodiscard]] Result<void> permit_url() const;
  [[nodiscard]] Result<void> permit(const os::Addresses& addresses) const;
  // Sets every option of `easy` for the current hop; `addresses` pins the host when not empty.
  // False when memory is short. `crowded`: many transfers run beside this one.
  // Lifetime: the sockets outlive the hop.
  [[nodiscard]] bool attach(CurlEasy easy, const os::Addresses& addresses, const Settings& settings,
                            IdleSockets& sockets, bool crowded);
  // Gives the handle back; it must have been removed from libcurl's multi handle.
  CurlEasy detach() { return std::move(easy_); }
  // Turns the request into the one that the redirect asks for.
  // Errors: protocol_error, too_many_redirects.
  Result<void> follow();
  Next ended(CURLcode code, const CaBundle& roots);

  void pause();
  void resume();
  [[nodiscard]] bool is_paused() const { return is_paused_; }
  // Delivers decoded bytes that wait inside, as far as the transfer is not paused again.
  void deliver_waiting();
  // True, once, when libcurl must be told to go on.
  bool take_curl_pause() { return std::exchange(is_curl_paused_, false); }
  // True when an error stands, or libcurl has ended the body and nothing waits any more.
  [[nodiscard]] bool is_over() const { return error_ || (is_body_ended_ && !waiting_input_); }
  // What on_done is to be told.
  [[nodiscard]] const OptionalBox<Error>& error() const { return error_; }

  // Sets the error of a limit that has been exceeded; otherwise waits for the next deadline.
  void check_deadlines();
  // The first error counts; nothing is delivered after it.
  void fail(Error error);
  // Ends the delivery; the handler is the caller's to call once more.
  // Whether a request of it began to go out, on this hop or an earlier one.
  [[nodiscard]] bool was_sent() const { return is_sent_ || was_sent_; }
  [[nodiscard]] bool has_handler() const { return handler_ != nullptr; }
  std::shared_ptr<TransferHandler> release_handler() { return std::move(handler_); }

 private:
  static std::size_t on_header(char* bytes, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* bytes, std::size_t size, std::size_t count, void* self);
  static int on_connected(void* self, char* address, char* local_address, int port, int local_port);
  static curl_socket_t on_open_socket(void* self, curlsocktype purpose, curl_sockaddr* address);

  void set_connection_options(const os::Addresses& addresses, const Settings& settings,
                              bool crowded);
  [[nodiscard]] long connect_limit(const os::Addresses& addresses) const;
  void set_trust(const CaBundle& roots);
  void set_route(const Route& route);
  void set_callbacks();
  void set_method();
  bool set_headers(const std::string& user_agent);
  bool set_addresses(const os::Addresses& addresses);
  void check_connection(const ConnectionEnds& ends);
  void check_repetition();
  void header_line(std::string_view line);
  void status_line(std::string_view line);
  void field_line(std::string_view line);
  void head_complete();
  [[nodiscard]] bool stays_at_origin() const;
  [[nodiscard]] bool is_rejected_by_proxy() const;
  void note_connection();
  void forget_request();
  void begin_body();
  void check_length(std::string_view length);
  [[nodiscard]] std::size_t header_limit() const;
  [[nodiscard]] Error too_large() const;
  void decode(std::string_view input);
  void deliver(std::string_view decoded);
  void finish_body();
  [[nodiscard]] bool is_stopped() const { return error_.has_value() || !handler_; }

  // Only with a route. A guarded hop must know whether it is the proxy or the host that it connects
  // to, and does not leave that to libcurl.
  [[nodiscard]] const std::string& proxy() const {
    // Never destroyed: at the end of a process the engine's thread may still read it.
    static const std::string& none = *new std::string;
    const Route& route = *request_.route;
    if (request_.guard && is_named(route.no_proxy, url_.host)) return none;
    return url_.scheme == "https" ? route.https_proxy : route.http_proxy;
  }
  [[nodiscard]] bool has_authorities() const {
    return request_.route && !request_.route->authorities.empty();
  }
  template <class Work>
  bool guarded(Work work);
  void received();
  void rearm();
  [[nodiscard]] std::string timeout_sentence(Errc code) const;

  TransferId id_;
  Request request_;
  std::shared_ptr<TransferHandler> handler_;
  Hooks hooks_;
  Deadlines deadlines_;
  os::Timer timer_;
  Url url_;
  int hop_ = 0;
  bool left_origin_ = false;  // a redirect led to another origin

  CurlEasy easy_;
  CurlList header_list_;
  CurlList address_list_;
  std::array<char, CURL_ERROR_SIZE> curl_words_{};

  ResponseHead head_;
  IdleSockets* sockets_ = nullptr;
  OptionalBox<ConnectionEnds> ends_;  // of a connection that may be one of HTTP/2
  std::vector<int> opened_;           // sockets of this hop that are to connect
  bool is_spoilt_ = false;            // the kept connection that this hop was given
  bool wants_fresh_ = false;          // no kept connection
  bool is_sent_ = false;              // on this hop
  bool was_sent_ = false;             // on an earlier one
  bool is_head_begun_ = false;
  bool is_head_complete_ = false;
  int status_ = 0;
  std::size_t header_bytes_ = 0;
  std::size_t header_lines_ = 0;
  std::string location_;  // not empty: the hop is a redirect to be followed

  std::unique_ptr<BodyDecoder> decoder_;
  std::size_t decoded_bytes_ = 0;
  OptionalBox<std::string> waiting_input_;  // coded bytes kept back by a pause in their middle
  bool is_paused_ = false;
  bool is_curl_paused_ = false;
  bool is_body_ended_ = false;
  OptionalBox<Error> end_error_;  // how libcurl ended, told when nothing waits any more
  OptionalBox<Error> error_;
};

}  // namespace millrace::net
