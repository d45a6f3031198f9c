#include "app/transport.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "app/demo_provider.hpp"
#include "app/kept_runs.hpp"
#include "app/mcp_stream.hpp"
#include "app/random_chance.hpp"
#include "base/json.hpp"
#include "base/utf8.hpp"
#include "http/server.hpp"
#include "model/route.hpp"
#include "os/event_loop.hpp"
#include "os/random_ids.hpp"
#include "os/timer.hpp"
#include "tool/builtin/builtin.hpp"

namespace millrace::app {
namespace {

using StreamId = Transport::StreamId;

// The bytes of a header as text: a code point each, as the Fetch standard reads them.
std::string from_latin1(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    utf8::append_code_point(text, static_cast<unsigned char>(byte));
  }
  return text;
}

// The bytes of a header's text, as the Fetch standard writes them; nothing when it is no Latin-1.
std::optional<std::string> to_latin1(std::string_view text) {
  constexpr unsigned char first_of_two = 0xC2;  // U+0080 to U+00BF
  constexpr unsigned char last_of_two = 0xC3;   // U+00C0 to U+00FF
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80U) {
      bytes.push_back(text[at]);
      continue;
    }
    if (byte < first_of_two || byte > last_of_two || ++at == text.size()) return std::nullopt;
    const auto next = static_cast<unsigned char>(text[at]);
    bytes.push_back(static_cast<char>(byte == first_of_two ? next : next + 0x40U));
  }
  return bytes;
}

Result<net::Header> read_header(const json::Value& pair) {
  net::Header header;
  std::size_t place = 0;
  for (const json::Value text : pair.items()) {
    (place++ == 0 ? header.name : header.value) = text.string();
  }
  auto bytes = to_latin1(header.value);
  if (!bytes) {
    return make_error(Errc::invalid_argument,
                      "The value of the header " + header.name +
                          " contains a character beyond Latin-1: encode it, for instance with "
                          "encodeURIComponent.");
  }
  header.value = std::move(*bytes);
  return header;
}

std::string head_json(const net::ResponseHead& head) {
  std::string out = "{";
  json::append_member(out, "status", std::int64_t{head.status});
  json::append_member(out, "statusText", from_latin1(head.reason));
  std::string headers = "[";
  for (const net::Header& header : head.headers) {
    if (headers.size() > 1) headers.push_back(',');
    headers.push_back('[');
    json::append_string(headers, header.name);
    headers.push_back(',');
    json::append_string(headers, from_latin1(header.value));
    headers.push_back(']');
  }
  headers.push_back(']');
  json::append_raw_member(out, "headers", headers);
  json::append_member(out, "url", head.url);
  json::append_raw_member(out, "redirected", head.redirected ? "true" : "false");
  out.push_back('}');
  return out;
}

// Passes wake-ups of the engine thread on when it has nothing more to do, so that what comes in
// quick succession crosses at once; at the latest after a millisecond, or with many bytes. While
// much comes, of whatever number of streams, wake-ups keep a distance: they cost the host more than
// what they bring.
class TurnWaker final : public Waker {
 public:
  TurnWaker(os::EventLoop& loop, Waker& host)
      : loop_(loop), host_(host), timer_(loop, [this] { pass_on(); }) {}

  void wake() override {
    if (!loop_.on_loop_thread()) return host_.wake();
    since_ = Clock::now();
    bytes_ = 0;
    seen_ = outputs_;
    if (is_busy_ && since_ < last_ + distance && !timer_.is_running()) {
      timer_.start_at(last_ + distance);
      return;
    }
    // The first turn asks the sockets again, the second handles what they had.
    loop_.post([this] { loop_.post([this] { look(); }); });
  }

  // Something is handed over.
  void on_output(std::size_t bytes) {
    bytes_ += bytes;
    ++outputs_;
    if (bytes_ >= enough_bytes && timer_.is_running()) pass_on();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds patience{1};
  static constexpr std::chrono::milliseconds distance{4};
  static constexpr std::uint64_t busy_outputs = 8;  // within one distance
  static constexpr std::size_t enough_bytes = std::size_t{64} << 10U;

  void look() {
    const bool is_quiet = std::exchange(seen_, outputs_) == outputs_;
    if (is_quiet || bytes_ >= enough_bytes || Clock::now() - since_ >= patience) {
      pass_on();
    } else {
      loop_.post([this] { look(); });
    }
  }

  void pass_on() {
    timer_.cancel();
    last_ = Clock::now();
    if (last_ - counted_since_ >= distance) {
      const auto spans = static_cast<std::uint64_t>((last_ - counted_since_) / distance);
      is_busy_ = outputs_ - counted_ >= busy_outputs * spans;
      counted_ = outputs_;
      counted_since_ = last_;
    }
    host_.wake();
  }

  os::EventLoop& loop_;
  Waker& host_;
  os::Timer timer_;
  Clock::time_point since_;          // when the wake-up that waits was asked for
  Clock::time_point last_;           // when the last one was passed on
  Clock::time_point counted_since_;  // when `counted_` was taken of `outputs_`
  std::size_t bytes_ = 0;            // since since_
  std::uint64_t outputs_ = 0;
  std::uint64_t counted_ = 0;
  std::uint64_t seen_ = 0;
  bool is_busy_ = false;
};

// A transfer, and the pipe its body runs through.
class BodyStream final : public Stream, public net::TransferHandler {
 public:
  BodyStream(StreamId id, StreamServices& owner) : id_(id), owner_(owner) {}

