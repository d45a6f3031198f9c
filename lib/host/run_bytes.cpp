#include "host/run_bytes.hpp"

#include <chrono>
#include <utility>
#include <vector>

#include "base/error_json.hpp"
#include "base/json.hpp"
#include "base/json_tree.hpp"
#include "base/shown.hpp"
#include "encoder/ag_ui.hpp"
#include "host/runtime_stream.hpp"

namespace millrace::host {
namespace {

constexpr std::chrono::seconds keep_alive_every{15};

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
  query.state = journal::RunState::waiting;
  query.limit = 1;
  auto waiting = backend.runs(query);
  if (!waiting) return waiting.error();
  return !segments.value().empty() || !waiting.value().runs.empty();
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
  spec.id = options["id"].string();
  spec.principal = options["principal"].string();
  spec.thread = options["threadId"].string();
  spec.stops_unread = options["stopsUnread"].is_true();
  spec.records.after = static_cast<std::uint64_t>(options["after"].integer_or(0));
  spec.records.fresh = options["fresh"].is_true();
  if (options["protocolVersion"].is_string()) {
    spec.records.client_version = std::string(options["protocolVersion"].string());
  }
  if (!plan) return spec;
  run::InputOptions read_as;
  read_as.format = options["format"].string();
  read_as.from_client = true;
  auto input = run::read_agent_input(input_json, read_as, ids);
  if (!input) return std::move(input).error();
  run::StartRequest& request = spec.request.emplace();
  request.name = options["name"].string();
  request.principal = spec.principal;
  request.input = std::move(input).value();
  request.input.body_hash = options["inputHash"].string();
  return spec;
}

RunBytes::RunBytes(DrainQueue::StreamId id, HostServices& services,
                   std::shared_ptr<RuntimeStream> runtime, RunBytesSpec spec)
    : id_(id),
      services_(services),
      runtime_(std::move(runtime)),
      spec_(std::move(spec)),
      encoder_(spec_.records),
      keep_alive_(services.loop, [this] {
        const auto self = shared_from_this();
        if (!closed_) push(encoder::AgUiEncoder::keep_alive);
      }) {}

void RunBytes::start() {
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
  json::append_member(head, "run", run_.text());
  json::append_member(head, "status", static_cast<std::int64_t>(status));
  services_.queue.push_head(id_, head + "}");
}

bool RunBytes::push(std::string_view bytes) {
  open_head(200);
  keep_alive_.start_at(os::Timer::Clock::now() + keep_alive_every);
  services_.on_output(bytes.size());
  is_full_ = !services_.queue.push(id_, bytes);
  return !is_full_;
}

bool RunBytes::on_record(const journal::Record& record) {
  if (closed_) return false;
  encoder_.on_record(record);
  bool has_room = !is_full_;
  if (!encoder_.pending().empty()) {
    encoder_.take_into(buffer_);
    has_room = push(buffer_);
  }
  if (!encoder_.ended()) return has_room;
  const auto hub = hub_;
  hub->detach(*this);
  on_end(nullptr);
  return false;
}

void RunBytes::on_end(const Error* error) {
  if (closed_) return;
  if (error != nullptr && !has_head_) return fail(*error);
  if (error != nullptr) {
    encoder_.fail(error->code_name(), error->message);
    encoder_.take_into(buffer_);
    if (!buffer_.empty()) push(buffer_);
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
  if (const auto hub = std::exchange(hub_, nullptr)) hub->detach(*this);
  services_.queue.end(id_, std::move(end));
  services_.forget(id_);
}

void RunBytes::resume() {
  is_full_ = false;
  if (const auto hub = hub_) hub->resume(*this);
}

// A hub and its readers hold each other.
void RunBytes::silence() {
  closed_ = true;
  if (const auto hub = std::exchange(hub_, nullptr)) hub->detach(*this);
}

void RunBytes::cancel() {
  if (std::exchange(closed_, true)) return;
  runtime_->leave(id_);
  keep_alive_.cancel();
  const auto hub = std::exchange(hub_, nullptr);
  if (!hub) return;
  hub->detach(*this);
  if (!spec_.stops_unread || hub->readers() > 0) return;
  runtime_->requests().stop(run_.text(), {}, {}, "reader_left", [](const Result<std::string>&) {});
}

}  // namespace millrace::host
