// Transfers that the host runs with a fetch function of its own: the requests go out as items of a
// stream, what comes of them is told by the answers to these.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/client.hpp"
#include "os/event_loop.hpp"

namespace millrace::host {

// Items: {"type":"@fetch","id","value": append_request()}; {"type":"@fetched","id"}: the data that
// came was taken, more may come; {"type":"@withdraw","id"}: nothing more is wanted.
// Answers: {"head": read_response_head()}, {"data": base64}, one at a time, and
// {"done": code, "message"?: text}, whose code is "" for a complete body.
// Thread: engine thread.
// Lifetime: the loop outlives it. `tell` and `moved` are not called once end() was.
class HostSender final : public net::Sender, public std::enable_shared_from_this<HostSender> {
 public:
  // `moved` is called when something was told of which nobody outside knows.
  HostSender(os::EventLoop& loop, std::function<void(const std::string& item)> report,
             std::function<void()> moved)
      : loop_(loop), report_(std::move(report)), moved_(std::move(moved)) {}

  net::TransferId start(net::Request request,
                        std::shared_ptr<net::TransferHandler> handler) override;
  void cancel(net::TransferId id) override;
  void pause(net::TransferId id) override;
  void resume(net::TransferId id) override;

  // Takes an answer of the host; false when the id is not a transfer's.
  bool complete(std::uint64_t id, std::string_view json);
  // Forgets all transfers.
  void end();

 private:
  struct Transfer {
    std::shared_ptr<net::TransferHandler> handler;
    std::optional<std::string> waiting;  // came while it was paused
    bool is_paused = false;
  };
  using Transfers = std::map<net::TransferId, Transfer>;

  void give(net::TransferId id, std::string_view data);
  void finish(Transfers::iterator at, std::optional<Error> error);
  void report(std::string_view type, net::TransferId id, std::string_view value_json = {});

  os::EventLoop& loop_;
  std::function<void(const std::string& item)> report_;
  std::function<void()> moved_;
  Transfers transfers_;
  // Apart from the actions of an agent's run, which the host answers too.
  net::TransferId next_ = net::TransferId{1} << 40U;
};

}  // namespace millrace::host
