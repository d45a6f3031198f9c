#include "api/history_routes.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "api/api_answers.hpp"
#include "api/attachment_routes.hpp"
#include "api/conversations.hpp"
#include "chat/history.hpp"
#include "chat/ids.hpp"
#include "chat/titles.hpp"

namespace millrace::api {
namespace {

using json::Tree;

constexpr std::string_view missing_thread = "Conversation not found";

using Records = std::vector<chat::HistoryRecord>;
using JobsByRun = std::map<std::string, JobPtr>;
using TakenIds = std::set<std::string, std::less<>>;  // of messages that a run took at work

struct HistoryRequest {
  std::string principal;
  std::string conversation;
  std::string limit;
  std::string before;
  std::string before_id;  // of a message, in place of its number
  ResponsePtr response;
};

// Nothing where the conversation is not there. The default one is there without being made.
Result<std::optional<Records>> load_records(store::StorageBackend& backend,
                                            const HistoryRequest& request) {
  auto thread = backend.thread(request.principal, request.conversation);
  if (!thread) return thread.error();
  if (!thread.value() && request.conversation != chat::default_conversation) {
    return std::optional<Records>();
  }
  auto rows = backend.messages(request.principal, request.conversation);
  if (!rows) return rows.error();
  return std::optional(records_of(rows.value()));
}

// The last questions of runs that have no answer: what they did may be worth showing.
std::map<std::string, std::size_t> questions_without_answer(const Records& records) {
  std::map<std::string, std::size_t> questions;
  for (std::size_t at = 0; at < records.size(); ++at) {
    if (records[at].is_user && !records[at].run.empty()) questions[records[at].run] = at;
  }
  for (const chat::HistoryRecord& record : records) {
    if (!record.is_user) questions.erase(record.run);
  }
  return questions;
}

std::vector<std::string> runs_without_answer(const Records& records) {
  std::vector<std::string> runs;
  for (const auto& [run, at] : questions_without_answer(records)) runs.push_back(run);
  return runs;
}

// Their blocks come with the page that has them.
void add_records_without_text(Records& records, const SilentRuns& silent) {
  const auto questions = questions_without_answer(records);
  Records all;
  for (std::size_t at = 0; at < records.size(); ++at) {
    all.push_back(std::move(records[at]));
    const chat::HistoryRecord& question = all.back();
    const auto last = questions.find(question.run);
    const bool is_last = last != questions.end() && last->second == at;
    if (!is_last || !silent.shows(question.run)) continue;
    chat::HistoryRecord answer;
    answer.run = question.run;
    answer.item = Tree::object();
    const auto run = store::RunId::parse(question.run);
    answer.item.set("message_id", "msg_" + (run ? job_id(*run) : question.run));
    answer.item.set("role", "bot");
    answer.item.set("content", "");
    answer.item.set("timestamp", question.item["timestamp"]);
    all.push_back(std::move(answer));
  }
  records = std::move(all);
}

// The answer of a run to what it got with this question: the next one, or the last of all.
std::size_t answer_to(const Records& records, const std::string& run, std::size_t question) {
  std::size_t answer = records.size();
  for (std::size_t at = 0; at < records.size(); ++at) {
    if (records[at].is_user || records[at].run != run) continue;
    answer = at;
    if (at >= question) break;
  }
  return answer;
}

// Whether what the run did for this message, which it took while it worked, belongs to the answer.
// Nothing where the message is removed.
std::optional<bool> is_for(const Records& records, std::size_t answer, const std::string& message) {
  const std::string& run = records[answer].run;
  const std::string id = chat::message_id_of(message);
  for (std::size_t at = 0; at < records.size(); ++at) {
    const chat::HistoryRecord& record = records[at];
    if (!record.is_user || record.item["message_id"].string() != id) continue;
    return record.run == run && answer_to(records, run, at) == answer;
  }
  return std::nullopt;
}

// Whether what the run did before it took a message belongs to the answer: to its first one, unless
// that is to such a message, and the one to the question is removed.
bool is_first(const Records& records, std::size_t answer, const TakenIds& taken) {
  const std::string& run = records[answer].run;
  if (answer_to(records, run, 0) != answer) return false;
  bool is_for_taken = false;
  for (std::size_t at = 0; at < records.size(); ++at) {
    const chat::HistoryRecord& record = records[at];
    if (!record.is_user || record.run != run) continue;
    if (!taken.contains(record.item["message_id"].string())) return true;
    is_for_taken = is_for_taken || at < answer;
  }
  return !is_for_taken;
}

// What the answer did: as its message has it, or as its job knows it. A run that took messages
// while it worked has several answers, each with a part of its events.
Tree block_of(const Records& records, std::size_t answer, const JobsByRun& jobs) {
  const chat::HistoryRecord& record = records[answer];
  if (record.is_user || record.block.is_object()) return record.block;
  const auto found = jobs.find(record.run);
  if (found == jobs.end()) return {};
  const chat::JobLog& log = found->second->log();
  const auto taken = log.taken_messages();
  if (taken.empty()) return log.history_block();
  TakenIds ids;
  for (const auto& message : taken) ids.insert(chat::message_id_of(message.id));
  const auto part_of = [&](std::uint64_t seq) {
    const auto behind = std::find_if(taken.begin(), taken.end(),
                                     [seq](const auto& message) { return message.seq > seq; });
    return static_cast<std::size_t>(std::distance(taken.begin(), behind));
  };
  std::vector<bool> shown{is_first(records, answer, ids)};
  for (const auto& message : taken) {
    const auto is_own = is_for(records, answer, message.id);
    const auto is_in = [&](std::uint64_t seq) { return part_of(seq) == shown.size(); };
    shown.push_back(is_own ? *is_own : chat::has_texts(record, log.history_block(is_in)));
  }
  return log.history_block([&](std::uint64_t seq) { return shown[part_of(seq)]; });
}

// What an agent wrote, with its media as attachments.
chat::HistoryRecord shaped(chat::HistoryRecord record, const std::string& principal) {
  if (record.item["attachments"].is_array()) {
    Tree known = Tree::array();
    for (const Tree& item : record.item["attachments"].items()) known.push(with_addresses(item));
    record.item.set("attachments", std::move(known));
  }
  if (record.is_user) return record;
  std::vector<InlineMedium> media;
  chat::Output output =
      shape_output(record.item["content"].string(), {principal, record.at_ms}, media);
  if (media.empty()) return record;
  record.item.set("content", output.content);
  Tree attachments =
      record.item["attachments"].is_array() ? record.item["attachments"] : Tree::array();
  for (const Tree& item : output.attachments.items()) attachments.push(item);
  record.item.set("attachments", std::move(attachments));
  return record;
}

Tree page_json(const HistoryRequest& request, const Records& records, const chat::HistoryPage& page,
               const JobsByRun& jobs, const ApiOptions& options) {
  Tree items = Tree::array();
  for (std::size_t at = page.begin; at < page.end; ++at) {
    const chat::HistoryRecord record = shaped(records[at], request.principal);
    if (auto item = chat::history_item(record, block_of(records, at, jobs))) {
      items.push(std::move(*item));
    }
  }
  Tree body = Tree::object();
  body.set("conversation_id", request.conversation);
  body.set("virtual_user_id", Tree::integer(options.user_id));
  body.set("permission", options.permission);
  body.set("count", Tree::integer(static_cast<std::int64_t>(items.items().size())));
  body.set("items", std::move(items));
  chat::add_page_members(body, page, records.size());
  body.set("next_before_id", page.has_more() ? records[page.begin].item["message_id"] : Tree());
  return body;
}

// What jobs at work were sent and have not taken.
Tree sent_to(const std::vector<JobPtr>& jobs) {
  Tree sent = Tree::array();
  for (const JobPtr& job : jobs) {
    for (const Tree& message : job->log().sent_messages()) sent.push(message);
  }
  return sent;
}

// Behind all others, but for those that were taken since.
void add_pending(Records& records, const Tree& sent) {
  if (sent.items().empty()) return;
  std::set<std::string, std::less<>> known;
  for (const auto& record : records) known.emplace(record.item["message_id"].string());
  for (chat::HistoryRecord& record :
       chat::history_records(sent, utc_offset_minutes(store::system_clock()()))) {
    if (known.contains(record.item["message_id"].string())) continue;
    record.item.set("pending", Tree::flag(true));
    records.push_back(std::move(record));
  }
}

JobsByRun by_run(const std::vector<JobPtr>& jobs) {
  JobsByRun by;
  for (const JobPtr& job : jobs) by.emplace(job->run().text(), job);
  return by;
}

struct HistoryService {
  ApiContextPtr context;
  JobsPtr jobs;
  SilentRunsPtr silent;

