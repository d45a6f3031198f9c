// What JavaScript asks of a runtime.
#include <chrono>

#include "base/base64.hpp"
#include "base/error_json.hpp"
#include "base/json.hpp"
#include "base/shown.hpp"
#include "host/runtime_stream.hpp"
#include "os/event_loop.hpp"
#include "run/durable/run_info.hpp"
#include "run/durable/run_records.hpp"
#include "run/durable/run_replay.hpp"
#include "store/rules.hpp"

namespace millrace::host {
namespace {

using json::Tree;

Result<store::RunId> run_of(const Tree& options) {
  const auto run = store::RunId::parse(options["run"].string());
  if (run) return *run;
  return make_error(Errc::run_not_found,
                    "There is no run " + shown_text(options["run"].string()) + ".");
}

std::string text_of(const Tree& options, std::string_view name) {
  return std::string(options[name].string());
}

// Of what is given as JSON text.
std::function<void(Result<std::string>)> parsed(std::function<void(Result<Tree>)> reply) {
  return [reply = std::move(reply)](const Result<std::string>& text) {
    reply(text ? Tree::parse(text.value()) : Result<Tree>(text.error()));
  };
}

std::optional<std::string> principal_of(const Tree& options) {
  if (!options["principal"].is_string()) return std::nullopt;
  return std::string(options["principal"].string());
}

}  // namespace

const std::map<std::string_view, RuntimeStream::Handler>& RuntimeStream::handlers() {
  static const std::map<std::string_view, Handler> rows{
      {"open", &RuntimeStream::do_open},           {"get", &RuntimeStream::do_get},
      {"list", &RuntimeStream::do_list},           {"stop", &RuntimeStream::do_stop},
      {"approvals", &RuntimeStream::do_approvals}, {"decide", &RuntimeStream::do_decide},
      {"listen", &RuntimeStream::do_listen},       {"unlisten", &RuntimeStream::do_unlisten},
      {"send", &RuntimeStream::do_send},           {"message", &RuntimeStream::do_message},
      {"records", &RuntimeStream::do_records},     {"messages", &RuntimeStream::do_messages},
      {"fork", &RuntimeStream::do_fork},           {"replay", &RuntimeStream::do_replay},
      {"delete", &RuntimeStream::do_delete},       {"pipelines", &RuntimeStream::do_pipelines},
      {"close", &RuntimeStream::do_close},
  };
  return rows;
}

void RuntimeStream::command(const HostCommand& command) {
  const auto self = shared_from_this();
  const Reply reply = [weak = weak_from_this(), id = command.id](Result<Tree> result) {
    const auto found = weak.lock();
    if (!found) return;
    std::string item = "{";
    json::append_member(item, "type", result ? "@answer" : "@refused");
    json::append_member(item, "id", static_cast<std::int64_t>(id));
    if (result) {
      json::append_raw_member(item, "value", result.value().to_json(json::Surrogates::replace));
    } else {
      json::append_raw_member(item, "error", error_json(result.error()));
    }
    found->push(item + "}");
  };
  const auto handler = handlers().find(command.name);
  auto options = Tree::parse(command.options);
  const bool is_storage = has_storage_command(command.name);
  if (handler == handlers().end() && !is_storage) {
    return reply(make_error(Errc::invalid_argument));
  }
  if (!options) return reply(options.error());
  when_open([this, reply, is_storage, name = command.name, handler,
             options = std::move(options).value()](const Error* error) {
    if (error != nullptr) return reply(*error);
    if (is_storage) return do_storage(name, options, reply);
    (this->*handler->second)(options, reply);
  });
}

void RuntimeStream::do_open(const Tree& options, const Reply& reply) {
  static_cast<void>(options);
  reply(Tree());
}

void RuntimeStream::do_get(const Tree& options, const Reply& reply) {
  requests_->describe(text_of(options, "run"), text_of(options, "principal"),
                      text_of(options, "threadId"), parsed(reply));
}

void RuntimeStream::do_list(const Tree& options, const Reply& reply) {
  Tree query = options;
  query.erase("principal");
  requests_->list(query, text_of(options, "principal"), parsed(reply));
}

void RuntimeStream::do_stop(const Tree& options, const Reply& reply) {
  requests_->stop(text_of(options, "run"), text_of(options, "principal"), {},
                  text_of(options, "reason"), parsed(reply));
}

void RuntimeStream::do_delete(const Tree& options, const Reply& reply) {
  requests_->remove(
      text_of(options, "run"), text_of(options, "principal"),
      [reply](const Result<bool>& removed) { removed ? reply(Tree()) : reply(removed.error()); });
}

void RuntimeStream::do_approvals(const Tree& options, const Reply& reply) {
  store::ApprovalQuery query;
  query.principal = principal_of(options);
  query.open_only = !options["all"].is_true();
  if (options["run"].is_string()) {
    const auto run = run_of(options);
    if (!run) return reply(run.error());
    query.run = run.value();
  }
  with_store<Result<Tree>>(
      [query](store::StorageBackend& backend) -> Result<Tree> {
        auto rows = backend.approvals(query);
        if (!rows) return rows.error();
        Tree list = Tree::array();
        for (const store::ApprovalRow& row : rows.value()) list.push(run::approval_info(row));
        return list;
      },
      reply);
}

// The approval names its run, which goes on with the answer.
void RuntimeStream::do_decide(const Tree& options, const Reply& reply) {
  const std::string id = text_of(options, "approval");
  if (!options["run"].is_null()) {
    return requests_->decide(text_of(options, "run"), id, text_of(options, "principal"),
                             options["entry"], parsed(reply));
  }
  using Found = Result<store::RunId>;
  with_store<Found>(
      [id](store::StorageBackend& backend) -> Found {
        auto rows = backend.approvals({std::nullopt, std::nullopt, false, id});
        if (!rows) return rows.error();
        if (!rows.value().empty()) return rows.value().front().run;
        return make_error(Errc::approval_mismatch, "There is no approval " + shown_text(id) + ".");
      },
      [this, id, entry = options["entry"], reply](const Found& found) {
        if (!found) return reply(found.error());
        if (!requests_) return reply(make_error(Errc::engine_closed));
        requests_->decide(found.value().text(), id, {}, entry, parsed(reply));
      });
}

void RuntimeStream::do_send(const Tree& options, const Reply& reply) {
  const auto run = run_of(options);
  if (!run) return reply(run.error());
  runs_->send(run.value(), text_of(options, "event"), options["payload"],
              [reply](const Result<bool>& sent) { sent ? reply(Tree()) : reply(sent.error()); });
}

void RuntimeStream::do_message(const Tree& options, const Reply& reply) {
  Tree body = options;
  for (const std::string_view of_command : {"run", "principal"}) body.erase(of_command);
  requests_->send_message(text_of(options, "run"), text_of(options, "principal"), body,
                          parsed(reply));
}

void RuntimeStream::do_fork(const Tree& options, const Reply& reply) {
  Tree body = options;
  for (const std::string_view of_command : {"run", "principal"}) body.erase(of_command);
  requests_->fork(text_of(options, "run"), text_of(options, "principal"), body, parsed(reply));
}

void RuntimeStream::do_replay(const Tree& options, const Reply& reply) {
  const auto run = run_of(options);
  if (!run) return reply(run.error());
  run::ReplayRequest request{run.value(), text_of(options, "principal"), text_of(options, "as")};
  if (options["version"].is_string()) request.version = text_of(options, "version");
  with_store<Result<Tree>>(
      [request](store::StorageBackend& backend) -> Result<Tree> {
        std::string text;
        MILLRACE_TRY(run::replay_run(backend, request, [&](std::string_view bytes) {
          text += bytes;
          return Result<void>();
        }));
        return Tree::text(request.as == run::binary_replay ? base64::encode(text) : text);
      },
      reply);
}

void RuntimeStream::do_records(const Tree& options, const Reply& reply) {
  const auto run = run_of(options);
  if (!run) return reply(run.error());
  const auto after = static_cast<std::uint64_t>(options["after"].integer_or(0));
  with_store<Result<Tree>>(
      [run = run.value(), after](store::StorageBackend& backend) {
        return run::read_records_json(backend, run, after);
      },
      reply);
}

void RuntimeStream::do_messages(const Tree& options, const Reply& reply) {
  const auto run = run_of(options);
  if (!run) return reply(run.error());
  with_store<Result<Tree>>(
      [run = run.value()](store::StorageBackend& backend) {
        return run::read_given_messages(backend, run);
      },
      reply);
}

void RuntimeStream::do_close(const Tree& options, const Reply& reply) {
  const std::int64_t wait = options["drainMs"].integer_or(0);
  if (wait <= 0 || runs_->at_work() == 0) return shut(reply);
  const auto end = [weak = weak_from_this(), reply] {
    const auto self = weak.lock();
    if (self && self->runs_) self->shut(reply);
  };
  drained_ = end;
  drain_ = std::make_unique<os::Timer>(services_.loop, end);
  drain_->start_at(os::Timer::Clock::now() + std::chrono::milliseconds(wait));
}

}  // namespace millrace::host
