#include "api/openapi_texts.hpp"

#include <algorithm>
#include <array>

namespace millrace::api {
namespace {

constexpr auto tags = std::to_array<TextRow>({
    {"ag-ui", "Runs of agents and their events, as clients of AG-UI use them."},
    {"agent", "Operations of agents, as clients of LobeHub use them."},
    {"automations", "Automations; this server has none."},
    {"chat",
     "Chats, jobs, conversations, messages, history and attachments. Jobs are per-conversation "
     "single-flight: `on_busy` decides what becomes of a message for a busy one. `jobs[]` of "
     "chat/jobs/active are those at work, and the event `requires_action` of a job is what it "
     "waits for."},
    {"cognitive", "Events and profiles; this server has none."},
    {"commands", "Slash commands."},
    {"memes", "Memes; this server has none."},
    {"memory", "Facts that are remembered by hand."},
    {"probes", "What the server has, and whether its models answer."},
    {"schedules", "Schedules; this server has none."},
    {"session", "Sessions of pages."},
    {"storage", "Threads and artifacts, as OpenUI's restStorage uses them."},
    {"system", "The state of the server, its metrics and this document."},
    {"tools", "Tools that clients call."},
    {"trpc", "Procedures of tRPC, as clients of LobeHub call them."},
    {"weixin", "A channel; this server has none."},
});

// Tags of what is not below /api/v1/, where the next word is the tag.
constexpr auto other_tags = std::to_array<TextRow>({
    {"/api/agent/", "agent"},
    {"/api/storage/", "storage"},
    {"/trpc/", "trpc"},
    {"/agent", "ag-ui"},
});

constexpr auto parameters = std::to_array<TextRow>({
    {"action_id", "The id of what the job waits for."},
    {"after", "Only events behind this number."},
    {"agent", "The name of the agent that is to run."},
    {"alias", "The name of the account."},
    {"approval_id", "The id of the approval."},
    {"artifact_id", "The id of the artifact."},
    {"attachment_id", "The id of the attachment."},
    {"batch", "1 where several procedures are called at once."},
    {"before", "Only messages before this place; the oldest message has 0."},
    {"before_id", "Only messages before the one with this id."},
    {"busy", "queue: the run waits where its thread has another one at work; or reject."},
    {"children", "1: runs that work for others are in the list."},
    {"command_name", "The name of the command, without its slash."},
    {"conversation_id", "The id of the conversation."},
    {"cursor", "Where the page begins: `next_cursor` or `nextCursor` of the page before it."},
    {"deltas", "1 or true: pieces of texts are among the events."},
    {"entity_id", "The id of whom the profile is about."},
    {"entity_type", "What the profile is about."},
    {"following", "true: also removes what follows the message."},
    {"format", "The form of the answer."},
    {"fresh", "1: what is open at this place is opened again first."},
    {"group_id", "The group in which the command is called."},
    {"historyLimit", "The most entries of the history."},
    {"id", "The id of the sender."},
    {"include_hidden", "true: hidden commands are in the list."},
    {"include_unavailable", "true: commands that the caller cannot use are in the list."},
    {"includeHistory", "true: what happened before is in the answer."},
    {"input", "The input of the procedures, as JSON."},
    {"job_id", "The id of the job."},
    {"lastEventId", "Only events behind the one with this id."},
    {"limit", "The most entries of a page."},
    {"maxSteps", "The most steps that are waited for."},
    {"message_id", "The id of the message."},
    {"name", "A part of the title."},
    {"operation_id", "The id of the operation."},
    {"operationId", "The id of the operation."},
    {"onDisconnect", "What the run does when its last reader leaves: continue or stop."},
    {"procedures", "The names of the procedures, separated by commas."},
    {"protocolVersion", "The version of AG-UI that the client has."},
    {"q", "The text to look for."},
    {"request_id", "The id of the call."},
    {"role", "Only messages of this role."},
    {"run_id", "The id of the run, or the `runId` of AG-UI."},
    {"scope", "Where the command is called."},
    {"sender_id", "Who calls the command."},
    {"session_id", "The id of the login."},
    {"state", "Only runs in this state."},
    {"status", "Only jobs in this state."},
    {"subagents", "true: events of sub-agents are in the stream."},
    {"take_back", "true: the message of a job that waits for its turn leaves the conversation."},
    {"task_id", "The id of the schedule."},
    {"thread_id", "The id of the thread."},
    {"threadId", "Only what belongs to this thread."},
    {"time_from", "Only facts from this time on."},
    {"time_to", "Only facts up to this time."},
    {"top_k", "The most facts."},
    {"type", "Only artifacts of this type; it may be repeated."},
    {"uid", "The id of the meme."},
    {"user_id", "The user for whom the command is called."},
    {"userId", "Only what this user is to decide."},
    {"uuid", "The id of the fact."},
});

constexpr auto answers = std::to_array<std::pair<int, std::string_view>>({
    {200, "The answer."},
    {201, "It was created."},
    {202, "It was accepted, and goes on."},
    {204, "It was done, and there is nothing to answer."},
    {206, "A part of it."},
    {304, "It is as the client has it."},
    {400, "This server does not have the service."},
    {416, "It has no such part."},
    {503, "This server does not have the service."},
});

template <class Rows, class Key>
std::string_view text_of(const Rows& rows, const Key& key) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.first == key; });
  return found == rows.end() ? std::string_view() : found->second;
}

}  // namespace

std::string_view tag_of(std::string_view path) {
  constexpr std::string_view api = "/api/v1/";
  if (path.starts_with(api)) {
    const std::string_view rest = path.substr(api.size());
    return rest.substr(0, rest.find('/'));
  }
  const auto found = std::find_if(other_tags.begin(), other_tags.end(),
                                  [&](const TextRow& row) { return path.starts_with(row.first); });
  return found == other_tags.end() ? "system" : found->second;
}

std::span<const TextRow> tag_texts() {
  return tags;
}

std::string_view parameter_text(std::string_view name) {
  return text_of(parameters, name);
}

std::string_view answer_text(int status) {
  return text_of(answers, status);
}

}  // namespace millrace::api
