#include "api/job_answers.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "api/attachment_routes.hpp"
#include "store/rules.hpp"

namespace millrace::api {

using json::Tree;

namespace {

void add_addresses(Tree& message) {
  Tree known = Tree::array();
  for (const Tree& item : message["attachments"].items()) known.push(with_addresses(item));
  message.set("attachments", std::move(known));
}

}  // namespace

Tree snapshot_of(const Job& job) {
  return job.log().snapshot(store::system_clock()());
}

void show_job(const JobsPtr& jobs, const JobPtr& job, std::function<void(Tree)> shown) {
  jobs->count_before(job, [job, shown = std::move(shown)](std::optional<std::int64_t> before) {
    Tree snapshot = snapshot_of(*job);
    snapshot.set("queue_position", before ? Tree::integer(*before) : Tree());
    if (Tree* message = snapshot.find("queued_message"); message != nullptr && message->is_object())
      add_addresses(*message);
    for (Tree& message : snapshot.at("sent_messages").items()) add_addresses(message);
    shown(std::move(snapshot));
  });
}

void send_job(const JobsPtr& jobs, const JobPtr& job, const ResponsePtr& response, int status) {
  show_job(jobs, job,
           [response, status](const Tree& snapshot) { send_json(response, status, snapshot); });
}

void show_jobs(const JobsPtr& jobs, const std::vector<JobPtr>& found,
               std::function<void(Tree::Items)> shown) {
  struct Showing {
    Tree::Items list;
    std::size_t left;
    std::function<void(Tree::Items)> shown;
  };
  if (found.empty()) return shown({});
  const auto showing =
      std::make_shared<Showing>(Showing{Tree::Items(found.size()), found.size(), std::move(shown)});
  for (std::size_t at = 0; at < found.size(); ++at) {
    show_job(jobs, found[at], [showing, at](Tree snapshot) {
      showing->list[at] = std::move(snapshot);
      if (--showing->left == 0) showing->shown(std::move(showing->list));
    });
  }
}

void answer_at_stop(const ResponsePtr& response, std::string_view name, const std::string& id,
                    const std::string& route) {
  response->on_expedite([weak = std::weak_ptr(response), name, id, route] {
    const auto open = weak.lock();
    if (!open) return;
    Tree body = Tree::object();
    body.set("error",
             "The server stops before the answer is whole. With storage the work goes on "
             "at its next start: read GET " +
                 route + id + " then.");
    body.set("code", row_of(Errc::engine_closed).code);
    body.set(name, id);
    send_json(open, row_of(Errc::engine_closed).http_status, body);
  });
}

}  // namespace millrace::api
