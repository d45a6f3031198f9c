// What LobeHub's server does with operations. An operation is a durable run; nothing is kept beside
// its journal but which requests wait for a step.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "api/api_answers.hpp"
#include "api/api_context.hpp"
#include "api/lobe_hooks.hpp"
#include "api/lobe_watch.hpp"
#include "api/turns.hpp"

namespace millrace::api {

// An operation as a request names it.
struct LobePlace {
  std::string id;
  std::string principal;
  std::string thread;  // where several have this id; "" is any
};

// The answer of the user, in LobeHub's words.
struct LobeDecision {
  std::string action;    // "approve", "reject", "reject_continue", "input" or "select"
  json::Tree value;      // of an input or a selection
  std::string call_id;   // "": the only one that is open
  json::Tree arguments;  // that the call gets in place of its own; null: its own
  std::string reason;
};

// A request for an operation.
struct LobeCreation {
  LobePlace place;        // an id of "" is made
  std::string agent;      // "": the one that answers chats
  json::Tree messages;    // an array; that of a `prompt` alone goes on with its thread
  bool is_named = false;  // the client has named it
  bool is_prompt = false;
  bool starts = true;  // at once
  json::Tree tools;    // that the client runs
  json::Tree context;  // what the agent's tools get
  json::Tree hooks;    // as read_lobe_hooks gives them
  std::string trace;   // `traceparent` of the request; "" is none
  std::string idem_key;
  std::string body_hash;
};

// Thread: engine thread.
class LobeOperations final : public std::enable_shared_from_this<LobeOperations> {
 public:
  using WatchPtr = std::shared_ptr<LobeWatch>;
  using Watched = std::function<void(Result<WatchPtr>)>;
  template <class T>
  using Done = std::function<void(Result<T>)>;

  LobeOperations(ApiContextPtr context, std::shared_ptr<LobeHooks> hooks);

  // Errors: those of RunRequests::find.
  void find(const LobePlace& place, Done<run::FoundRun> done);
  // As it stands; `seen` gets its events.
  void state(const LobePlace& place, LobeWatch::Seen seen, Watched done);
  // Once `seen` has enough, or nothing more comes. `holder` leaves when its client does.
  void follow(const LobePlace& place, LobeWatch::Seen seen, const ResponsePtr& holder,
              Watched done);
  // Those of this principal that wait for the user, 100 at most.
  void waiting(const std::string& principal, Done<std::vector<WatchPtr>> done);

  // The id of an operation, or why the host's hooks let none begin.
  using Created = std::variant<std::string, TurnRefusal>;
  // Gives the id of the operation. A request that comes again gives the same one.
  // Errors: invalid_body; run_conflict; those of RunRequests::open.
  void create(LobeCreation creation, Done<Created> done);
  // Gives an operation that was created without a start its turn. False where it has had it.
  // Errors: those of find.
  void start(const LobePlace& place, Done<bool> done);
  // A decision that was made before as it is now changes nothing, and succeeds.
  // Errors: run_not_found, approval_mismatch, approval_answered, invalid_argument.
  void decide(const LobePlace& place, LobeDecision decision, Done<bool> done);
  // What a tool of the client's gave, once: the operation that goes on with it, or this one while
  // others of its calls are open.
  // Errors: run_not_found, approval_mismatch, approval_answered.
  void give_result(const LobePlace& place, const std::string& call_id, json::Tree result,
                   Done<std::string> done);
  // Ends it; one that is over stays as it is.
  void interrupt(const LobePlace& place, Done<bool> done);
  // Ends one that waits for a person; one that is over stays as it is.
  // Errors: invalid_state for one that works.
  void stop_pending(const LobePlace& place, Done<bool> done);

  // One request at a time executes a step. False where another one does.
  bool lock(const LobePlace& place, std::int64_t step) {
    return locks_.insert(lock_of(place, step)).second;
  }
  void unlock(const LobePlace& place, std::int64_t step) { locks_.erase(lock_of(place, step)); }

 private:
  struct Creating;
  struct Deciding;
  struct Giving;
  void go_on(const std::shared_ptr<Giving>& giving);
  void run_hooks(const std::shared_ptr<Creating>& creating);
  void begin(const std::shared_ptr<Creating>& creating);

  ApiContextPtr context_;
  std::shared_ptr<LobeHooks> hooks_;
  // Without calls of tools, which have routes and a scope of their own.
  std::shared_ptr<run::RunRequests> requests_;
  // What is known of the operations that were looked at last.
  std::shared_ptr<LobeProjection> known_of(const store::RunId& run);
  std::map<store::RunId, std::shared_ptr<LobeProjection>> known_;
  std::deque<store::RunId> known_order_;
  // Ids of operations belong to a principal and a thread.
  using Lock = std::tuple<std::string, std::string, std::string, std::int64_t>;
  static Lock lock_of(const LobePlace& place, std::int64_t step) {
    return {place.principal, place.thread, place.id, step};
  }
  std::set<Lock> locks_;
};

using LobeOperationsPtr = std::shared_ptr<LobeOperations>;

// Reads a request for an operation; `allow` is what webhooks may reach besides the public internet.
// Errors: invalid_body.
Result<LobeCreation> read_creation(const json::Tree& body, const std::string& principal,
                                   const std::vector<std::string>& allow);

// The call that a request is about; "" where it names none.
std::string call_in(const json::Tree& body);
// Reads the body of a decision.
// Errors: invalid_body.
Result<LobeDecision> read_lobe_decision(const json::Tree& body);
// What the body of a request for a step decides before it; nothing where it decides nothing.
// Errors: invalid_body.
Result<std::optional<LobeDecision>> step_decision(const json::Tree& body);

}  // namespace millrace::api
