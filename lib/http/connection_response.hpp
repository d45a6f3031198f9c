// The answer to a request of a connection.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "http/response_stream.hpp"

namespace millrace::http {

class Connection;

// Lifetime: may outlive connection and server; then nothing is sent any more.
class ConnectionResponse final : public ResponseStream,
                                 public std::enable_shared_from_this<ConnectionResponse> {
 public:
  ConnectionResponse(std::shared_ptr<Connection> connection, Exchange exchange);
  ~ConnectionResponse() override;
  ConnectionResponse(const ConnectionResponse&) = delete;
  ConnectionResponse& operator=(const ConnectionResponse&) = delete;

  Result<void> send(int status, const Headers& headers, std::string_view body) override;
  Result<void> send_error(const Error& error, const Headers& headers) override;
  Result<void> start(int status, const Headers& headers) override;
  Result<void> start_sized(int status, const Headers& headers, std::uint64_t size) override;
  bool write(std::string_view bytes) override;
  void end() override;
  void on_drain(std::function<void()> callback) override;
  void on_close(std::function<void()> callback) override;
  void on_expedite(std::function<void()> callback) override;
  [[nodiscard]] bool is_open() const override { return connection_ != nullptr; }
  // Empty where requests are not observed.
  [[nodiscard]] RequestIdentity identity() const;

 private:
  friend class Connection;

  Result<void> check_start(int status, const Headers& headers) const;
  Result<void> begin(int status, const Headers& headers, std::optional<std::uint64_t> size);
  void finish();
  void note(int status);
  void note_part(std::size_t bytes);
  // Called by the connection.
  void drained();
  void expedite();
  void closed();

  std::shared_ptr<Connection> connection_;  // null once ended or closed
  Exchange exchange_;
  std::optional<std::uint64_t> left_;  // of a stream whose size is known
  bool chunked_ = false;
  bool started_ = false;
  bool ended_ = false;   // by the handler
  bool closed_ = false;  // by the peer or the server
  std::function<void()> on_drain_;
  std::function<void()> on_expedite_;
  std::function<void()> on_close_;
};

}  // namespace millrace::http
