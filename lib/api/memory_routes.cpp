#include "api/memory_routes.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "api/api_answers.hpp"
#include "api/conversations.hpp"
#include "base/letter_case.hpp"
#include "chat/legacy_import.hpp"
#include "os/random_ids.hpp"

namespace millrace::api {
namespace {

using json::Tree;

// Facts are one message of a thread of their own, which no list of conversations shows: a change is
// a whole.
constexpr std::string_view memory_thread = "millrace:memory";
constexpr std::string_view memory_message = "facts";
constexpr std::size_t fact_place = 3;  // /api/v1/memory/<uuid>

// What became of a request; the body of a refusal is its words.
struct MemoryOutcome {
  int status = 200;
  Tree body;
};

MemoryOutcome rejected_fact(int status, std::string_view why) {
  Tree body = Tree::object();
  body.set("error", why);
  return {status, std::move(body)};
}

MemoryOutcome rejected_fact(const Error& error) {
  return rejected_fact(row_of(error.code).http_status, error.message);
}

// Shape: [{"uuid", "fact", "created_at"}].
Result<Tree> load_facts(store::StorageBackend& backend, const std::string& principal) {
  auto rows = backend.messages(principal, memory_thread);
  if (!rows) return std::move(rows).error();
  if (rows.value().empty()) return Tree::array();
  return Tree::parse(rows.value().front().json);
}

Result<void> save_facts(store::StorageBackend& backend, const std::string& principal,
                        const Tree& facts) {
  const std::int64_t now = backend.now();
  auto thread = backend.thread(principal, memory_thread);
  if (!thread) return std::move(thread).error();
  if (!thread.value()) {
    store::ThreadRow row{principal, std::string(memory_thread), {}, now, now, {}};
    MILLRACE_TRY(backend.put_thread(row));
  }
  const store::MessageRow message{std::string(memory_message), 0,
                                  facts.to_json(json::Surrogates::keep)};
  return backend.put_messages(principal, memory_thread, {&message, 1});
}

struct FactQuery {
  std::string text;
  std::string folded_text;
  std::optional<std::int64_t> most;
  std::string from;
  std::string to;
  std::optional<std::int64_t> from_ms;
  std::optional<std::int64_t> to_ms;
  std::string_view fault;
};

FactQuery read_fact_query(const http::Request& request, std::int64_t offset) {
  FactQuery query;
  query.text = json::trim(request.query_value("q").value_or(""));
  query.folded_text = folded(query.text);
  const std::string most(json::trim(request.query_value("top_k").value_or("")));
  if (!most.empty()) {
    query.most = number_in(request, "top_k", INT64_MIN);
    if (!query.most) query.fault = "top_k must be an integer";
    if (query.most && *query.most <= 0) query.fault = "top_k must be > 0";
  }
  const auto read_bound = [&](std::string_view name, std::string_view fault, std::string& text,
                              std::optional<std::int64_t>& bound) {
    text = json::trim(request.query_value(name).value_or(""));
    if (text.empty()) return;
    bound = chat::parse_time(text, offset);
    if (!bound && query.fault.empty()) query.fault = fault;
  };
  read_bound("time_from", "time_from must be ISO datetime", query.from, query.from_ms);
  read_bound("time_to", "time_to must be ISO datetime", query.to, query.to_ms);
  if (query.from_ms && query.to_ms && *query.from_ms > *query.to_ms) {
    std::swap(query.from_ms, query.to_ms);
  }
  return query;
}

bool fits(const Tree& fact, const FactQuery& query, std::int64_t offset) {
  const auto has_text = [&](std::string_view text) {
    return find_folded(text, query.folded_text) != std::string::npos;
  };
  if (!has_text(fact["fact"].string()) && !has_text(fact["uuid"].string())) return false;
  if (!query.from_ms && !query.to_ms) return true;
  const auto at = chat::parse_time(fact["created_at"].string(), offset);
  return at && (!query.from_ms || *at >= *query.from_ms) && (!query.to_ms || *at <= *query.to_ms);
}

Tree nullable(const std::string& text) {
  return text.empty() ? Tree() : Tree::text(text);
}

MemoryOutcome list_facts(store::StorageBackend& backend, const std::string& principal,
                         const FactQuery& query, std::int64_t offset) {
  auto facts = load_facts(backend, principal);
  if (!facts) return rejected_fact(facts.error());
  std::vector<Tree> found;
  for (const Tree& fact : facts.value().items()) {
    if (fits(fact, query, offset)) found.push_back(fact);
  }
  std::stable_sort(found.begin(), found.end(), [](const Tree& one, const Tree& other) {
    return one["created_at"].string() < other["created_at"].string();
  });
  if (query.most && found.size() > static_cast<std::size_t>(*query.most)) {
    found.resize(static_cast<std::size_t>(*query.most));
  }
  MemoryOutcome outcome{200, Tree::object()};
  outcome.body.set("total", Tree::integer(static_cast<std::int64_t>(found.size())));
  Tree& items = outcome.body.set("items", Tree::array());
  for (Tree& fact : found) items.push(std::move(fact));
  Tree& shown = outcome.body.at("query");
  shown.set("q", query.text);
  shown.set("top_k", query.most ? Tree::integer(*query.most) : Tree());
  shown.set("time_from", nullable(query.from));
  shown.set("time_to", nullable(query.to));
  return outcome;
}

// A fact that is known is that one.
MemoryOutcome add_fact(store::StorageBackend& backend, const std::string& principal,
                       std::string_view text, std::size_t most) {
  auto facts = load_facts(backend, principal);
  if (!facts) return rejected_fact(facts.error());
  Tree& list = facts.value();
  for (const Tree& fact : list.items()) {
    if (fact["fact"].string() == text) return {201, fact};
  }
  Tree fact = Tree::object();
  fact.set("uuid", os::RandomIds().next_id());
  fact.set("fact", text);
  fact.set("created_at", local_time(backend.now(), ' '));
  list.push(fact);
  auto& items = list.items();
  if (items.size() > most) {
    items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(items.size() - most));
  }
  if (auto saved = save_facts(backend, principal, list); !saved) {
    return rejected_fact(saved.error());
  }
  return {201, std::move(fact)};
}

// Changes or removes the fact of this id.
MemoryOutcome change_fact(store::StorageBackend& backend, const std::string& principal,
                          const std::string& id, const std::optional<std::string>& text) {
  auto facts = load_facts(backend, principal);
  if (!facts) return rejected_fact(facts.error());
  auto& items = facts.value().items();
  const auto found = std::find_if(items.begin(), items.end(),
                                  [&](const Tree& fact) { return fact["uuid"].string() == id; });
  if (found == items.end()) return rejected_fact(404, "Memory " + id + " not found");
  if (text) {
    found->set("fact", *text);
  } else {
    items.erase(found);
  }
  if (auto saved = save_facts(backend, principal, facts.value()); !saved) {
    return rejected_fact(saved.error());
  }
  MemoryOutcome outcome{200, Tree::object()};
  outcome.body.set("uuid", id);
  if (text) outcome.body.set("fact", *text);
  outcome.body.set(text ? "updated" : "deleted", Tree::flag(true));
  return outcome;
}

struct MemoryService {
  ApiContextPtr context;

