#include "net/client.hpp"

#include <algorithm>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "net/ca_bundle.hpp"
#include "net/multi_driver.hpp"
#include "net/transfer.hpp"
#include "os/event_loop.hpp"

namespace millrace::net {
namespace {

constexpr std::size_t crowd = 64;  // transfers; further ones get a smaller buffer each
constexpr std::size_t spare_handles_limit = 64;

void start_libcurl() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

}  // namespace

class Client::State {
 public:
  State(os::EventLoop& loop, const ClientOptions& options, Pace pace);
  ~State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  TransferId start(Request request, std::shared_ptr<TransferHandler> handler);
  void cancel(TransferId id);
  bool was_sent(TransferId id);
  void pause(TransferId id);
  void resume(TransferId id);
  void deprioritize(TransferId id);
  // Ends every transfer and refuses new ones.
  void close();

 private:
  using Handler = std::shared_ptr<TransferHandler>;
  struct Entry {
    std::unique_ptr<Transfer> transfer;
    os::Resolver::Ticket lookup = 0;
    bool is_running = false;  // libcurl has it
  };
  struct Ending {
    Handler handler;
    std::optional<Error> error;
  };

  Entry* find(TransferId id);
  void post(std::function<void(State&)> work);

  // A transfer's way: begin, locate, run, then perhaps follow and again locate, then finish.
  void begin(TransferId id);
  void locate(TransferId id);
  void located(TransferId id, const Result<os::Addresses>& addresses);
  void run(TransferId id, const os::Addresses& addresses);
  void follow(TransferId id);
  void finish(TransferId id, std::optional<Error> error);

  void on_end(CURL* easy, CURLcode code);
  void on_redirect(TransferId id, int hop);
  void on_timer(TransferId id);
  void go_on(TransferId id);

  void stop_hop(Entry& entry);
  // Has the peer hear what waits to be sent on a connection.
  void flush(long port);
  // Takes the transfer out of libcurl and the table. The handler, if it waits, is to be told.
  Handler drop(TransferId id);
  // Tells the handler of an end from the loop, for those who must not hear of it at once.
  void report_later(Handler handler, Error error);
  void report_endings();

