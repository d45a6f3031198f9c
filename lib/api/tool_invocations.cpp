#include "api/tool_invocations.hpp"

#include <utility>
#include <variant>

#include "api/job_answers.hpp"
#include "api/job_stream.hpp"
#include "api/sse_response.hpp"
#include "journal/page.hpp"

namespace millrace::api {
namespace {

using journal::RunState;
using json::Tree;

constexpr std::size_t call_place = 4;  // /api/v1/tools/invocations/<id>
constexpr std::size_t page_bytes = std::size_t{1} << 20U;
constexpr std::size_t most_result_bytes = std::size_t{64} << 20U;
constexpr double ms_of_second = 1000;
constexpr std::string_view no_invocation = "Invocation not found";

std::string_view status_of_call(RunState state) {
  switch (state) {
    case RunState::queued: return "queued";
    case RunState::completed: return "done";
    case RunState::cancelled: return "cancelled";
    case RunState::failed:
    case RunState::dead: return "error";
    default: return "running";
  }
}

// What the records of a call tell.
struct CallRecords {
  std::string tool;
  std::string text;
  std::string failure;

  void take(const journal::Record& record) {
    if (record.branch != 0) return;
    if (const auto* event = std::get_if<event::Event>(&record.body)) {
      const auto* delta = std::get_if<event::TextDelta>(&event->body);
      if (delta != nullptr && text.size() < most_result_bytes) text.append(delta->delta);
      return;
    }
    const auto* fact = std::get_if<journal::Fact>(&record.body);
    if (fact == nullptr) return;
    if (const auto* accepted = std::get_if<journal::Accepted>(fact)) {
      const auto context = Tree::parse(accepted->context_json);
      if (context) tool = context.value()["name"].string();
    } else if (const auto* terminal = std::get_if<journal::Terminal>(fact)) {
      const auto error = Tree::parse(terminal->error_json);
      if (!error) return;
      // A call that was cut has the code for its message, as a job that was.
      const std::string_view code = error.value()["code"].string();
      failure = code == "interrupted" ? code : error.value()["message"].string();
    }
  }
};

Result<CallRecords> call_records(store::StorageBackend& backend, const store::RunId& run) {
  CallRecords records;
  std::uint64_t after = 0;
  for (;;) {
    auto pages = backend.read(run, after, page_bytes);
    if (!pages) return std::move(pages).error();
    if (pages.value().empty()) return records;
    for (const store::StoredPage& page : pages.value()) {
      journal::PageReader reader(page.bytes, page.last, page.count);
      for (;;) {
        auto record = reader.next();
        if (!record) return std::move(record).error();
        if (record.value() == nullptr) break;
        records.take(*record.value());
      }
    }
    after = pages.value().back().last;
  }
}

bool wants_events(const http::Request& request) {
  return accepts(request, "text/event-stream") &&
         request.query_value("format").value_or("") != "json";
}

chat::Cursor event_place(const http::Request& request) {
  const auto after = request.query_value("after");
  const std::string text =
      after ? *after : std::string(request.headers.find("Last-Event-ID").value_or(""));
  return chat::parse_cursor(json::trim(text)).value_or(chat::Cursor());
}

Result<run::StartRequest> start_of_call(const InvocationRequest& request, const store::RunId& run,
                                        CallbackSecrets& secrets) {
  Tree context = Tree::object();
  context.set("name", request.name);
  context.set("args", request.args);
  context.set("context", request.context);
  run::StartRequest start;
  start.name = tool_agent;
  start.input.run_id = job_id(run);
  start.input.messages_json = "[]";
  start.input.trace = request.trace;
  start.principal = request.principal;
  start.context_json = context.to_json(json::Surrogates::replace);
  start.id = run;
  start.idem_key = request.idem_key;
  start.idem_hash = request.idem_hash;
  if (request.callback.is_object()) {
    auto webhook = webhook_of(run, request.callback, request.trace, secrets);
    if (!webhook) return std::move(webhook).error();
    start.outbox.push_back(std::move(webhook).value());
  }
  return start;
}

}  // namespace

Result<Tree> load_invocation(store::StorageBackend& backend, const store::RunId& run,
                             const std::optional<std::string>& principal) {
  auto row = backend.run(run);
  if (!row) return std::move(row).error();
  const bool is_there = row.value() && row.value()->run.name == tool_agent &&
                        (!principal || row.value()->run.principal == *principal);
  if (!is_there) return make_error(Errc::run_not_found, std::string(no_invocation));
  auto read = call_records(backend, run);
  if (!read) return std::move(read).error();
  const CallRecords& records = read.value();
  const store::RunRow& found = *row.value();
  const bool is_over = found.ended.has_value();
  const bool is_done = found.state == RunState::completed;
  Tree invocation = Tree::object();
  invocation.set("request_id", job_id(run));
  invocation.set("tool_name", records.tool);
  invocation.set("status", status_of_call(found.state));
  invocation.set("ok", is_over ? Tree::flag(is_done) : Tree());
  invocation.set("result", is_done ? Tree::text(records.text) : Tree());
  const std::string_view why =
      records.failure.empty() ? status_of_call(found.state) : records.failure;
  invocation.set("error", is_over && !is_done ? Tree::text(why) : Tree());
  const std::int64_t until = found.ended.value_or(backend.now());
  invocation.set("duration_ms", Tree::integer(until - found.created));
  invocation.set("created_at", Tree::number(static_cast<double>(found.created) / ms_of_second));
  return invocation;
}

Tree invocation_report(const Tree& invocation) {
  Tree report = Tree::object();
  for (const std::string_view name :
       {"request_id", "tool_name", "ok", "result", "duration_ms", "error"}) {
    report.set(name, invocation[name]);
  }
  return report;
}

ToolInvocations::ToolInvocations(ApiContextPtr context, JobsPtr jobs)
    : context_(std::move(context)),
      jobs_(std::move(jobs)),
      secrets_(std::make_shared<CallbackSecrets>(context_->options.files.empty()
                                                     ? std::string()
                                                     : context_->options.files + ".callback-key")),
      webhooks_(std::make_shared<Webhooks>(context_, secrets_)) {
  webhooks_->look();
}

void ToolInvocations::begin(const InvocationRequest& request, int status,
                            const ResponsePtr& response) {
  const auto run = store::RunId::next();
  const bool has_callback = request.callback.is_object();
  auto start = start_of_call(request, run, *secrets_);
  if (!start) return send_failure(response, start.error());
  context_->runs->start(
      std::move(start).value(),
      [weak = weak_from_this(), response, status, has_callback, name = request.name,
       principal = request.principal](const Result<run::StartedRun>& started) {
        const auto self = weak.lock();
        if (!self) return;
        if (!started) return send_failure(response, started.error());
        const std::string id = job_id(started.value().run);
        Tree body = Tree::object();
        body.set("ok", Tree::flag(true));
        body.set("request_id", id);
        body.set("tool_name", name);
        body.set("status", "accepted");
        (void)response->send(status,
                             {{"Content-Type", "application/json; charset=utf-8"},
                              {"Location", "/api/v1/tools/invocations/" + id}},
                             body.to_json(json::Surrogates::replace));
        if (has_callback) self->watch(started.value().run, principal);
      });
}

void ToolInvocations::call(const InvocationRequest& request, const ResponsePtr& response) {
  const auto run = store::RunId::next();
  auto start = start_of_call(request, run, *secrets_);
  if (!start) return send_failure(response, start.error());
  context_->runs->start(
      std::move(start).value(), [weak = weak_from_this(), response, principal = request.principal](
                                    const Result<run::StartedRun>& started) {
        const auto self = weak.lock();
        if (!self) return;
        if (!started) return send_failure(response, started.error());
        self->jobs_->find(
            job_id(started.value().run), principal,
            [weak, response, principal, run = started.value().run](const JobPtr& job) {
              const auto found = weak.lock();
              if (!found) return;
              if (!job || job->is_over()) return found->answer_end(run, principal, response);
              job->count();
              answer_at_stop(response, "request_id", job->id(), "/api/v1/tools/invocations/");
              job->listen(response.get(),
                          [weak, response, principal, run, calling = std::weak_ptr(job)] {
                            const auto again = weak.lock();
                            const auto ended = calling.lock();
                            if (!again || !ended || !ended->is_over()) return;
                            ended->unlisten(response.get());
                            again->answer_end(run, principal, response);
                          });
            });
      });
}

void ToolInvocations::answer_end(const store::RunId& run, const std::string& principal,
                                 const ResponsePtr& response) {
  context_->read_store<Result<Tree>>(
      [run, principal](store::StorageBackend& backend) {
        return load_invocation(backend, run, principal);
      },
      [response](const Result<Tree>& invocation) {
        if (!invocation) return send_failure(response, invocation.error());
        Tree answer = invocation_report(invocation.value());
        answer.erase(answer["ok"].is_true() ? "error" : "result");
        send_json(response, 200, answer);
      });
}

// Its callback is due with its end.
void ToolInvocations::watch(const store::RunId& run, const std::string& principal) {
  jobs_->find(job_id(run), principal, [weak = weak_from_this()](const JobPtr& job) {
    const auto self = weak.lock();
    if (!self || !job) return;
    job->count();
    if (job->is_over()) return self->webhooks_->look();
    job->listen(self.get(), [weak, ended = std::weak_ptr(job)] {
      const auto found = weak.lock();
      const auto over = ended.lock();
      if (found && over && over->is_over()) found->webhooks_->look();
    });
  });
}

void ToolInvocations::find(const http::Request& request, const ResponsePtr& response,
                           const Found& found) {
  const auto run = run_of_job(request.path_segment(call_place));
  if (!run) return send_refusal(response, 404, no_invocation);
  context_->read_store<Result<Tree>>(
      [run = *run, principal = principal_of(request, *context_)](store::StorageBackend& backend) {
        return load_invocation(backend, run, principal);
      },
      [response, run = *run, found](const Result<Tree>& invocation) {
        if (invocation) return found(run, invocation.value());
        const bool is_none = invocation.error().code == Errc::run_not_found;
        if (is_none) return send_refusal(response, 404, no_invocation);
        send_failure(response, invocation.error());
      });
}

void ToolInvocations::read(const http::Request& request, const ResponsePtr& response) {
  find(request, response,
       [context = context_, jobs = jobs_, response, is_stream = wants_events(request),
        after = event_place(request), principal = principal_of(request, *context_)](
           const store::RunId& run, const Tree& invocation) {
         if (!is_stream) return send_json(response, 200, invocation);
         jobs->find(job_id(run), principal, [context, jobs, response, after](const JobPtr& job) {
           if (!job) return send_refusal(response, 404, no_invocation);
           std::make_shared<JobStream>(context->loop, jobs, job, response, after, false)->start();
         });
       });
}

// Answers as the call stands once it has ended, which comes soon.
void ToolInvocations::cancel(const http::Request& request, const ResponsePtr& response) {
  const std::string principal = principal_of(request, *context_);
  const auto show = [self = shared_from_this(), response, principal](const store::RunId& run) {
    self->context_->read_store<Result<Tree>>(
        [run, principal](store::StorageBackend& backend) {
          return load_invocation(backend, run, principal);
        },
        [response](const Result<Tree>& invocation) {
          if (!invocation) return send_failure(response, invocation.error());
          send_json(response, 200, invocation.value());
        });
  };
  const auto wait = [context = context_, jobs = jobs_, principal, show](const store::RunId& run) {
    jobs->find(job_id(run), principal, [context, show, run](const JobPtr& job) {
      if (!job) return show(run);
      when_over(context->loop, job, [show, run] { show(run); });
    });
  };
  find(request, response,
       [context = context_, response, principal, show, wait](const store::RunId& run,
                                                             const Tree& invocation) {
         if (!invocation["ok"].is_null()) return show(run);
         context->requests->stop(run.text(), principal, {}, "user_aborted",
                                 [response, run, wait](const Result<std::string>& stopped) {
                                   if (!stopped) return send_failure(response, stopped.error());
                                   wait(run);
                                 });
       });
}

}  // namespace millrace::api
