// Sends what the store's outbox holds to where its receivers want it, until it has arrived.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/api_context.hpp"
#include "api/callback_secrets.hpp"
#include "os/timer.hpp"
#include "tool/fetch.hpp"

namespace millrace::api {

// A message of the outbox that reports the end of `run` to `callback`, which is {"url", "headers"?:
// object} and whose address was checked (callback_address.hpp). Its headers are encrypted.
// Errors: those of CallbackSecrets::seal.
Result<store::OutboxRow> webhook_of(const store::RunId& run, const json::Tree& callback,
                                    std::string_view trace, CallbackSecrets& secrets);

// A message is due in the commit that ends its run. Each try counts before it is sent, so that a
// process that ends in between repeats it with the same id. What does not arrive within a day, or
// whose receiver is gone (410), is given up and reported to the host.
// Thread: engine thread.
// Lifetime: its end drops what is under way, which the next process sends again.
class Webhooks final : public std::enable_shared_from_this<Webhooks> {
 public:
  Webhooks(ApiContextPtr context, std::shared_ptr<CallbackSecrets> secrets);
  ~Webhooks();
  Webhooks(const Webhooks&) = delete;
  Webhooks& operator=(const Webhooks&) = delete;

  // Called with each row that makes messages of what its run does, whenever this looks, and with
  // the number of the last record of the run.
  using Open = std::function<void(const store::OutboxRow& row, std::uint64_t last)>;
  void on_open(Open open) { open_ = std::move(open); }
  // Looks for what is due, also what an earlier process left.
  void look();
  // Sends nothing more.
  void close();

 private:
  struct Due {
    store::OutboxRow row;
    Result<std::string> payload;
  };
  struct Look {
    std::vector<Due> due;
    std::vector<std::pair<store::OutboxRow, std::uint64_t>> open = {};
    std::int64_t now = 0;
    std::optional<std::int64_t> next = std::nullopt;  // when something else is due
  };
  struct Terms {
    std::size_t most = 0;
    std::chrono::milliseconds timeout{0};
    std::vector<std::chrono::milliseconds> delays;
  };
  [[nodiscard]] static Look take(store::StorageBackend& backend, const Terms& terms);
  static void take_open(store::StorageBackend& backend, store::OutboxRow row, Look& look);
  void looked(Look look);
  void send(Due due);
  [[nodiscard]] Result<net::Request> request_of(const Due& due) const;
  void answered(const store::OutboxRow& row, const std::string& failure, bool is_gone);
  void settle(const store::OutboxRow& row);

  ApiContextPtr context_;
  std::shared_ptr<CallbackSecrets> secrets_;
  Open open_;
  os::Timer timer_;
  std::map<std::string, std::unique_ptr<tool::RunningTool>> sending_;  // by the ids of messages
  bool is_looking_ = false;
  bool looks_again_ = false;
  bool is_closed_ = false;
};

}  // namespace millrace::api
