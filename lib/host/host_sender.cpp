#include "host/host_sender.hpp"

#include <optional>
#include <utility>

#include "base/base64.hpp"
#include "base/json.hpp"
#include "host/host_request.hpp"

namespace millrace::host {

net::TransferId HostSender::start(net::Request request,
                                  std::shared_ptr<net::TransferHandler> handler) {
  const net::TransferId id = next_++;
  transfers_[id].handler = std::move(handler);
  std::string value = "{";
  append_request(value, request);
  report("@fetch", id, value + "}");
  return id;
}

void HostSender::cancel(net::TransferId id) {
  if (!transfers_.contains(id)) return;
  report("@withdraw", id);
  loop_.post([weak = weak_from_this(), id] {
    const auto self = weak.lock();
    if (!self) return;
    const auto at = self->transfers_.find(id);
    if (at == self->transfers_.end()) return;
    self->finish(at, make_error(Errc::cancelled, "The transfer was cancelled."));
  });
}

void HostSender::pause(net::TransferId id) {
  if (const auto at = transfers_.find(id); at != transfers_.end()) at->second.is_paused = true;
}

void HostSender::resume(net::TransferId id) {
  const auto at = transfers_.find(id);
  if (at == transfers_.end() || !std::exchange(at->second.is_paused, false)) return;
  if (!at->second.waiting) return;
  loop_.post([weak = weak_from_this(), id] {
    const auto self = weak.lock();
    if (!self) return;
    const auto found = self->transfers_.find(id);
    if (found == self->transfers_.end() || found->second.is_paused) return;
    if (const auto data = std::exchange(found->second.waiting, std::nullopt)) {
      self->give(id, *data);
      if (self->moved_) self->moved_();
    }
  });
}

bool HostSender::complete(std::uint64_t id, std::string_view json) {
  const auto at = transfers_.find(id);
  if (at == transfers_.end()) return id >= net::TransferId{1} << 40U;
  json::Document document;
  const auto parsed = document.parse(json);
  const json::Value answer = parsed ? parsed.value() : json::Value();
  if (answer["head"].is_object()) {
    const auto handler = at->second.handler;
    handler->on_head(read_response_head(answer["head"]));
  } else if (answer["data"].is_string()) {
    const auto data = base64::decode(answer["data"].string());
    if (at->second.is_paused) {
      at->second.waiting = data.value_or(std::string());
    } else {
      give(id, data.value_or(std::string()));
    }
  } else {
    const std::string_view code = answer["done"].string();
    std::optional<Error> error;
    if (!answer["done"].is_string()) {
      error = make_error(Errc::connection_lost,
                         "The end of the host's transfer is not a string; end it with the name of "
                         "an error or ''.");
    } else if (!code.empty()) {
      error = make_error(code_of(code), std::string(answer["message"].string()));
    }
    // A transfer that broke while its reader lagged behind.
    if (const auto data = std::exchange(at->second.waiting, std::nullopt)) give(id, *data);
    if (const auto left = transfers_.find(id); left != transfers_.end()) {
      finish(left, std::move(error));
    }
  }
  return true;
}

void HostSender::give(net::TransferId id, std::string_view data) {
  const auto handler = transfers_.at(id).handler;
  if (!data.empty()) handler->on_data(data);
  if (transfers_.contains(id)) report("@fetched", id);
}

void HostSender::finish(Transfers::iterator at, std::optional<Error> error) {
  const auto handler = std::move(at->second.handler);
  transfers_.erase(at);
  handler->on_done(std::move(error));
}

void HostSender::end() {
  report_ = nullptr;
  moved_ = nullptr;
  transfers_.clear();
}

void HostSender::report(std::string_view type, net::TransferId id, std::string_view value_json) {
  if (!report_) return;
  std::string item = "{";
  json::append_member(item, "type", type);
  json::append_member(item, "id", static_cast<std::int64_t>(id));
  if (!value_json.empty()) json::append_raw_member(item, "value", value_json);
  report_(item + "}");
}

}  // namespace millrace::host