  void on_read(const http::Request& request, const ResponsePtr& response) const;
  void read(const HistoryRequest& wanted, const Tree& sent) const;
  void answer(const HistoryRequest& request, Records records) const;
  void on_clear(const http::Request& request, const ResponsePtr& response) const;
};

std::string conversation_in(const http::Request& request) {
  std::string id(request.query_value("conversation_id").value_or(""));
  return id.empty() ? std::string(chat::default_conversation) : id;
}

void HistoryService::on_read(const http::Request& request, const ResponsePtr& response) const {
  HistoryRequest wanted;
  wanted.principal = principal_of(request, *context);
  wanted.conversation = conversation_in(request);
  wanted.limit = request.query_value("limit").value_or("");
  wanted.before = request.query_value("before").value_or("");
  wanted.before_id = request.query_value("before_id").value_or("");
  wanted.response = response;
  // Before the messages are read: one that is taken in between is among them.
  jobs->active(wanted.principal, wanted.conversation,
               [service = *this, wanted](const std::vector<JobPtr>& active) {
                 service.read(wanted, sent_to(active));
               });
}

void HistoryService::read(const HistoryRequest& wanted, const Tree& sent) const {
  using Loaded = Result<std::optional<Records>>;
  context->read_store<Loaded>(
      [wanted](store::StorageBackend& backend) { return load_records(backend, wanted); },
      [service = *this, wanted, sent](Loaded loaded) {
        if (!loaded) return send_failure(wanted.response, loaded.error());
        if (!loaded.value()) return send_refusal(wanted.response, 404, missing_thread);
        auto records = std::make_shared<Records>(std::move(*loaded.value()));
        service.silent->look_at(runs_without_answer(*records), wanted.principal,
                                [service, wanted, records, sent] {
                                  add_records_without_text(*records, *service.silent);
                                  add_pending(*records, sent);
                                  service.answer(wanted, std::move(*records));
                                });
      });
}

void HistoryService::answer(const HistoryRequest& request, Records records) const {
  std::string before = request.before;
  if (!request.before_id.empty()) {
    const auto found = std::find_if(records.begin(), records.end(), [&](const auto& record) {
      return record.item["message_id"].string() == request.before_id;
    });
    if (found == records.end()) return send_refusal(request.response, 404, "Message not found");
    before = std::to_string(std::distance(records.begin(), found));
  }
  const chat::HistoryPage page = chat::history_page(records.size(), request.limit, before);
  std::vector<store::RunId> runs;
  for (std::size_t at = page.begin; at < page.end; ++at) {
    const auto run = store::RunId::parse(records[at].run);
    if (!records[at].is_user && run && records[at].block.is_null()) runs.push_back(*run);
  }
  jobs->find_all(runs, request.principal,
                 [request, page, context = context,
                  records = std::move(records)](const std::vector<JobPtr>& found) {
                   send_json(request.response, 200,
                             page_json(request, records, page, by_run(found), context->options));
                 });
}

// Gives the number of messages that were removed; nothing where a job works in the conversation.
struct Cleared {
  int refusal = 0;
  std::string why;
  std::size_t count = 0;
};

Cleared clear(store::StorageBackend& backend, const std::string& principal, const std::string& id) {
  auto found = load_conversation(backend, principal, id);
  if (!found) return {500, found.error().message};
  if (!found.value() && id != chat::default_conversation) return {404, std::string(missing_thread)};
  auto active = busy_runs(backend, principal, id);
  if (!active) return {500, active.error().message};
  if (!active.value().empty()) return {409, "Chat job is still running"};
  auto rows = backend.messages(principal, id);
  if (!rows) return {500, rows.error().message};
  const std::size_t count = records_of(rows.value()).size();
  if (auto removed = backend.clear_messages(principal, id); !removed) {
    return {500, removed.error().message};
  }
  if (!found.value()) return {0, {}, count};
  Conversation& conversation = *found.value();
  conversation.row.updated = backend.now();
  chat::clear_title(conversation.titled, conversation.row.updated);
  if (auto saved = save_conversation(backend, conversation); !saved) {
    return {500, saved.error().message};
  }
  return {0, {}, count};
}

void HistoryService::on_clear(const http::Request& request, const ResponsePtr& response) const {
  const std::string principal = principal_of(request, *context);
  const std::string id = conversation_in(request);
  context->with_store<Cleared>(
      [principal, id](store::StorageBackend& backend) { return clear(backend, principal, id); },
      [response, id, context = context](const Cleared& cleared) {
        if (cleared.refusal != 0) return send_refusal(response, cleared.refusal, cleared.why);
        Tree body = Tree::object();
        body.set("success", Tree::flag(true));
        body.set("conversation_id", id);
        body.set("virtual_user_id", Tree::integer(context->options.user_id));
        body.set("cleared", Tree::integer(static_cast<std::int64_t>(cleared.count)));
        send_json(response, 200, body);
      });
}

}  // namespace

std::vector<ApiRoute> history_routes(const ApiContextPtr& context, const JobsPtr& jobs,
                                     const SilentRunsPtr& silent) {
  const auto service = std::make_shared<HistoryService>(HistoryService{context, jobs, silent});
  return {
      {"GET", "/api/v1/chat/history", "read", "Messages of a conversation, the latest page first.",
       [service](http::Request&& request, const ResponsePtr& response) {
         service->on_read(request, response);
       },
       "", "History", 200, 0,
       "conversation_id:string limit:integer before:integer before_id:string"},
      {"DELETE", "/api/v1/chat/history", "chat", "Removes the messages of a conversation.",
       [service](http::Request&& request, const ResponsePtr& response) {
         service->on_clear(request, response);
       },
       "", "Cleared", 200, 0, "conversation_id:string"},
  };
}

}  // namespace millrace::api
