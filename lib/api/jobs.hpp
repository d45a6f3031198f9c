// Jobs: runs as clients of the chat routes see them, with a log of their own numbers.
//
// The log is made of the run's records. It is kept while the run works, and for a while after.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/api_context.hpp"
#include "api/inline_media.hpp"
#include "chat/job_log.hpp"
#include "run/durable/run_hub.hpp"
#include "store/rules.hpp"

namespace millrace::api {

// The agent whose runs are slash commands.
inline constexpr std::string_view command_agent = "millrace:command";
// The name of the agent that gives what a hook of the host answered.
inline constexpr std::string_view pipeline_agent = "millrace:pipeline";
// The agent whose runs are calls of tools from outside, which are no jobs of conversations.
inline constexpr std::string_view tool_agent = "millrace:tool";

// Thread: engine thread.
class Job final : public run::RunReader, public std::enable_shared_from_this<Job> {
 public:
  using Listener = std::function<void()>;

  // Gets the media that the run wrote into its texts, once each.
  using TakeMedia = std::function<void(std::vector<InlineMedium> media)>;

  Job(const store::RunRow& row, chat::JobOptions options, TakeMedia take_media);

  [[nodiscard]] const store::RunId& run() const { return run_; }
  [[nodiscard]] const std::string& id() const { return id_; }  // 32 hexadecimal digits
  [[nodiscard]] const std::string& conversation() const { return conversation_; }
  [[nodiscard]] const std::string& principal() const { return principal_; }
  // A call of a tool has routes and a scope of its own.
  [[nodiscard]] bool is_call() const { return is_call_; }
  [[nodiscard]] const chat::JobLog& log() const { return log_; }
  // Nothing more comes.
  [[nodiscard]] bool is_over() const { return has_failed_ || log_.is_over(); }
  // Its records could not be read to their end; the run may go on.
  [[nodiscard]] bool is_cut() const { return has_failed_; }
  // Why, where the log has no end; null otherwise.
  [[nodiscard]] const Error* cut() const { return cut_ && !log_.is_over() ? &*cut_ : nullptr; }
  // Nothing comes before the user answers what the run waits for; it is read again then.
  [[nodiscard]] bool is_waiting() const { return !is_over() && !hub_ && !ready_; }

  // The run has a reader in this job for as long as the job is here: it was begun for one. Others
  // only look at it.
  void count();
  // No event is due and it has no listener: its log can be dropped, and read again later.
  [[nodiscard]] bool is_unread() const { return is_over() || (is_waiting() && listeners_.empty()); }

  // Reads the run from where the log ends; `ready` is called once the log has all that was
  // committed then.
  void read(const std::shared_ptr<run::RunHub>& hub, Listener ready);
  // Ends the log where the run is damaged as its row is.
  void check(const store::RunRow& row);
  // Ends the log, since the conversation was deleted and the run with it.
  void remove();
  // Called after the log has got more, and at the end.
  void listen(const void* who, Listener listener);
  void unlisten(const void* who) { listeners_.erase(who); }
  // Reads no further: a run and its readers hold each other.
  void leave();

  bool on_record(const journal::Record& record) override;
  void on_end(const Error* error) override;

 private:
  void settle(std::uint64_t seq);
  void notify();

  store::RunId run_;
  std::string id_;
  std::string conversation_;
  std::string principal_;
  bool is_call_ = false;
  bool counts_ = false;
  const std::shared_ptr<std::vector<InlineMedium>> media_;  // of the record that is being read
  const std::shared_ptr<std::int64_t> at_ms_;               // its time
  TakeMedia take_media_;
  chat::JobLog log_;
  std::shared_ptr<run::RunHub> hub_;
  std::uint64_t last_ = 0;  // record that the log has
  std::uint64_t wanted_ = 0;
  Listener ready_;
  std::map<const void*, Listener> listeners_;
  bool has_failed_ = false;     // it cannot be read
  std::optional<Error> cut_;    // why
  bool is_unreadable_ = false;  // since records are damaged
};

using JobPtr = std::shared_ptr<Job>;

// Thread: engine thread.
class Jobs final : public std::enable_shared_from_this<Jobs> {
 public:
  using Found = std::function<void(JobPtr job)>;  // null: there is none

  explicit Jobs(ApiContextPtr context) : context_(std::move(context)) {}

  // Leaves all runs.
  void close();

  // By its id, of this principal.
  void find(std::string_view id, const std::string& principal, Found found);
  // All of these, without those that are not there.
  void find_all(const std::vector<store::RunId>& runs, const std::string& principal,
                std::function<void(std::vector<JobPtr>)> found);
  // Goes on with a job that waited, where its run does.
  void refresh(const JobPtr& job, std::function<void()> ready);
  // How many jobs of its conversation come before one that waits for its turn; nothing for others.
  void count_before(const JobPtr& job, std::function<void(std::optional<std::int64_t>)> counted);
  // Those that work, the oldest first; "" is any conversation.
  void active(const std::string& principal, const std::string& conversation,
              std::function<void(std::vector<JobPtr>)> found);

 private:
  void store_media(const store::RunId& run, std::vector<InlineMedium> media);
  void open(const store::RunRow& row, const Found& found);
  void keep(const JobPtr& job);
  void forget(const store::RunId& run);

  ApiContextPtr context_;
  std::map<store::RunId, JobPtr> jobs_;
  std::list<store::RunId> order_;  // of those that are kept, the oldest first
};

using JobsPtr = std::shared_ptr<Jobs>;

// Calls `done` once the job is over, or some seconds after the grace of a function that is to stop
// where the store is slow.
void when_over(os::EventLoop& loop, const JobPtr& job, std::function<void()> done);

// The name of a job: that of its run without the prefix.
std::string job_id(const store::RunId& run);
std::optional<store::RunId> run_of_job(std::string_view id);

// The job of a damaged run is an error, and keeps its conversation busy no longer.
using store::is_damaged;

// The runs of a principal that are not over, of this thread or of any ("").
Result<std::vector<store::RunRow>> active_runs(store::StorageBackend& backend,
                                               const std::string& principal,
                                               const std::string& thread);
// The newest of them, or nothing.
Result<std::optional<store::RunRow>> newest_active(store::StorageBackend& backend,
                                                   const std::string& principal);
// The same without those that are damaged: what keeps the thread busy.
Result<std::vector<store::RunRow>> busy_runs(store::StorageBackend& backend,
                                             const std::string& principal,
                                             const std::string& thread);

}  // namespace millrace::api
