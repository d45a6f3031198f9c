// What JavaScript asks of a durable run that it begins or reads.
#include <string>
#include <utility>

#include "base/json_tree.hpp"
#include "host/run_stream.hpp"
#include "store/admission.hpp"

namespace millrace::host {

journal::OnDisconnect on_disconnect_in(const json::Tree& options) {
  const std::string_view wanted = options["onDisconnect"].string();
  if (wanted == "stop") return journal::OnDisconnect::stop;
  return wanted == "continue" ? journal::OnDisconnect::go_on : journal::OnDisconnect::unset;
}

Result<run::DurableAgent> read_agent_settings(std::string_view json) {
  auto settings = json::Tree::parse(json);
  if (!settings) return std::move(settings).error();
  run::DurableAgent agent;
  const std::string_view unknown = settings.value()["unknown"].string();
  if (unknown == "retry") agent.unknown = run::UnknownPolicy::retry;
  if (unknown == "ask") agent.unknown = run::UnknownPolicy::ask;
  agent.stops_left = on_disconnect_in(settings.value()) == journal::OnDisconnect::stop;
  agent.approval_ms = settings.value()["approvalTimeoutMs"].integer_or(agent.approval_ms);
  return agent;
}

Result<RunSpec> read_run_spec(std::shared_ptr<const run::AgentPlan> plan,
                              std::string_view input_json, std::string_view options_json,
                              IdSource& ids) {
  auto parsed = json::Tree::parse(options_json);
  if (!parsed) return std::move(parsed).error();
  const json::Tree& options = parsed.value();
  RunSpec spec;
  if (options["job"].is_true()) {
    auto input = json::Tree::parse(input_json);
    if (!input) return std::move(input).error();
    spec.input.job_json = input.value().to_json();
    spec.input.messages_json = "[]";
    spec.input.thread_id = options["threadId"].string();
    spec.input.run_id = ids.next_id();
    spec.input.body_hash = options["inputHash"].string();
  } else if (plan || !input_json.empty()) {
    run::InputOptions read_as;
    read_as.reads_state = !plan;
    read_as.format = options["format"].string();
    read_as.from_client = options["fromClient"].truthy();
    if (input_json.size() >= large_input_bytes) {
      spec.read_input = input_reader(input_json, read_as);
    } else {
      auto input = run::read_agent_input(input_json, read_as, ids);
      if (!input) return std::move(input).error();
      spec.input = std::move(input).value();
    }
    spec.input.body_hash = options["inputHash"].string();
  }
  spec.plan = std::move(plan);
  spec.name = options["name"].string();
  spec.principal = options["principal"].string();
  spec.idem_key = options["idempotencyKey"].string();
  spec.idem_hash = options["inputHash"].string();
  spec.may_wait = options["busy"].string() == "queue";
  for (const store::Lane lane : store::lanes) {
    if (store::name_of(lane) == options["priority"].string()) spec.lane = lane;
  }
  spec.on_disconnect = on_disconnect_in(options);
  if (const json::Tree* context = options.find("context")) spec.context_json = context->to_json();
  // What is no id is not found.
  if (options["run"].is_string()) {
    spec.run = store::RunId::parse(options["run"].string()).value_or(store::RunId());
  }
  if (options["parent"].is_string()) {
    spec.parent = store::RunId::parse(options["parent"].string());
    spec.parent_call = options["parentCall"].string();
  }
  spec.after = static_cast<std::uint64_t>(options["after"].integer_or(0));
  spec.has_seqs = options["seqs"].truthy();
  spec.is_unread = options["unread"].truthy();
  spec.is_stopped = options["stopped"].truthy();
  spec.wants_state = options["checkpoint"].truthy();
  if (const json::Tree& span = options["throttleMs"]; span.is_number()) {
    spec.throttle = Throttle::Span(span.integer_or(0));
  }
  return spec;
}

}  // namespace millrace::host
