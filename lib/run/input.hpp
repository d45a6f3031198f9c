// The body of POST /agent: AG-UI's RunAgentInput, or the smaller body that fetchLLM's route may
// send.
// Source: AG-UI protocol 1.0, RunAgentInput.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "message/client_items.hpp"
#include "store/types.hpp"

namespace millrace::run {

struct AgentInput {
  std::string thread_id;
  std::string run_id;
  std::string parent_run_id;
  std::string protocol_version;  // "" when the client sent none
  std::string messages_json;     // canonical unless verbatim, not empty; `context` comes first as a
                                 // system message
  bool has_context = false;      // the first of them is the `context`
  bool has_made_ids = false;     // their ids were made while they were read
  std::string tools_json;        // AG-UI tools, or ""
  std::string resume_json;       // answers to interrupts, or ""
  std::string state_json;  // the members `state` and `forwardedProps`, where they are read; or ""
  std::string props_json;
  std::string job_json;  // the input of a job, which has no messages
  // The rows of `messages_json` (state_messages.hpp), and the tools, where a thread with time has
  // read them; else null.
  json::Tree state_messages;
  json::Tree tools;
  // SHA-256 of the body that it was read from, by which a repeated request is known; "" is none.
  std::string body_hash;
  std::string trace;  // `traceparent` of the request that it came with; "" is none
  // What the thread gets in place of the messages, where they came from there; null otherwise.
  std::shared_ptr<const store::ThreadUpdate> thread;
  message::Withheld withheld;     // from the messages, since a client may not give it
  std::size_t unfit_records = 0;  // of its thread, about messages with other content now
};

struct InputOptions {
  std::string_view format;   // the shape of `messages`; "" is canonical
  bool has_state = false;    // the run's own state is known
  bool verbatim = false;     // messages are not read: only a host sees them, who gave them
  bool from_client = false;  // parts of unknown types are no fault
  bool reads_state = false;  // the members `state` and `forwardedProps` are wanted
  bool has_own_id = false;  // the id of the run is not the client's, and may be one of store::RunId
};

// Reads and checks the body. Missing ids are made; the client's of the run must not have the form
// of store::RunId. Unknown members and nulls of optional ones are ignored. There may be no messages
// where the body answers questions, the state is known, or `context` says what is asked.
// Errors: invalid_json, json_too_deep, invalid_body, invalid_messages, unknown_format.
Result<AgentInput> read_agent_input(std::string_view body, const InputOptions& options,
                                    IdSource& ids);

// Reads of a RunAgentInput what a client that comes to a thread is known by: its thread, which must
// be there, its run, whose id may be made, and its version.
// Errors: invalid_json, json_too_deep, invalid_body.
Result<AgentInput> read_connection(std::string_view body, IdSource& ids);

// What readers get of withheld state.
std::string withheld_sentence(const message::Withheld& withheld);
// The same of records that do not fit.
std::string unfit_sentence(std::size_t records);

}  // namespace millrace::run