  void start(net::Request request, std::shared_ptr<BodyStream> self) {
    transfer_ = owner_.client.start(std::move(request), std::move(self));
  }

  void on_head(net::ResponseHead head) override {
    has_head_ = true;
    owner_.queue.push_head(id_, head_json(head));
  }

  void on_data(std::string_view decoded) override {
    if (pipe_) {
      pipe_->feed(decoded);
      deliver();
      return;
    }
    early_.append(decoded);
    if (early_.size() < early_limit_bytes || early_paused_) return;
    early_paused_ = true;
    owner_.client.pause(transfer_);
  }

  void on_done(std::optional<Error> error) override {
    ended_ = true;
    error_ = std::move(error);
    // Without a head the error is the answer to the request; else it waits for a reader.
    if (pipe_ || !has_head_) finish();
  }

  void read_as(const PipeSpec& spec) override {
    if (pipe_ || closed_) return;
    pipe_ = make_pipe(spec);
    if (!early_.empty()) pipe_->feed(early_);
    std::string().swap(early_);
    const bool room = deliver();
    if (ended_) {
      finish();
    } else if (room && early_paused_) {
      owner_.client.resume(transfer_);
    }
  }

  void resume() override { owner_.client.resume(transfer_); }

  void cancel() override {
    closed_ = true;
    owner_.client.cancel(transfer_);
  }
  void silence() override { closed_ = true; }

 private:
  static constexpr std::size_t early_limit_bytes = std::size_t{64} << 10U;

  // Hands the pipe's output over; false when the transfer was paused or is not needed any more.
  bool deliver() {
    if (closed_) return false;
    std::string& output = pipe_->output();
    owner_.on_output(output.size());
    const bool room = owner_.queue.push(id_, output);
    constexpr std::size_t kept_bytes = std::size_t{64} << 10U;
    output.clear();
    if (output.capacity() > kept_bytes) output.shrink_to_fit();
    if (pipe_->done() && !ended_) {
      close({});
      return false;
    }
    if (!room) owner_.client.pause(transfer_);
    return room;
  }

  void finish() {
    if (closed_) return;
    std::string end;
    if (!pipe_) {
      end = error_ ? error_json(*error_) : std::string();
    } else if (!error_) {
      pipe_->finish();
    } else if (!pipe_->fail(*error_)) {
      end = error_json(*error_);
    }
    if (pipe_) deliver();
    close(std::move(end));
  }

  void close(std::string end) {
    if (std::exchange(closed_, true)) return;
    owner_.client.cancel(transfer_);
    owner_.queue.end(id_, std::move(end));
    owner_.forget(id_);
  }

  StreamId id_;
  StreamServices& owner_;
  net::TransferId transfer_ = 0;
  std::unique_ptr<Pipe> pipe_;
  std::string early_;  // came before a pipe was chosen
  std::optional<Error> error_;
  bool has_head_ = false;
  bool early_paused_ = false;
  bool ended_ = false;   // the transfer
  bool closed_ = false;  // towards the reader
};

void read_limit(const json::Value& value, std::size_t& limit) {
  if (const auto number = value.integer(); number && *number >= 0) {
    limit = static_cast<std::size_t>(*number);
  }
}

void read_time(const json::Value& value, std::chrono::milliseconds& time) {
  if (const auto number = value.integer(); number && *number >= 0) {
    time = std::chrono::milliseconds(*number);
  }
}

}  // namespace

