// What carries a Client's session: a program, or HTTP transfers. Private to it.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framing/ndjson.hpp"
#include "tool/mcp/client.hpp"

namespace millrace::mcp {

// The end of a connection that a program has, or of one that it did not open.
Error end_error(std::string what, bool was_open, std::string_view error_text);

// A program's output. What comes of one that was given up is dropped.
class Client::Child final : public os::ProcessHandler, public framing::FrameSink {
 public:
  Child(std::shared_ptr<Client> client, std::size_t message_bytes)
      : client_(std::move(client)),
        framing_(limits(message_bytes)),
        reports_errors_(client_->options_.reports_errors) {}

  void detach() { client_.reset(); }
  void on_output(std::string_view bytes) override {
    const auto client = client_;
    if (!client) return;
    const auto fed = framing_.feed(bytes, *this);
    if (!fed && client_) return client->lost(fed.error());
    client->rearm();
  }
  void on_output_end() override {
    if (client_) client_->on_output_end();
  }
  void on_error_text(std::string_view bytes) override {
    if (!reports_errors_) return;
    constexpr std::size_t longest_line = 8192;
    for (std::size_t end = bytes.find('\n'); end != std::string_view::npos;
         end = bytes.find('\n')) {
      error_line_.append(bytes.substr(0, std::min(end, longest_line)));
      bytes.remove_prefix(end + 1);
      end_error_line();
    }
    error_line_.append(bytes);
    if (error_line_.size() > longest_line) end_error_line();
  }
  void on_exit(os::ProcessExit exit) override {
    if (!error_line_.empty()) end_error_line();
    const auto client = std::exchange(client_, nullptr);
    if (client) client->on_exit(std::move(exit));
  }
  void on_frame(const framing::Frame& frame) override {
    if (const auto client = client_)
      client->session_.received(frame.data, std::chrono::steady_clock::now());
  }

 private:
  static framing::FramingLimits limits(std::size_t bytes) {
    framing::FramingLimits limits;
    limits.line_bytes = bytes;
    limits.event_bytes = bytes;
    return limits;
  }
  void end_error_line() {
    const std::string line = std::exchange(error_line_, {});
    if (const auto client = client_) client->on_error_line(line);
  }

  std::shared_ptr<Client> client_;
  framing::NdjsonFraming framing_;
  bool reports_errors_;
  std::string error_line_;  // that has not ended
};

// One HTTP transfer.
class Client::Exchange final : public net::TransferHandler {
 public:
  Exchange(std::shared_ptr<Client> client, ExchangeId id) : client_(std::move(client)), id_(id) {}

  void detach() { client_.reset(); }
  void on_head(net::ResponseHead head) override {
    const auto client = client_;
    if (!client) return;
    std::vector<HttpField> headers;
    for (net::Header& header : head.headers) {
      HttpField& field = headers.emplace_back();
      field.name = std::move(header.name);
      field.value = std::move(header.value);
    }
    client->link_->on_head(id_, head.status, headers, std::chrono::steady_clock::now());
    client->rearm();
  }
  void on_data(std::string_view decoded) override {
    const auto client = client_;
    if (!client) return;
    client->link_->on_data(id_, decoded, std::chrono::steady_clock::now());
    client->rearm();
  }
  void on_done(std::optional<Error> error) override {
    const auto client = std::exchange(client_, nullptr);
    if (!client) return;
    client->transfers_.erase(id_);
    client->link_->on_done(id_, std::move(error), std::chrono::steady_clock::now());
    client->rearm();
  }

  net::TransferId transfer = 0;

 private:
  std::shared_ptr<Client> client_;
  ExchangeId id_;
};

}  // namespace millrace::mcp
