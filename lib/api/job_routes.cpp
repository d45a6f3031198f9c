#include "api/job_routes.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "api/job_answers.hpp"
#include "api/job_log_reply.hpp"
#include "api/job_stream.hpp"
#include "api/sse_response.hpp"
#include "base/sha256.hpp"
#include "chat/references.hpp"
#include "os/timer.hpp"
#include "run/durable/run_ends.hpp"
#include "run/durable/run_place.hpp"
#include "store/rules.hpp"

namespace millrace::api {
namespace {

using json::Tree;

constexpr std::size_t job_place = 4;  // /api/v1/chat/jobs/<id>
constexpr std::string_view no_job = "Job not found";

// What the routes of jobs share.
struct JobService {
  ApiContextPtr context;
  JobsPtr jobs;
  TurnsPtr turns;

  void with_turn(const http::Request& request, const ResponsePtr& response,
                 std::function<void(const JobPtr& job, const Tree& body)> begun) const;
  void chat(const http::Request& request, const ResponsePtr& response) const;
  void create(const http::Request& request, const ResponsePtr& response) const;
  void find(const http::Request& request, const ResponsePtr& response,
            std::function<void(const JobPtr& job)> found) const;
  void active(const http::Request& request, const ResponsePtr& response) const;
  void list(const http::Request& request, const ResponsePtr& response) const;
  void act(const http::Request& request, const ResponsePtr& response) const;
  void decide(const JobPtr& job, const std::string& action, const Tree& entry,
              const ResponsePtr& response) const;
  void events(const http::Request& request, const ResponsePtr& response) const;
  void cancel(const http::Request& request, const ResponsePtr& response) const;
};

void JobService::with_turn(const http::Request& request, const ResponsePtr& response,
                           std::function<void(const JobPtr&, const Tree&)> begun) const {
  const auto body = turn_in(request, response);
  if (!body) return;
  auto turn = read_turn(*body, principal_of(request, *context));
  if (const auto* refusal = std::get_if<TurnRefusal>(&turn)) {
    return send_refusal(response, *refusal);
  }
  TurnRequest& wanted = std::get<TurnRequest>(turn);
  wanted.idem_key = request.headers.find("Idempotency-Key").value_or("");
  wanted.trace = request.trace;
  if (!wanted.idem_key.empty()) wanted.idem_hash = sha256_hex(request.body);
  turns->begin(std::move(wanted), [response, body = *body, begun = std::move(begun)](
                                      const std::variant<JobPtr, TurnRefusal>& outcome) {
    if (const auto* refusal = std::get_if<TurnRefusal>(&outcome)) {
      return send_refusal(response, *refusal);
    }
    begun(std::get<JobPtr>(outcome), body);
  });
}

// A job that waits for a person gives no more for now.
bool has_answer(const Job& job) {
  return job.is_over() || job.is_waiting();
}

// The whole answer, or why there is none.
void answer_chat(const Job& job, const ApiOptions& options, const ResponsePtr& response) {
  if (const Error* error = job.cut()) return send_failure(response, *error);
  const Tree snapshot = snapshot_of(job);
  const std::string_view status = snapshot["status"].string();
  if (!job.is_over()) {
    const bool is_parked = snapshot["current_stage"].string() == "parked";
    Tree body = Tree::object();
    body.set("error", is_parked ? "Chat is parked until its agent is there again"
                                : "Chat is waiting for an action");
    if (is_parked) body.set("reason", snapshot["current_stage_detail"]);
    body.set("job_id", snapshot["job_id"]);
    body.set("waiting_input", snapshot["waiting_input"]);
    return send_json(response, 409, body);
  }
  if (status == "cancelled") return send_refusal(response, 409, "Chat cancelled");
  if (status != "done") return send_refusal(response, 502, "Chat failed");
  Tree body = Tree::object();
  body.set("mode", snapshot["mode"]);
  body.set("virtual_user_id", Tree::integer(options.user_id));
  body.set("permission", options.permission);
  for (const char* name : {"messages", "reply", "conversation_id", "job_id", "duration_ms"}) {
    body.set(name, snapshot[name]);
  }
  send_json(response, 200, body);
}

void JobService::chat(const http::Request& request, const ResponsePtr& response) const {
  with_turn(request, response,
            [context = context, jobs = jobs, response](const JobPtr& job, const Tree& body) {
              if (chat::is_loosely_true(body["stream"])) {
                return std::make_shared<JobStream>(context->loop, jobs, job, response,
                                                   chat::Cursor{}, false)
                    ->start();
              }
              if (has_answer(*job)) return answer_chat(*job, context->options, response);
              answer_at_stop(response, "job_id", job->id(), "/api/v1/chat/jobs/");
              // The listener holds the response; the job is held by those that keep it.
              job->listen(response.get(), [context, response, weak = std::weak_ptr(job)] {
                const auto found = weak.lock();
                if (!found || !has_answer(*found)) return;
                found->unlisten(response.get());
                answer_chat(*found, context->options, response);
              });
            });
}

void JobService::create(const http::Request& request, const ResponsePtr& response) const {
  with_turn(request, response, [jobs = jobs, response](const JobPtr& job, const Tree&) {
    send_job(jobs, job, response, 202);
  });
}

void JobService::find(const http::Request& request, const ResponsePtr& response,
                      std::function<void(const JobPtr&)> found) const {
  jobs->find(request.path_segment(job_place), principal_of(request, *context),
             [response, found = std::move(found)](const JobPtr& job) {
               if (!job || job->is_call()) return send_refusal(response, 404, no_job);
               found(job);
             });
}

void JobService::active(const http::Request& request, const ResponsePtr& response) const {
  const std::string conversation = request.query_value("conversation_id").value_or("");
  jobs->active(principal_of(request, *context), conversation,
               [jobs = jobs, response](const std::vector<JobPtr>& active) {
                 show_jobs(jobs, active, [response](Tree::Items list) {
                   Tree body = Tree::object();
                   body.set("job", list.empty() ? Tree() : list.back());
                   Tree& shown = body.set("jobs", Tree::array());
                   for (Tree& snapshot : list) shown.push(std::move(snapshot));
                   send_json(response, 200, body);
                 });
               });
}

// The states of runs that a job's status stands for.
std::vector<journal::RunState> states_of(std::string_view status) {
  using journal::RunState;
  if (status == "queued") return {RunState::queued, RunState::parked};
  if (status == "running") {
    return {RunState::running, RunState::waiting, RunState::sleeping, RunState::parked};
  }
  if (status == "done") return {RunState::completed};
  if (status == "cancelled") return {RunState::cancelled};
  if (status == "error") return {RunState::failed, RunState::dead, RunState::parked};
  return {};
}

// A parked run is queued, or running where it had begun, or an error.
bool has_status(const store::RunRow& row, std::string_view status) {
  if (row.state != journal::RunState::parked || status.empty()) return true;
  return is_damaged(row) == (status == "error");
}

// The newest first.
void JobService::list(const http::Request& request, const ResponsePtr& response) const {
  const std::string status = request.query_value("status").value_or("");
  if (!status.empty() && states_of(status).empty()) {
    return send_refusal(response, 400, "status must be queued, running, done, error or cancelled");
  }
  store::RunQuery query;
  query.principal = principal_of(request, *context);
  constexpr std::int64_t most_jobs = 100;
  constexpr std::int64_t usual_jobs = 20;
  query.limit = static_cast<std::size_t>(
      std::min(number_in(request, "limit", 1).value_or(usual_jobs), most_jobs));
  query.before = request.query_value("cursor").value_or("");
  if (const auto thread = request.query_value("conversation_id")) query.thread = *thread;
  query.states = states_of(status);
  using Listed = Result<store::RunList>;
  // Calls of tools are no jobs of conversations.
  context->read_store<Listed>(
      [query](store::StorageBackend& backend) {
        return run::runs_without(backend, query, std::string(tool_agent));
      },
      [jobs = jobs, principal = *query.principal, status, response](const Listed& listed) {
        if (!listed) return send_failure(response, listed.error());
        std::vector<store::RunId> runs;
        for (const store::RunRow& row : listed.value().runs) {
          if (has_status(row, status)) runs.push_back(row.run.id);
        }
        jobs->find_all(
            runs, principal,
            [jobs, response, status, next = listed.value().next](std::vector<JobPtr> found) {
              const bool is_queued = status == "queued";
              if (is_queued || status == "running") {
                std::erase_if(found, [is_queued](const JobPtr& job) {
                  return !job->is_over() && job->log().is_queued() != is_queued;
                });
              }
              show_jobs(jobs, found, [response, next](Tree::Items list) {
                Tree body = Tree::object();
                Tree& shown = body.set("jobs", Tree::array());
                for (Tree& snapshot : list) shown.push(std::move(snapshot));
                body.set("next_cursor", next.empty() ? Tree() : Tree::text(next));
                send_json(response, 200, body);
              });
            });
      });
}

// Answers what a job waits for.
void JobService::act(const http::Request& request, const ResponsePtr& response) const {
  const auto body = object_in(request, response);
  if (!body) return;
  constexpr std::size_t action_place = 6;  // /api/v1/chat/jobs/<id>/actions/<action>
  find(request, response,
       [service = *this, response, entry = *body,
        action = request.path_segment(action_place)](const JobPtr& job) {
         using Rows = Result<std::vector<store::ApprovalRow>>;
         service.context->read_store<Rows>(
             [run = job->run()](store::StorageBackend& backend) {
               return backend.approvals({std::nullopt, run, false});
             },
             [service, response, job, entry, action](const Rows& rows) {
               if (!rows) return send_failure(response, rows.error());
               const bool is_there = std::any_of(rows.value().begin(), rows.value().end(),
                                                 [&](const store::ApprovalRow& row) {
                                                   return row.id == action || row.call == action;
                                                 });
               if (!is_there) return send_refusal(response, 404, "Action not found");
               service.decide(job, action, entry, response);
             });
       });
}

void JobService::decide(const JobPtr& job, const std::string& action, const Tree& entry,
                        const ResponsePtr& response) const {
  context->requests->decide(
      job->run().text(), action, job->principal(), entry,
      [response, job, jobs = jobs](const Result<std::string>& decided) {
        if (!decided) return send_failure(response, decided.error());
        jobs->refresh(job, [response, jobs, job] { send_job(jobs, job, response, 200); });
      });
}

// The query counts more than the header: the address names the place on purpose.
chat::Cursor cursor_of(const http::Request& request) {
  if (const auto after = request.query_value("after")) {
    return chat::parse_cursor(json::trim(*after)).value_or(chat::Cursor());
  }
  const auto header = request.headers.find("Last-Event-ID");
  return header ? chat::parse_cursor(json::trim(*header)).value_or(chat::Cursor()) : chat::Cursor();
}

bool wants_stream(const http::Request& request) {
  return accepts(request, "text/event-stream") && !accepts(request, "application/json") &&
         request.query_value("format").value_or("") != "json";
}

void JobService::events(const http::Request& request, const ResponsePtr& response) const {
  const auto conversation = request.query_value("conversation_id");
  const bool has_deltas = chat::is_loosely_true(request.query_value("deltas").value_or(""));
  find(
      request, response,
      [context = context, jobs = jobs, response, conversation, has_deltas,
       after = cursor_of(request), is_stream = wants_stream(request)](const JobPtr& job) {
        if (conversation && !conversation->empty() && *conversation != job->conversation()) {
          return send_refusal(response, 404, no_job);
        }
        if (!is_stream) {
          return show_job(jobs, job, [response, job, after, has_deltas](const Tree& snapshot) {
            std::make_shared<JobLogReply>(job, response, after, has_deltas)->start(snapshot);
          });
        }
        std::make_shared<JobStream>(context->loop, jobs, job, response, after, has_deltas)->start();
      });
}

void JobService::cancel(const http::Request& request, const ResponsePtr& response) const {
  const bool takes_back = chat::is_loosely_true(request.query_value("take_back").value_or(""));
  find(
      request, response, [context = context, jobs = jobs, response, takes_back](const JobPtr& job) {
        const auto answer = [jobs, response, job] { send_job(jobs, job, response, 200); };
        if (job->log().is_over() && !job->is_cut()) return answer();
        // The message of one that has begun is part of the conversation.
        const bool leaves_nothing = takes_back && job->log().is_queued();
        context->requests->stop(
            job->run().text(), job->principal(), {},
            std::string(leaves_nothing ? run::taken_back : "user_aborted"),
            [context, jobs, response, job, answer](const Result<std::string>& stopped) {
              if (!stopped) return send_failure(response, stopped.error());
              if (job->is_cut()) {
                return jobs->find(job->id(), job->principal(), [jobs, response](const JobPtr& now) {
                  now ? send_job(jobs, now, response, 200) : send_refusal(response, 404, no_job);
                });
              }
              // One that waited for an action reads no further by itself.
              jobs->refresh(job, [context, job, answer] { when_over(context->loop, job, answer); });
            });
      });
}

}  // namespace

std::vector<ApiRoute> job_routes(const ApiContextPtr& context, const JobsPtr& jobs,
                                 const TurnsPtr& turns) {
  const auto service = std::make_shared<JobService>(JobService{context, jobs, turns});
  const auto handler =
      [service](void (JobService::*handle)(const http::Request&, const ResponsePtr&) const) {
        return [service, handle](http::Request&& request, const ResponsePtr& response) {
          (*service.*handle)(request, response);
        };
      };
  return {
      {"POST", "/api/v1/chat", "chat", "Answers a message, at once or as a stream.",
       handler(&JobService::chat), "ChatRequest", "ChatAnswer"},
      {"POST", "/api/v1/chat/jobs", "chat", "Begins to answer a message.",
       handler(&JobService::create), "JobRequest", "Job", 202},
      {"GET", "/api/v1/chat/jobs", "read", "Jobs, the newest first.", handler(&JobService::list),
       "", "Jobs", 200, 0, "status:string conversation_id:string limit:integer cursor:string"},
      {"POST", "/api/v1/chat/jobs/{job_id}/actions/{action_id}", "approve",
       "Answers what a job waits for.", handler(&JobService::act), "ActionRequest", "Job"},
      {"GET", "/api/v1/chat/jobs/active", "read", "The jobs that work.",
       handler(&JobService::active), "", "ActiveJobs", 200, 0, "conversation_id:string"},
      {"GET", "/api/v1/chat/jobs/{job_id}", "read", "A job as it stands.",
       [service](http::Request&& request, const ResponsePtr& response) {
         service->find(request, response, [service, response](const JobPtr& job) {
           send_job(service->jobs, job, response, 200);
         });
       },
       "", "Job"},
      {"GET", "/api/v1/chat/jobs/{job_id}/events", "read",
       "The log of a job as JSON, or with Accept: text/event-stream as a stream.",
       handler(&JobService::events), "", "JobEvents", 200, 0,
       "after:string conversation_id:string format:string deltas:string"},
      {"POST", "/api/v1/chat/jobs/{job_id}/cancel", "chat", "Stops a job.",
       handler(&JobService::cancel), "", "Job", 200, 0, "take_back:boolean"},
  };
}

}  // namespace millrace::api