// The engine thread owns `streams`, `kept` and `client`; the host's thread owns the rest. The
// client ends before what its handlers use.
class Transport::State {
 public:
  State(Waker& host, const TransportOptions& options)
      : waker(loop, host), queue(waker, options.drain), client(loop, options.client) {
    loop.start();
  }
  ~State() {
    demo.reset();
    loop.stop();
    for (const auto& [id, stream] : streams) stream->silence();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Calls `work` with the stream on the engine thread, unless it has ended.
  template <class Work>
  void on_stream(StreamId id, Work work) {
    loop.post([this, id, work = std::move(work)] {
      const auto at = streams.find(id);
      if (at == streams.end()) return;
      const std::shared_ptr<Stream> stream = at->second;
      work(*stream);
    });
  }

  Batch complete(DrainQueue::Batch&& batch) {
    Batch result{std::move(batch), Shape::bytes};
    const auto shape = shapes.find(result.stream);
    if (shape != shapes.end()) {
      result.shape = shape->second;
      if (result.end) shapes.erase(shape);
    }
    if (result.was_paused) {
      on_stream(result.stream, [](Stream& stream) { stream.resume(); });
    }
    return result;
  }

  std::vector<Batch> complete(std::vector<DrainQueue::Batch>&& batches) {
    std::vector<Batch> results;
    results.reserve(batches.size());
    for (DrainQueue::Batch& batch : batches) results.push_back(complete(std::move(batch)));
    return results;
  }

  os::EventLoop loop;
  TurnWaker waker;
  DrainQueue queue;
  os::RandomIds ids;
  RandomChance chance;
  model::TokenStore tokens;
  model::CircuitStore circuits;
  KeptRuns kept;
  std::unordered_map<StreamId, std::shared_ptr<Stream>> streams;
  StreamServices owner{loop,
                       client,
                       queue,
                       {ids, chance, tokens, circuits},
                       [this](std::size_t bytes) { waker.on_output(bytes); },
                       [this](StreamId id) { streams.erase(id); }};
  net::Client client;
  std::unordered_map<StreamId, Shape> shapes;
  std::optional<tool::Registry> builtin;  // made with the first agent
  std::unique_ptr<http::Server> demo;
  std::string demo_address;
  std::map<std::string, std::shared_ptr<const AgentPlan>, std::less<>> plans;
  StreamId next_id = 1;
};

Transport::Transport(Waker& waker, TransportOptions options)
    : state_(std::make_unique<State>(waker, std::move(options))) {}

Transport::~Transport() = default;

Transport::StreamId Transport::start(net::Request request) {
  const StreamId id = state_->next_id++;
  state_->queue.open(id);
  state_->loop.post([state = state_.get(), id, request = std::move(request)]() mutable {
    auto stream = std::make_shared<BodyStream>(id, state->owner);
    state->streams.emplace(id, stream);
    stream->start(std::move(request), stream);
  });
  return id;
}

Transport::StreamId Transport::start(ModelCallSpec call) {
  const StreamId id = state_->next_id++;
  const bool items = call.output.protocol == ModelProtocol::events || call.output.with_events;
  state_->shapes[id] = items ? Shape::items : Shape::bytes;
  state_->queue.open(id);
  // A function object must be copyable, and a call is not cheap to copy.
  auto shared = std::make_shared<ModelCallSpec>(std::move(call));
  state_->loop.post([state = state_.get(), id, shared] {
    auto stream = std::make_shared<ModelStream>(id, state->owner, std::move(*shared));
    state->streams.emplace(id, stream);
    stream->start();
  });
  return id;
}

Transport::StreamId Transport::start(mcp::ClientOptions client) {
  const StreamId id = state_->next_id++;
  state_->shapes[id] = Shape::items;
  state_->queue.open(id);
  auto shared = std::make_shared<mcp::ClientOptions>(std::move(client));
  state_->loop.post([state = state_.get(), id, shared] {
    auto stream = std::make_shared<McpStream>(id, state->owner, std::move(*shared));
    state->streams.emplace(id, stream);
    stream->start();
  });
  return id;
}

Transport::StreamId Transport::start(ToolTask task) {
  const StreamId id = state_->next_id++;
  state_->queue.open(id);
  state_->loop.post([state = state_.get(), id, task = std::move(task)] {
    auto stream = std::make_shared<ToolStream>(id, state->owner, task);
    state->streams.emplace(id, stream);
    stream->start();
  });
  return id;
}

void Transport::command(StreamId stream, StreamCommand command) {
  state_->on_stream(stream,
                    [command = std::move(command)](Stream& found) { found.command(command); });
}

Result<std::shared_ptr<const tool::Registry>> Transport::builtin_tools(
    std::string_view options_json) {
  auto options = json::Tree::parse(options_json);
  if (!options) return std::move(options).error();
  auto tools = tool::make_builtin_tools(options.value(), {state_->loop, state_->client});
  if (!tools) return std::move(tools).error();
  return std::make_shared<const tool::Registry>(std::move(tools).value());
}

Transport::StreamId Transport::start(AgentSpec agent) {
  const StreamId id = state_->next_id++;
  state_->shapes[id] = Shape::items;
  state_->queue.open(id);
  auto shared = std::make_shared<AgentSpec>(std::move(agent));
  state_->loop.post([state = state_.get(), id, shared] {
    auto stream = std::make_shared<AgentStream>(id, state->owner, state->kept, std::move(*shared));
    state->streams.emplace(id, stream);
    stream->start();
  });
  return id;
}

Result<std::shared_ptr<const AgentPlan>> Transport::plan(std::string_view json) {
  constexpr std::size_t kept_plans = 64;
  auto& plans = state_->plans;
  if (const auto at = plans.find(json); at != plans.end()) return at->second;
  if (!state_->builtin) {
    auto made = agent_tools(state_->loop, state_->client);
    if (!made) return std::move(made).error();
    state_->builtin = std::move(made).value();
  }
  auto read = read_agent_plan(json, *state_->builtin);
  if (!read) return read;
  if (plans.size() >= kept_plans) plans.clear();
  plans.emplace(std::string(json), read.value());
  return read;
}

Result<std::string> Transport::demo_address() {
  if (!state_->demo_address.empty()) return state_->demo_address;
  auto server = std::make_unique<http::Server>(state_->loop);
  http::ServerOptions options;
  options.port = 0;
  auto port = server->listen(std::move(options), demo_provider(state_->loop));
  if (!port) return std::move(port).error();
  state_->demo = std::move(server);
  state_->demo_address = "http://127.0.0.1:" + std::to_string(port.value());
  return state_->demo_address;
}

void Transport::stop(StreamId stream) {
  state_->on_stream(stream, [](Stream& found) { found.stop(); });
}

void Transport::complete(StreamId stream, std::uint64_t id, std::string json) {
  state_->on_stream(stream,
                    [id, json = std::move(json)](Stream& found) { found.complete(id, json); });
}

std::string Transport::circuits_json() const {
  return state_->circuits.json(std::chrono::steady_clock::now());
}

void Transport::read_as(StreamId stream, const PipeSpec& spec) {
  state_->shapes[stream] = shape_of(spec.kind);
  state_->on_stream(stream, [spec](Stream& found) { found.read_as(spec); });
}

std::optional<Transport::Batch> Transport::take(StreamId stream) {
  auto batch = state_->queue.take(stream);
  if (!batch) return std::nullopt;
  return state_->complete(std::move(*batch));
}

void Transport::want(StreamId stream) {
  state_->queue.want(stream);
}

std::vector<Transport::Batch> Transport::drain() {
  return state_->complete(state_->queue.drain());
}

std::vector<Transport::Batch> Transport::drain(std::size_t limit) {
  return state_->complete(state_->queue.drain(limit));
}

bool Transport::rest() {
  return state_->queue.rest();
}

void Transport::cancel(StreamId stream) {
  state_->queue.drop(stream);
  state_->shapes.erase(stream);
  state_->loop.post([state = state_.get(), stream] {
    const auto at = state->streams.find(stream);
    if (at == state->streams.end()) return;
    at->second->cancel();
    state->streams.erase(at);
  });
}

std::size_t Transport::waiting() const {
  return state_->queue.waiting();
}

os::EventLoop& Transport::loop() {
  return state_->loop;
}

Result<TransportOptions> read_transport_options(std::string_view json) {
  json::Document document;
  auto parsed = document.parse(json);
  if (!parsed) return std::move(parsed).error();
  const json::Value& value = parsed.value();
  TransportOptions options;
  if (const auto agent = value["userAgent"].filled_string()) options.client.user_agent = *agent;
  options.client.ca_file = value["caFile"].string();
  for (const json::Value file : value["extraCaFiles"].items()) {
    options.client.extra_ca_files.emplace_back(file.string());
  }
  return options;
}

Result<net::Request> read_request(std::string_view json) {
  json::Document document;
  auto parsed = document.parse(json);
  if (!parsed) return std::move(parsed).error();
  const json::Value& value = parsed.value();
  net::Request request;
  request.method = value["method"].string();
  request.url = value["url"].string();
  for (const json::Value pair : value["headers"].items()) {
    auto header = read_header(pair);
    if (!header) return std::move(header).error();
    request.headers.push_back(std::move(header).value());
  }
  const json::Value timeouts = value["timeouts"];
  read_time(timeouts["connect"], request.timeouts.connect);
  read_time(timeouts["firstByte"], request.timeouts.first_byte);
  read_time(timeouts["idle"], request.timeouts.idle);
  read_time(timeouts["total"], request.timeouts.total);
  read_limit(value["limits"]["headerBytes"], request.limits.header_bytes);
  read_limit(value["limits"]["decodedBytes"], request.limits.decoded_bytes);
  auto route = model::read_route(value);
  if (!route) return std::move(route).error();
  request.route = std::move(route).value();
  if (value["guard"].is_object()) {
    auto guard = tool::read_guard(json::Tree(value["guard"]));
    if (!guard) return std::move(guard).error();
    request.guard = std::move(guard).value();
  }
  return request;
}

}  // namespace millrace::app