  using Work = std::function<MemoryOutcome(store::StorageBackend&)>;
  static std::function<void(MemoryOutcome)> sender(const ResponsePtr& response) {
    return [response](const MemoryOutcome& outcome) {
      send_json(response, outcome.status, outcome.body);
    };
  }
  void answer(const ResponsePtr& response, Work work) const {
    context->with_store<MemoryOutcome>(std::move(work), sender(response));
  }
  // With work that changes nothing.
  void show(const ResponsePtr& response, Work work) const {
    context->read_store<MemoryOutcome>(std::move(work), sender(response));
  }

  // The fact in the body, where there is one; else the request is refused.
  static std::optional<std::string> fact_in(const http::Request& request,
                                            const ResponsePtr& response) {
    const auto body = object_in(request, response);
    if (!body) return std::nullopt;
    std::string fact(json::trim((*body)["fact"].string()));
    if (!fact.empty()) return fact;
    send_refusal(response, 400, "fact must not be empty");
    return std::nullopt;
  }

  void on_list(const http::Request& request, const ResponsePtr& response) const {
    const std::int64_t offset = utc_offset_minutes(store::system_clock()());
    const FactQuery query = read_fact_query(request, offset);
    if (!query.fault.empty()) return send_refusal(response, 400, query.fault);
    show(response, [principal = principal_of(request, *context), query,
                    offset](store::StorageBackend& backend) {
      return list_facts(backend, principal, query, offset);
    });
  }

