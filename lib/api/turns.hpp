// A turn of a conversation: the user's message is stored, and a run of the agent answers it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/api_answers.hpp"
#include "api/command_routes.hpp"
#include "api/conversations.hpp"
#include "api/jobs.hpp"
#include "api/readable_runs.hpp"
#include "chat/references.hpp"

namespace millrace::api {

// What becomes of a turn while the conversation has a job that is not over.
enum class OnBusy : std::uint8_t {
  reject,
  queue,      // it begins behind it
  interrupt,  // the answer is cut, and the job goes on with it; a job that waits for the user ends
  steer,      // the job gets the message before the next request to the model
};

struct TurnRequest {
  std::string principal;
  std::string conversation;  // "": the default one
  chat::MessageInput message;
  bool reuses_previous = false;  // the last message of the user is answered again
  // Of it, the message of the user that becomes the last one: what follows it is removed in the
  // commit that begins the run. "" is the last one there is.
  std::string answers_again;
  std::string other_text;                      // of that message; "" leaves its text
  std::vector<InlineMedium> other_media = {};  // in it, which has `<attachment>` in their places
  OnBusy on_busy = OnBusy::reject;
  std::string idem_key;   // by which a request that comes again is known; "" is none
  std::string idem_hash;  // of its body
  std::string trace;      // `traceparent` of the request; "" is none
};

// Why no turn begins.
struct TurnRefusal {
  int status = 400;
  std::string message;
  std::string code = {};  // of an error; "" is not shown
};

void send_refusal(const ResponsePtr& response, const TurnRefusal& refusal);

// Reads the body of a request for a turn: {"message": string | {text, attachment_ids, references},
// "conversation_id"?, "reuse_previous_user_message"?, "on_busy"?: name of OnBusy}.
// Errors: none; what is missing is refused with 400.
std::variant<TurnRequest, TurnRefusal> read_turn(const json::Tree& body,
                                                 const std::string& principal);

// Thread: engine thread.
class Turns final : public std::enable_shared_from_this<Turns> {
 public:
  using Begun = std::function<void(std::variant<JobPtr, TurnRefusal>)>;

  Turns(ApiContextPtr context, JobsPtr jobs, CommandsPtr commands)
      : context_(std::move(context)), jobs_(std::move(jobs)), commands_(std::move(commands)) {}

  // Calls `begun` once the run is recorded.
  void begin(TurnRequest request, Begun begun);

 private:
  struct Turn;
  using Next = void (Turns::*)(const std::shared_ptr<Turn>&);
  void prepare(const std::shared_ptr<Turn>& turn);
  void run_hooks(const std::shared_ptr<Turn>& turn);
  void join(const std::shared_ptr<Turn>& turn);
  void send(const std::shared_ptr<Turn>& turn, const store::RunId& run);
  bool joins_later(const std::shared_ptr<Turn>& turn, const store::RunId& run);
  void replace(const std::shared_ptr<Turn>& turn);
  void stop_first(const std::shared_ptr<Turn>& turn, const store::RunId& run,
                  const std::string& reason, Next next);
  void store_media(const std::shared_ptr<Turn>& turn);
  void go_on(const std::shared_ptr<Turn>& turn);
  void start(const std::shared_ptr<Turn>& turn);
  void run(const std::shared_ptr<Turn>& turn, const chat::CommandDecision& decision);
  void give(const std::shared_ptr<Turn>& turn, const store::RunId& run);
  void give_loss(const std::shared_ptr<Turn>& turn);
  void name_conversation(const std::shared_ptr<Turn>& turn, const store::RunId& run);
  void make_title(const JobPtr& job);
  void ask_title(const std::string& principal, const std::string& id);

  ApiContextPtr context_;
  JobsPtr jobs_;
  CommandsPtr commands_;
  std::shared_ptr<ReadableRuns> readable_ = std::make_shared<ReadableRuns>();
  std::set<std::shared_ptr<Turn>> waiting_;  // for their next try
  // Ids of messages on their way to runs, by what those of their keys begin with.
  std::map<std::string, std::string, std::less<>> sending_;
};

using TurnsPtr = std::shared_ptr<Turns>;

}  // namespace millrace::api
