#include "api/served_tools.hpp"

#include <utility>

#include "api/jobs.hpp"
#include "api/tool_routes.hpp"
#include "base/json.hpp"

namespace millrace::api {
namespace {

using json::Tree;

Tree schema_of(const tool::Spec& spec) {
  Tree schema = Tree::object();
  schema.set("type", "function");
  Tree& function = schema.set("function", Tree::object());
  function.set("name", spec.name);
  function.set("description", spec.description);
  auto parameters = Tree::parse(spec.parameters);
  function.set("parameters", parameters ? std::move(parameters).value() : Tree::object());
  return schema;
}

std::string failure_json(const Error& error) {
  Tree answer = Tree::object();
  Tree& failure = answer.set("error", Tree::object());
  failure.set("code", error.code_name());
  failure.set("message", error.message);
  return answer.to_json(json::Surrogates::replace);
}

// As the stage of a job: its detail is a text.
std::string progress_json(std::string_view given) {
  const auto value = Tree::parse(given);
  const bool is_text = value && value.value().is_string();
  Tree progress = Tree::object();
  progress.set("event", "custom");
  progress.set("name", "tool_progress");
  progress.set("value", is_text ? value.value().string() : given);
  std::string json = "{";
  json::append_raw_member(json, "progress", progress.to_json(json::Surrogates::replace));
  return json + "}";
}

}  // namespace

void ServedTools::serve(const std::shared_ptr<run::RunRegistry>& registry, std::string version) {
  registry_ = registry;
  run::DurableAgent agent{std::move(version), nullptr, this};
  agent.kind = run::RunKind::function;
  loop_.post(
      [registry, agent = std::move(agent)] { registry->add(std::string(tool_agent), agent); });
}

void ServedTools::close() {
  for (const auto& [id, job] : std::exchange(open_, {})) job->cancel();
}

Tree ServedTools::list() const {
  Tree list = Tree::array();
  if (!plan_) return list;
  for (const auto& [name, entry] : plan_->tools.entries()) {
    if (name != run::ask_user_name) list.push(schema_of(entry.tool->spec()));
  }
  return list;
}

Tree ServedTools::remote_names() const {
  Tree names = Tree::array();
  if (!plan_) return names;
  for (const auto& [name, entry] : plan_->tools.entries()) {
    if (entry.tool->spec().is_remote) names.push(Tree::text(name));
  }
  return names;
}

void ServedTools::begin(const std::string& id, const Tree& call, Limit limit, Ended ended,
                        Progress progress) {
  const std::string name(call["name"].string());
  const auto later = [this](const Ended& call_back, Result<std::string> text) {
    loop_.post([call_back, text = std::move(text)] { call_back(text); });
  };
  tool::ToolCall made{id, name, call["args"].to_json(json::Surrogates::replace), id};
  if (!plan_ || name == run::ask_user_name) {
    return later(ended, make_error(Errc::tool_not_found, "There is no tool called " + name + "."));
  }
  if (auto checked = plan_->tools.check(name, made.arguments); !checked) {
    return later(ended, std::move(checked).error());
  }
  tool::Spec spec = plan_->tools.find(name)->spec();
  spec.timeout = limit;
  run::ToolJob::Events events;
  // The plan keeps the tool.
  events.finished = [this, id, limit, later, ended, plan = plan_](tool::ToolOutcome outcome) {
    open_.erase(id);
    if (!outcome.is_error) return later(ended, std::move(outcome.content));
    const bool is_late = outcome.code == "tool_timeout";
    later(ended, is_late ? make_error(Errc::timeout, late_text(limit))
                         : make_error(Errc::tool_failed, std::move(outcome.content)));
  };
  events.progress = std::move(progress);
  const auto job = std::make_shared<run::ToolJob>(loop_, spec, std::move(events));
  open_.insert_or_assign(id, job);
  job->start(*plan_->tools.find(name), std::move(made));
}

void ServedTools::invoke(const Tree& call, ApiContext::Reply reply) {
  const auto ended = [reply = std::move(reply)](const Result<std::string>& text) {
    if (!text) return reply(text.error());
    reply(Tree::text(text.value()));
  };
  begin(std::string(call["id"].string()), call, Limit{0}, ended, nullptr);
}

void ServedTools::cancel(std::string_view id) {
  const auto found = open_.find(id);
  if (found == open_.end()) return;
  const auto job = found->second;
  open_.erase(found);
  job->cancel();
}

// --- recorded calls

void ServedTools::settle(const store::RunId& run, std::uint64_t id, std::string json) {
  loop_.post([registry = registry_, run, id, json = std::move(json)] {
    if (const auto there = registry.lock()) there->complete(run, id, json);
  });
}

void ServedTools::request_host(const store::RunId& run, run::HostWork /*work*/, std::uint64_t id,
                               std::string json) {
  const auto task = Tree::parse(json);
  if (!task) return settle(run, id, failure_json(task.error()));
  const auto ended = [this, run, id](const Result<std::string>& text) {
    if (!text) return settle(run, id, failure_json(text.error()));
    Tree answer = Tree::object();
    answer.set("result", text.value());
    settle(run, id, answer.to_json(json::Surrogates::replace));
  };
  const auto progress = [this, run, id](std::string_view value) {
    settle(run, id, progress_json(value));
  };
  begin(run.text(), task.value()["run"]["context"], limit_, ended, progress);
}

void ServedTools::withdraw(const store::RunId& run, std::uint64_t /*id*/) {
  cancel(run.text());
}

void ServedTools::notify(const store::RunId& run, std::uint64_t id, std::string json) {
  const auto notice = Tree::parse(json);
  if (!notice || !notice.value()["stop"].is_true()) return;
  cancel(run.text());
  settle(run, id, failure_json(make_error(Errc::cancelled)));
}

}  // namespace millrace::api
