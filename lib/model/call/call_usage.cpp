#include "model/call/call_usage.hpp"

#include <algorithm>
#include <utility>

#include "base/json.hpp"
#include "message/parts.hpp"
#include "model/usage/cards.hpp"

namespace millrace::model {
namespace {

// Role and separators of a message, as the vendors' templates write them.
constexpr std::int64_t message_overhead_tokens = 4;

// Above it, a text is estimated for itself, which takes less time.
constexpr std::size_t short_bytes = std::size_t{64} << 10U;

std::int64_t estimated_input(const ChatPayload& payload) {
  TokenEstimator text(payload.model);
  std::int64_t overhead = 0;
  for (const message::Message& message : payload.messages) {
    overhead += message_overhead_tokens;
    const std::string content = message::text_of(message.content);
    if (content.size() > short_bytes) {
      overhead += estimate_tokens(content, payload.model);
    } else {
      text.add(content);
    }
    for (const message::ToolCall& call : message.tool_calls) {
      text.add(call.name);
      text.add(call.arguments);
    }
  }
  for (const Tool& tool : payload.tools) {
    text.add(tool.name);
    text.add(tool.description);
    text.add(tool.parameters);
    text.add(tool.raw);
    text.add(tool.format);
  }
  return text.tokens() + overhead;
}

// Every prompt has tokens, and so has what was said: a zero there is a server that does not count.
void drop_false_zeros(RecordedUsage& usage, std::int64_t generated) {
  const std::int64_t cached =
      usage.cached_input_tokens.value_or(0) + usage.cache_write_input_tokens.value_or(0);
  if (usage.input_tokens == 0 && cached == 0) usage.input_tokens.reset();
  if (usage.output_tokens == 0 && generated > 0) usage.output_tokens.reset();
}

// A total that is the input's says of an answer without words that it has no tokens.
void note_silence(RecordedUsage& usage, std::int64_t generated) {
  if (usage.output_tokens || !usage.input_tokens || generated > 0) return;
  if (usage.total_tokens == usage.input_tokens) usage.output_tokens = 0;
}

// Whether what the provider counts itself names the tool of an item already.
bool is_counted_tool(const ModelUsage& usage, std::string_view item_type) {
  const std::string counted =
      std::string("server_side_tool_usage_details.").append(item_type).append("s");
  return std::any_of(usage.unpriced.begin(), usage.unpriced.end(), [&](const std::string& name) {
    const bool is_search = name == "tool_usage.web_search" && item_type == "web_search_call";
    return is_search || name == counted;
  });
}

}  // namespace

RecordedUsage record_usage(const AttemptEvents& events, const ChatPayload& payload, bool complete) {
  RecordedUsage usage = events.reported() ? *events.reported() : RecordedUsage{};
  const std::int64_t reasoning = events.estimated_reasoning();
  const std::int64_t generated = events.estimated_text() + reasoning;
  drop_false_zeros(usage, generated);
  note_silence(usage, generated);
  const bool has_both = usage.input_tokens && usage.output_tokens;
  if (has_both && complete) return usage;
  if (!usage.input_tokens) usage.input_tokens = estimated_input(payload);
  usage.output_tokens = std::max(usage.output_tokens.value_or(0), generated);
  if (reasoning > 0 && !usage.reasoning_tokens) usage.reasoning_tokens = reasoning;
  usage.total_tokens = *usage.input_tokens + *usage.output_tokens;
  usage.source = UsageSource::estimated;
  return usage;
}

RecordedUsage record_silence(const ChatPayload& payload) {
  RecordedUsage usage;
  usage.input_tokens = estimated_input(payload);
  usage.output_tokens = 0;
  usage.total_tokens = usage.input_tokens;
  usage.source = UsageSource::estimated;
  return usage;
}

ModelUsage model_usage(const Attempt& attempt) {
  ModelUsage usage =
      read_vendor_usage(attempt.usage_rules, attempt.usage->view(attempt.provider, attempt.model));
  const bool is_reported = usage.cost.has_value();
  const CostOptions prices = attempt.prices ? *attempt.prices : CostOptions{};
  usage.cost = known_cost(attempt.provider, attempt.model, usage, prices);
  if (is_reported || !usage.cost) {
    usage.unpriced.clear();
    return usage;
  }
  json::Document report;
  if (const auto reported = report.parse(attempt.usage->reported)) {
    price_other_models(attempt.provider, attempt.model, reported.value(), usage, prices);
  }
  json::Document document;
  const auto response = document.parse(attempt.answer->response);
  const json::Value facts = response ? response.value() : json::Value();
  note_unpriced(attempt.provider, attempt.model, facts["serviceTier"].string(), usage);
  if (facts["details"]["tool_usage"]["web_search"]["num_requests"].truthy()) {
    usage.unpriced.emplace_back("tool_usage.web_search");
  }
  for (const std::string_view type : attempt.answer->priced_calls) {
    if (!is_counted_tool(usage, type)) usage.unpriced.emplace_back(type);
  }
  return usage;
}

ModelUsage sum_of(const std::vector<Attempt>& attempts) {
  return spent_on(attempts).sum;
}

Spent spent_on(const std::vector<Attempt>& attempts) {
  Spent spent;
  for (const Attempt& attempt : attempts) {
    if (!attempt.counts) continue;
    const ModelUsage one = model_usage(attempt);
    if (one.cost) spent.known_cost = spent.known_cost.value_or(0) + *one.cost;
    if (spent.attempts++ == 0) {
      spent.sum = one;
    } else {
      add(spent.sum, one);
    }
    spent.each.push_back(one);
  }
  return spent;
}

std::string attempt_json(const Attempt& attempt) {
  std::string out = "{";
  json::append_member(out, "provider", attempt.provider);
  json::append_member(out, "model", attempt.model);
  json::append_member(out, "status", std::int64_t{attempt.status});
  json::append_raw_member(out, "shown", attempt.shown ? "true" : "false");
  json::append_member(out, "waitedMs", std::int64_t{attempt.waited.count()});
  json::append_member(out, "durationMs", std::int64_t{attempt.duration.count()});
  if (attempt.first_token) {
    json::append_member(out, "firstTokenMs", std::int64_t{attempt.first_token->count()});
  }
  if (attempt.error)
    json::append_raw_member(out, "error",
                            error_json(*attempt.error, attempt.provider, attempt.place));
  if (attempt.counts) {
    std::string usage;
    write_json(usage, model_usage(attempt));
    json::append_raw_member(out, "usage", usage);
    if (!attempt.usage->reported.empty()) {
      json::append_raw_member(out, "reportedUsage", attempt.usage->reported);
    }
  }
  out.push_back('}');
  return out;
}

}  // namespace millrace::model
