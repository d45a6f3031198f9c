// The engine's HTTP client: streaming requests over HTTP and HTTPS on the engine thread.
//
// HTTP/1.1 unless a route offers HTTP/2, so that a paused stream holds up nothing but itself and
// its sender. Environment variables are never read: what the caller sets (CA files, proxies)
// stands in ClientOptions and Route.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "os/resolver.hpp"

namespace millrace::os {
class EventLoop;
}

namespace millrace::net {

class AddressGuard;

// How long each phase of a transfer may take; 0 means no limit. There are no other limits in time.
struct Timeouts {
  // Name lookup, TCP and TLS; begins again with each redirect.
  std::chrono::milliseconds connect{10'000};
  // From the established connection to the first byte of the response head.
  std::chrono::milliseconds first_byte{0};
  // Between two arrivals of bytes, whatever they mean. Stands still while the transfer is paused.
  std::chrono::milliseconds idle{0};
  // From start to end, redirects and pauses included.
  std::chrono::milliseconds total{0};
};

// 0 means no limit.
struct Limits {
  std::size_t header_bytes = std::size_t{64} << 10U;   // of all response heads of one request
  std::size_t decoded_bytes = std::size_t{64} << 20U;  // of the body, after decompression
};

struct Header {
  std::string name;
  std::string value;
};

enum class Redirects : std::uint8_t {
  follow,  // as the Fetch standard says, but across origins only harmless headers are sent again
  same_origin,  // another origin's redirect is an answer like any other: a body may be private
  report,       // each redirect is
};

// How the connections of a request are made, beyond the client's own settings.
struct Route {
  // The proxies of http: and https: addresses, "[scheme://][user:password@]host[:port]" with the
  // scheme http, https, socks5 or socks5h; empty: none. https: addresses are reached by CONNECT.
  std::string http_proxy;
  std::string https_proxy;
  // Hosts that are reached without a proxy, as NO_PROXY lists them.
  std::string no_proxy;
  // PEM text of the only authorities that are trusted; empty: the client's roots.
  std::string authorities;
  // PEM texts of what the client shows to the request's own origin, and to no other.
  std::string certificate;
  std::string key;
  std::string key_password;
  // Offers HTTP/2. A paused HTTP/2 stream may hold 32 MB inside; for answers that are read at once.
  bool http2 = false;
};

struct Request {
  std::string method = "GET";
  std::string url;
  // Content-Length, Connection and Keep-Alive are the engine's own and left out. The engine adds
  // Accept, User-Agent and Accept-Encoding where they are missing.
  std::vector<Header> headers;
  std::string body;
  bool has_body = false;  // an empty body is not the same as none
  Timeouts timeouts;
  Limits limits;
  Redirects redirects = Redirects::follow;
  int max_redirects = 20;
  // Whether a body with Content-Encoding gzip or deflate is decoded; any other coding is an error.
  bool decompress = true;
  std::shared_ptr<const Route> route;  // nullptr: directly, with the client's roots
  // Asked for each hop and each socket; nullptr: any address may be reached. A proxy, which looks
  // up names itself, is taken only by a guard that trusts it.
  std::shared_ptr<const AddressGuard> guard;
};

struct ResponseHead {
  int status = 0;
  std::string reason;
  std::vector<Header> headers;  // as received, also Content-Encoding of a body that is decoded
  std::string url;              // of the last request, without fragment
  bool redirected = false;
};

// Receives one transfer. Calls come on the engine thread, in this order: at most one on_head, any
// number of on_data, exactly one on_done. A handler may call the client; it must not destroy it.
class TransferHandler {
 public:
  virtual ~TransferHandler() = default;
  virtual void on_head(ResponseHead head) = 0;
  // Lifetime: `decoded` is valid during the call; at most 16 KiB or the receive buffer.
  virtual void on_data(std::string_view decoded) = 0;
  // Without an error the body is complete. What arrived before an error has been delivered.
  // Errors: invalid_argument, invalid_url, address_blocked, name_resolution_failed, connect_failed,
  // proxy_failed, tls_failed, connect_timeout, first_byte_timeout, idle_timeout, total_timeout,
  // connection_lost, protocol_error, too_many_redirects, headers_too_large, response_too_large,
  // decompression_failed, stream_truncated, unsupported_encoding, cancelled, engine_closed,
  // internal.
  virtual void on_done(std::optional<Error> error) = 0;
};

using TransferId = std::uint64_t;

struct ClientOptions {
  std::string user_agent = "millrace";
  // PEM file that replaces the system's roots (SSL_CERT_FILE); empty: the system's.
  std::string ca_file;
  // Roots trusted besides them: PEM files (NODE_EXTRA_CA_CERTS) and PEM texts. A file that cannot
  // be read is skipped, and named when a certificate is then not trusted.
  std::vector<std::string> extra_ca_files;
  std::vector<std::string> extra_ca_texts;
  // Connections open at a time, in use or idle, up to which finished ones are kept for reuse.
  std::size_t idle_connections = 2048;
  // How much of a body is read at a time; less saves memory when thousands of streams are open.
  std::size_t receive_buffer_bytes = std::size_t{16} << 10U;
  os::ResolverOptions resolver;
};

// What runs transfers: the client, or what stands for it where no socket is wanted.
// Thread: engine thread.
class Sender {
 public:
  virtual ~Sender() = default;
  // Never calls the handler before it returns; 0 when it takes no more, and the handler is dropped
  // uncalled.
  virtual TransferId start(Request request, std::shared_ptr<TransferHandler> handler) = 0;
  // Closes the socket at once. on_done follows with `cancelled`, nothing else, and not before
  // cancel returns. An unknown or ended id is ignored, here and below.
  virtual void cancel(TransferId id) = 0;
  // Whether its request began to go out; false only where that is known.
  [[nodiscard]] virtual bool was_sent(TransferId id) const {
    static_cast<void>(id);
    return true;
  }
  // Stops on_data and reading from the socket, so that the sender stops too. Up to 16 KiB that
  // were read already wait inside. on_done may still come when no byte waits.
  virtual void pause(TransferId id) = 0;
  // What waits is delivered soon after, never before resume returns.
  virtual void resume(TransferId id) = 0;
  // What else comes of it may lie for a while; called from on_data.
  virtual void deprioritize(TransferId id) { static_cast<void>(id); }
};

// Runs any number of transfers at a time.
// Thread: engine thread; construct and destroy there too, or while the loop does not run.
// Lifetime: the loop outlives the client. Destroying the client ends each live transfer with
// engine_closed, before the destructor returns; it takes no more from then on.
class Client final : public Sender {
 public:
  // How long what comes of calm transfers may lie at the moment; asked while there are some.
  using Pace = std::function<std::chrono::microseconds()>;

  // Without a pace there are no calm transfers.
  Client(os::EventLoop& loop, const ClientOptions& options, Pace pace = {});
  ~Client() override;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  TransferId start(Request request, std::shared_ptr<TransferHandler> handler) override;
  void cancel(TransferId id) override;
  [[nodiscard]] bool was_sent(TransferId id) const override;
  void pause(TransferId id) override;
  void resume(TransferId id) override;
  void deprioritize(TransferId id) override;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace millrace::net