  os::EventLoop& loop_;
  Transfer::Settings settings_;
  os::Resolver resolver_;
  std::unordered_map<TransferId, Entry> transfers_;
  std::deque<Ending> endings_;
  std::vector<CurlEasy> spare_handles_;
  TransferId last_id_ = 0;
  // What is posted to the loop holds this weakly and does nothing once the client is gone.
  std::shared_ptr<State*> self_ = std::make_shared<State*>(this);
  MultiDriver driver_;
};

namespace {

// A handler's exception has nowhere to go: the transfer is over.
void report(const std::shared_ptr<TransferHandler>& handler, std::optional<Error> error) noexcept {
  if (!handler) return;
  try {
    handler->on_done(std::move(error));
  } catch (...) {
    return;
  }
}

}  // namespace

Client::State::State(os::EventLoop& loop, const ClientOptions& options, Pace pace)
    : loop_(loop),
      settings_(options),
      resolver_(loop, options.resolver),
      driver_(
          loop, options.idle_connections, [this](CURL* easy, CURLcode code) { on_end(easy, code); },
          std::move(pace)) {}

void Client::State::close() {
  self_.reset();
  while (!transfers_.empty()) {
    Handler handler = drop(transfers_.begin()->first);
    if (handler) endings_.push_back({std::move(handler), make_error(Errc::engine_closed)});
  }
  report_endings();
}

TransferId Client::State::start(Request request, Handler handler) {
  if (!self_) return 0;
  const TransferId id = ++last_id_;
  Transfer::Hooks hooks{[this, id] { on_timer(id); },
                        [this, id] { on_redirect(id, find(id)->transfer->hop()); }};
  transfers_[id].transfer = std::make_unique<Transfer>(loop_, id, std::move(request),
                                                       std::move(handler), std::move(hooks));
  driver_.after([this, id] { begin(id); });
  return id;
}

void Client::State::cancel(TransferId id) {
  Entry* entry = find(id);
  if (entry == nullptr || !entry->transfer->has_handler()) return;
  report_later(entry->transfer->release_handler(), make_error(Errc::cancelled));
  driver_.after([this, id] { drop(id); });
}

bool Client::State::was_sent(TransferId id) {
  Entry* entry = find(id);
  return entry == nullptr || entry->transfer->was_sent();
}

void Client::State::pause(TransferId id) {
  if (Entry* entry = find(id)) entry->transfer->pause();
}

void Client::State::resume(TransferId id) {
  Entry* entry = find(id);
  if (entry == nullptr || !entry->transfer->is_paused()) return;
  entry->transfer->resume();
  post([id](State& state) { state.driver_.after([&state, id] { state.go_on(id); }); });
}

void Client::State::deprioritize(TransferId id) {
  const Entry* entry = find(id);
  if (entry != nullptr && entry->is_running) driver_.deprioritize(entry->transfer->easy());
}

Client::State::Entry* Client::State::find(TransferId id) {
  const auto found = transfers_.find(id);
  return found == transfers_.end() ? nullptr : &found->second;
}

void Client::State::post(std::function<void(State&)> work) {
  loop_.post([weak = std::weak_ptr(self_), work = std::move(work)] {
    if (const auto self = weak.lock()) work(**self);
  });
}

void Client::State::begin(TransferId id) {
  Entry* entry = find(id);
  if (entry == nullptr) return;
  if (auto ready = entry->transfer->prepare(); !ready) {
    report_later(drop(id), std::move(ready).error());
    return;
  }
  locate(id);
}

void Client::State::locate(TransferId id) {
  Entry* entry = find(id);
  if (auto allowed = entry->transfer->permit_url(); !allowed) {
    report_later(drop(id), std::move(allowed).error());
    return;
  }
  const Url& url = entry->transfer->url();
  // Behind a proxy the host's name may mean nothing here; libcurl looks up whom it connects to.
  if (!url.needs_lookup() || entry->transfer->has_proxy()) {
    run(id, {});
  } else if (const os::Addresses* cached = resolver_.cached(url.host)) {
    run(id, *cached);
  } else {
    entry->lookup = resolver_.resolve(
        url.host, [this, id](const Result<os::Addresses>& result) { located(id, result); });
  }
}

void Client::State::located(TransferId id, const Result<os::Addresses>& addresses) {
  Entry* entry = find(id);
  if (entry == nullptr) return;
  entry->lookup = 0;
  if (addresses) {
    run(id, addresses.value());
  } else {
    finish(id, addresses.error());
  }
}

void Client::State::run(TransferId id, const os::Addresses& addresses) {
  Entry* entry = find(id);
  if (auto allowed = entry->transfer->permit(addresses); !allowed) {
    report_later(drop(id), std::move(allowed).error());
    return;
  }
  CurlEasy easy;
  if (spare_handles_.empty()) {
    easy.reset(curl_easy_init());
  } else {
    easy = std::move(spare_handles_.back());
    spare_handles_.pop_back();
  }
  const bool is_ready = entry->transfer->attach(std::move(easy), addresses, settings_,
                                                driver_.idle_sockets(), transfers_.size() > crowd);
  if (is_ready) driver_.prepare(entry->transfer->easy());
  entry->is_running = is_ready && driver_.add(entry->transfer->easy());
  if (!entry->is_running) {
    report_later(
        drop(id),
        make_error(Errc::internal,
                   "There is no memory to start the request; make fewer calls at a time."));
  }
}

void Client::State::follow(TransferId id) {
  Entry* entry = find(id);
  stop_hop(*entry);
  if (auto next = entry->transfer->follow(); !next) {
    report_later(drop(id), std::move(next).error());
    return;
  }
  locate(id);
}

void Client::State::finish(TransferId id, std::optional<Error> error) {
  report(drop(id), std::move(error));
}

void Client::State::on_end(CURL* easy, CURLcode code) {
  Transfer* transfer = nullptr;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
  const TransferId id = transfer->id();
  switch (transfer->ended(code, settings_.roots)) {
    case Transfer::Next::finish: finish(id, transfer->error().copy()); break;
    case Transfer::Next::follow: follow(id); break;
    case Transfer::Next::again:
      stop_hop(*find(id));
      locate(id);
      break;
    case Transfer::Next::hold: stop_hop(*find(id)); break;
  }
}

// A redirect whose body does not end with its head is left unread. One whose body does has been
// followed, on the same connection, before this runs.
void Client::State::on_redirect(TransferId id, int hop) {
  driver_.after([this, id, hop] {
    const Entry* entry = find(id);
    if (entry != nullptr && entry->transfer->hop() == hop) follow(id);
  });
}

void Client::State::on_timer(TransferId id) {
  Entry* entry = find(id);
  entry->transfer->check_deadlines();
  if (entry->transfer->error()) finish(id, entry->transfer->error().copy());
}

void Client::State::go_on(TransferId id) {
  Entry* entry = find(id);
  if (entry == nullptr || entry->transfer->is_paused()) return;
  Transfer& transfer = *entry->transfer;
  driver_.as_inside([&] { transfer.deliver_waiting(); });
  if (transfer.is_over()) {
    finish(id, transfer.error().copy());
    return;
  }
  if (transfer.is_paused() || !transfer.take_curl_pause()) return;
  const CURLcode code = driver_.unpause(transfer.easy());
  if (code != CURLE_OK) on_end(transfer.easy(), code);
}

void Client::State::stop_hop(Entry& entry) {
  if (std::exchange(entry.is_running, false)) {
    if (const auto shared = driver_.remove(entry.transfer->easy())) {
      post([port = *shared](State& state) {
        state.driver_.after([&state, port] { state.flush(port); });
      });
    }
  }
  CurlEasy easy = entry.transfer->detach();
  if (!easy || spare_handles_.size() >= spare_handles_limit) return;
  curl_easy_reset(easy.get());
  spare_handles_.push_back(std::move(easy));
}

void Client::State::flush(long port) {
  const auto other = std::find_if(transfers_.begin(), transfers_.end(), [port](const auto& row) {
    const Entry& entry = row.second;
    return entry.is_running && !entry.transfer->is_paused() &&
           MultiDriver::local_port(entry.transfer->easy()) == port;
  });
  if (other == transfers_.end()) return;
  CURL* easy = other->second.transfer->easy();
  if (const CURLcode code = driver_.flush(easy); code != CURLE_OK) on_end(easy, code);
}

Client::State::Handler Client::State::drop(TransferId id) {
  auto taken = transfers_.extract(id);
  if (taken.empty()) return nullptr;
  Entry& entry = taken.mapped();
  if (entry.lookup != 0) resolver_.cancel(entry.lookup);
  stop_hop(entry);
  return entry.transfer->release_handler();
}

void Client::State::report_later(Handler handler, Error error) {
  if (!handler) return;
  endings_.push_back({std::move(handler), std::move(error)});
  post([](State& state) { state.report_endings(); });
}

void Client::State::report_endings() {
  while (!endings_.empty()) {
    Ending ending = std::move(endings_.front());
    endings_.pop_front();
    report(ending.handler, std::move(ending.error));
  }
}

Client::Client(os::EventLoop& loop, const ClientOptions& options, Pace pace) {
  start_libcurl();
  state_ = std::make_unique<State>(loop, options, std::move(pace));
}

Client::~Client() {
  state_->close();
}

TransferId Client::start(Request request, std::shared_ptr<TransferHandler> handler) {
  return state_->start(std::move(request), std::move(handler));
}

void Client::cancel(TransferId id) {
  state_->cancel(id);
}

bool Client::was_sent(TransferId id) const {
  return state_->was_sent(id);
}

void Client::pause(TransferId id) {
  state_->pause(id);
}

void Client::resume(TransferId id) {
  state_->resume(id);
}

void Client::deprioritize(TransferId id) {
  state_->deprioritize(id);
}

}  // namespace millrace::net