  void on_add(const http::Request& request, const ResponsePtr& response) const {
    const auto fact = fact_in(request, response);
    if (!fact) return;
    answer(response, [principal = principal_of(request, *context), fact = *fact,
                      most = context->options.most_facts](store::StorageBackend& backend) {
      return add_fact(backend, principal, fact, most);
    });
  }

  void on_change(const http::Request& request, const ResponsePtr& response, bool removes) const {
    std::optional<std::string> fact;
    if (!removes) {
      fact = fact_in(request, response);
      if (!fact) return;
    }
    answer(response, [principal = principal_of(request, *context), fact,
                      id = request.path_segment(fact_place)](store::StorageBackend& backend) {
      return change_fact(backend, principal, id, fact);
    });
  }
};

}  // namespace

Result<ImportedFacts> import_facts(store::StorageBackend& backend, const std::string& principal,
                                   const Tree& list, std::size_t most) {
  auto facts = load_facts(backend, principal);
  if (!facts) return std::move(facts).error();
  std::set<std::string, std::less<>> known;
  for (const Tree& fact : facts.value().items()) {
    known.emplace(fact["uuid"].string());
    known.emplace(fact["fact"].string());
  }
  ImportedFacts outcome;
  Tree::Items taken;
  for (const Tree& given : list.items()) {
    const std::string text(json::trim(given["fact"].string()));
    std::string id(json::trim(given["uuid"].string()));
    if (text.empty() || known.contains(text) || known.contains(id)) {
      ++outcome.skipped;
      continue;
    }
    if (id.empty()) id = os::RandomIds().next_id();
    known.insert({id, text});
    Tree fact = Tree::object();
    fact.set("uuid", id);
    fact.set("fact", text);
    fact.set("created_at", given["created_at"].string());
    taken.push_back(std::move(fact));
  }
  const std::size_t there = facts.value().items().size();
  const std::size_t room = most > there ? most - there : 0;
  const std::size_t beyond = taken.size() > room ? taken.size() - room : 0;
  for (std::size_t at = beyond; at < taken.size(); ++at) facts.value().push(std::move(taken[at]));
  outcome.added = static_cast<std::int64_t>(taken.size() - beyond);
  outcome.beyond = static_cast<std::int64_t>(beyond);
  if (outcome.added > 0) MILLRACE_TRY(save_facts(backend, principal, facts.value()));
  return outcome;
}

Result<std::size_t> count_facts(store::StorageBackend& backend, const std::string& principal) {
  auto facts = load_facts(backend, principal);
  if (!facts) return std::move(facts).error();
  return facts.value().items().size();
}

std::vector<ApiRoute> memory_routes(const ApiContextPtr& context) {
  const auto service = std::make_shared<MemoryService>(MemoryService{context});
  return {
      {"GET", "/api/v1/memory", "read", "Facts that are remembered, the oldest first.",
       [service](http::Request&& request, const ResponsePtr& response) {
         service->on_list(request, response);
       },
       "", "Facts", 200, 0, "q:string top_k:integer time_from:string time_to:string"},
      {"POST", "/api/v1/memory", "chat", "Remembers a fact.",
       [service](http::Request&& request, const ResponsePtr& response) {
         service->on_add(request, response);
       },
       "FactRequest", "Fact", 201},
      {"PATCH", "/api/v1/memory/{uuid}", "chat", "Changes a fact.",
       [service](http::Request&& request, const ResponsePtr& response) {
         service->on_change(request, response, false);
       },
       "FactRequest", "FactChange"},
      {"DELETE", "/api/v1/memory/{uuid}", "chat", "Forgets a fact.",
       [service](http::Request&& request, const ResponsePtr& response) {
         service->on_change(request, response, true);
       },
       "", "FactChange"},
  };
}

}  // namespace millrace::api
