#include "host/run_bytes.hpp"

#include <chrono>
#include <utility>
#include <vector>

#include "base/error_json.hpp"
#include "base/json.hpp"
#include "base/json_tree.hpp"
#include "base/shown.hpp"
#include "encoder/ag_ui.hpp"
#include "encoder/ag_ui_proto.hpp"
#include "host/run_stream.hpp"
#include "host/runtime_stream.hpp"

namespace millrace::host {
namespace {

constexpr std::chrono::seconds keep_alive_every{15};
// What records that come together give is handed over in such pieces.
constexpr std::size_t piece_bytes = std::size_t{8} << 10U;

Error may_only_start() {
  return make_error(Errc::not_authorized,
                    "Without `authorize` a request may only begin runs: one that is there is not "
                    "attached to, answered or stopped.");
}

// Whether the AG-UI run is there, or a run waits in its thread, which a new message would end.
Result<bool> is_known(store::StorageBackend& backend, const std::string& principal,
                      const std::string& ag_ui_run, const std::string& thread) {
  auto segments = backend.segments(principal, ag_ui_run);
  if (!segments) return segments.error();
  store::RunQuery query;
  query.principal = principal;
  query.thread = thread;
  query.states = {journal::RunState::waiting};
  query.limit = 1;
  auto waiting = backend.runs(query);
  if (!waiting) return waiting.error();
  return !segments.value().empty() || !waiting.value().runs.empty();
}

void take_input(RunBytesSpec& spec, run::AgentInput input) {
  run::AgentInput& own = spec.request->input;
  input.body_hash = std::move(own.body_hash);
  own = std::move(input);
  spec.records.is_binary = encoder::wants_ag_ui_proto(spec.accept, own.protocol_version);
}

}  // namespace

Result<RunBytesSpec> read_run_bytes(const std::shared_ptr<const run::AgentPlan>& plan,
                                    std::string_view input_json, std::string_view options_json,
                                    IdSource& ids) {
  auto parsed = json::Tree::parse(options_json);
  if (!parsed) return std::move(parsed).error();
  const json::Tree& options = parsed.value();
  RunBytesSpec spec;
  spec.only_new = options["onlyNew"].is_true();
  spec.connects = options["connects"].is_true();
  spec.id = options["id"].string();
  spec.principal = options["principal"].string();
  spec.thread = options["threadId"].string();
  spec.records.after = static_cast<std::uint64_t>(options["after"].integer_or(0));
  spec.records.fresh = options["fresh"].is_true();
  if (options["protocolVersion"].is_string()) {
    spec.records.client_version = std::string(options["protocolVersion"].string());
  }
  const std::string_view accept = options["accept"].string();
  if (spec.connects) {
    auto client = run::read_connection(input_json, ids);
    if (!client) return std::move(client).error();
    spec.thread = std::move(client.value().thread_id);
    spec.id = std::move(client.value().run_id);
    const std::string& version = client.value().protocol_version;
    spec.records.is_binary = encoder::wants_ag_ui_proto(accept, version);
    spec.records.client_version = version;
    return spec;
  }
  if (!plan && input_json.empty()) {
    // Only a client of AG-UI 1.0 names the type.
    const std::string version = spec.records.client_version.value_or("1.0");
    spec.records.is_binary = encoder::wants_ag_ui_proto(accept, version);
    if (spec.records.is_binary) spec.records.client_version = version;
    return spec;
  }
  run::InputOptions read_as;
  read_as.reads_state = !plan;
  read_as.format = options["format"].string();
  read_as.from_client = true;
  spec.accept = accept;
  run::StartRequest& request = spec.request.emplace();
  request.name = options["name"].string();
  request.principal = spec.principal;
  request.may_wait = options["busy"].string() == "queue";
  request.on_disconnect = on_disconnect_in(options);
  request.input.body_hash = options["inputHash"].string();
  if (input_json.size() >= large_input_bytes) {
    spec.read_input = input_reader(input_json, read_as);
    return spec;
  }
  auto input = run::read_agent_input(input_json, read_as, ids);
  if (!input) return std::move(input).error();
  take_input(spec, std::move(input).value());
  return spec;
}

RunBytes::RunBytes(DrainQueue::StreamId id, HostServices& services,
                   std::shared_ptr<RuntimeStream> runtime, RunBytesSpec spec)
    : id_(id),
      services_(services),
      runtime_(std::move(runtime)),
      spec_(std::move(spec)),
      encoder_(spec_.records),
      keep_alive_(services.loop,
                  [this] {
                    const auto self = shared_from_this();
                    if (closed_) return;
                    const bool is_binary = spec_.records.is_binary;
                    push(is_binary ? encoder::ag_ui_proto_keep_alive()
                                   : std::string(encoder::AgUiEncoder::keep_alive));
                  }),
      room_(services.queue, id),
      stall_(services.loop, services.queue, id, runtime_->reader_stall(), [this] { let_go(); }) {}

void RunBytes::start() {
  // Only runs that begin have an order.
  if (!spec_.request) return join();
  read_in_order(runtime_->openings(), spec_.principal, services_.reading,
                std::exchange(spec_.read_input, {}), [weak = weak_from_this()](ReadInOrder input) {
                  const auto self = weak.lock();
                  if (!self || self->closed_) return;
                  input ? self->join_with(std::move(*input)) : self->join();
                });
}

void RunBytes::join_with(Result<run::AgentInput> input) {
  if (!input) return fail(input.error());
  take_input(spec_, std::move(input).value());
  encoder_ = encoder::RecordedAgUi(spec_.records);
  join();
}

void RunBytes::join() {
  runtime_->join(id_, [weak = weak_from_this()](const Error& error) {
    if (const auto self = weak.lock()) self->on_end(&error);
  });
  runtime_->when_open([weak = weak_from_this()](const Error* error) {
    const auto self = weak.lock();
    if (!self || self->closed_) return;
    error != nullptr ? self->fail(*error) : self->begin();
  });
}

void RunBytes::begin() {
  if (spec_.connects) return connect();
  const auto found = [weak = weak_from_this()](const Result<run::FoundRun>& given) {
    const auto self = weak.lock();
    if (!self || self->closed_) return;
    given ? self->read(given.value()) : self->fail(given.error());
  };
  if (!spec_.request) {
    return runtime_->requests().find(spec_.id, spec_.principal, spec_.thread, found);
  }
  if (!spec_.only_new) return runtime_->requests().open(*std::move(spec_.request), found);
  const run::AgentInput& input = spec_.request->input;
  if (!input.resume_json.empty() && input.resume_json != "[]") return fail(may_only_start());
  // What is known is no new run, and one that becomes known meanwhile is in conflict.
  spec_.request->input.body_hash.clear();
  runtime_->with_store<Result<bool>>(
      [principal = spec_.principal, id = input.run_id, thread = input.thread_id](
          store::StorageBackend& backend) { return is_known(backend, principal, id, thread); },
      [self = shared_from_this(), found](const Result<bool>& known) {
        if (self->closed_) return;
        if (!known) return self->fail(known.error());
        if (known.value()) return self->fail(may_only_start());
        self->runtime_->requests().open(*std::move(self->spec_.request), found);
      });
}

void RunBytes::connect() {
  runtime_->requests().connect(
      spec_.principal, spec_.thread, [weak = weak_from_this()](Result<run::FoundThread> found) {
        const auto self = weak.lock();
        if (!self || self->closed_) return;
        if (!found) return self->fail(found.error());
        run::FoundThread& thread = found.value();
        if (!thread.run) return self->show(thread.messages_json);
        self->spec_.records.messages_json = std::move(thread.messages_json);
        self->read(*thread.run);
      });
}

void RunBytes::show(std::string_view messages_json) {
  push(encoder::messages_run({spec_.thread,
                              spec_.id,
                              {},
                              spec_.records.client_version.value_or(std::string()),
                              spec_.records.is_binary},
                             messages_json));
  close({});
}

void RunBytes::read(const run::FoundRun& found) {
  run_ = found.run;
  hub_ = found.hub;
  encoder::RecordedOptions options = spec_.records;
  options.one_run = found.one_run;
  options.thread_id = found.thread_id;
  if (const auto fits = hub_->check_cursor(options.after); !fits) return fail(fits.error());
  encoder_ = encoder::RecordedAgUi(std::move(options));
  // Without a first record nothing shows yet whether there is anything to answer.
  if (!hub_->is_over()) open_head(200);
  const auto hub = hub_;
  if (const auto attached = hub->attach(shared_from_this(), found.before); !attached) {
    return fail(attached.error());
  }
  if (!closed_ && !runtime_->runs().works_on(run_)) runtime_->follow(run_, hub);
}

void RunBytes::open_head(int status) {
  if (std::exchange(has_head_, true)) return;
  std::string head = "{";
  json::append_member(head, "run", hub_ ? run_.text() : std::string());
  json::append_member(head, "status", static_cast<std::int64_t>(status));
  json::append_member(head, "type",
                      spec_.records.is_binary ? encoder::ag_ui_proto_type : "text/event-stream");
  services_.queue.push_head(id_, head + "}");
}

bool RunBytes::push(std::string_view bytes) {
  open_head(200);
  keep_alive_.start_at(os::Timer::Clock::now() + keep_alive_every);
  services_.on_output(bytes.size());
  stall_.watch();
  is_full_ = !services_.queue.push(id_, bytes);
  return !is_full_;
}

bool RunBytes::on_record(const journal::Record& record) {
  if (closed_) return false;
  encoder_.on_record(record);
  if (!encoder_.ended()) return encoder_.pending().size() < piece_bytes || push_pending();
  const auto hub = hub_;
  hub->detach(*this);
  on_end(nullptr);
  return false;
}

bool RunBytes::on_pause() {
  return push_pending();
}

bool RunBytes::push_pending() {
  if (encoder_.pending().empty()) return !is_full_;
  // Leaves no room behind: many wait here for long.
  std::string piece;
  encoder_.take_into(piece);
  return push(piece);
}

void RunBytes::on_end(const Error* error) {
  if (closed_) return;
  push_pending();
  if (error != nullptr && !has_head_) return fail(*error);
  if (error != nullptr) {
    encoder_.fail(error->code_name(), error->message);
    push_pending();
  }
  open_head(204);
  close({});
}

void RunBytes::fail(const Error& error) {
  if (!closed_) close(error_json(error));
}

void RunBytes::close(std::string end) {
  closed_ = true;
  const auto self = shared_from_this();
  runtime_->leave(id_);
  keep_alive_.cancel();
  stall_.cancel();
  if (const auto hub = std::exchange(hub_, nullptr)) hub->detach(*this);
  services_.queue.end(id_, std::move(end));
  services_.forget(id_);
}

void RunBytes::resume() {
  is_full_ = false;
  room_.grow();
  if (const auto hub = hub_) hub->resume(*this);
}

// A hub and its readers hold each other.
void RunBytes::silence() {
  closed_ = true;
  if (const auto hub = std::exchange(hub_, nullptr)) hub->detach(*this);
}

// As a reader that went away.
void RunBytes::let_go() {
  const auto self = shared_from_this();
  cancel();
  services_.queue.abort(id_, error_json(stall_.error()));
  services_.forget(id_);
}

void RunBytes::cancel() {
  if (std::exchange(closed_, true)) return;
  runtime_->leave(id_);
  keep_alive_.cancel();
  stall_.cancel();
  const auto hub = std::exchange(hub_, nullptr);
  if (!hub) return;
  hub->detach(*this);
  runtime_->requests().left(*hub, run_);
}

}  // namespace millrace::host
