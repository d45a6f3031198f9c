#include "model/usage/usage_counter.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "model/usage/usage.hpp"

namespace millrace::model {
namespace {

constexpr std::string_view dollars = "USD";

struct ToolUsage {
  std::string name;
  double calls = 0;
  double errors = 0;
  double time_ms = 0;
};
struct ModelCost {
  std::string id;
  std::string provider;
  std::string model;
  double cost = 0;
  ModelUsage usage;
  bool names_source = false;  // a usage of the caller's that names none gets none
};
struct ToolCost {
  std::string name;
  double calls = 0;
  double cost = 0;
};

struct Totals {
  double api_calls = 0, processing_ms = 0;
  double input = 0, output = 0, total = 0;
  double tool_calls = 0, tool_ms = 0;
  std::vector<ToolUsage> tools;
  double approvals = 0, prompts = 0, selects = 0, waiting_ms = 0;

  bool has_cost = false;
  std::string currency{dollars};
  std::string calculated_at;
  double cost = 0, model_cost = 0, tool_cost = 0;
  std::vector<ModelCost> by_model;
  std::vector<ToolCost> by_tool;
};

double amount(const json::Value& value) {
  const auto number = value.number();
  return number && std::isfinite(*number) ? *number : 0;
}

// Calls back with name and value of each entry: of a list of named objects, or of an older map.
template <class Take>
void each_entry(const json::Value& entries, std::string_view name_key, Take take) {
  for (const json::Value entry : entries.items()) take(entry[name_key].string(), entry);
  for (const json::Member& member : entries.members()) take(member.key, member.value);
}

void read_usage_totals(Totals& totals, const json::Value& usage) {
  const json::Value llm = usage["llm"];
  totals.api_calls = amount(llm["apiCalls"]);
  totals.processing_ms = amount(llm["processingTimeMs"]);
  totals.input = amount(llm["tokens"]["input"]);
  totals.output = amount(llm["tokens"]["output"]);
  totals.total = amount(llm["tokens"]["total"]);
  const json::Value tools = usage["tools"];
  totals.tool_calls = amount(tools["totalCalls"]);
  totals.tool_ms = amount(tools["totalTimeMs"]);
  each_entry(tools["byTool"], "name", [&](std::string_view name, const json::Value& tool) {
    totals.tools.push_back({std::string(name), amount(tool["calls"]), amount(tool["errors"]),
                            amount(tool["totalTimeMs"])});
  });
  const json::Value human = usage["humanInteraction"];
  totals.approvals = amount(human["approvalRequests"]);
  totals.prompts = amount(human["promptRequests"]);
  totals.selects = amount(human["selectRequests"]);
  totals.waiting_ms = amount(human["totalWaitingTimeMs"]);
}

void read_cost_totals(Totals& totals, const json::Value& cost) {
  if (!cost.is_object()) return;
  totals.has_cost = true;
  totals.currency = cost["currency"].filled_string().value_or(dollars);
  totals.calculated_at = cost["calculatedAt"].string();
  totals.cost = amount(cost["total"]);
  totals.model_cost = amount(cost["llm"]["total"]);
  totals.tool_cost = amount(cost["tools"]["total"]);
  each_entry(cost["llm"]["byModel"], "id", [&](std::string_view id, const json::Value& entry) {
    totals.by_model.push_back({std::string(id), std::string(entry["provider"].string()),
                               std::string(entry["model"].string()), amount(entry["totalCost"]),
                               read_usage(entry["usage"]), entry["usage"]["source"].exists()});
  });
  each_entry(cost["tools"]["byTool"], "name", [&](std::string_view name, const json::Value& entry) {
    totals.by_tool.push_back(
        {std::string(name), amount(entry["calls"]), amount(entry["totalCost"])});
  });
}

void append_amount(std::string& out, std::string_view key, double number) {
  std::array<char, 32> digits{};
  char* const last = digits.data() + digits.size();
  constexpr double exact = 9e15;
  const bool whole = std::trunc(number) == number && std::abs(number) < exact;
  const auto end = whole ? std::to_chars(digits.data(), last, static_cast<std::int64_t>(number)).ptr
                         : std::to_chars(digits.data(), last, number).ptr;
  json::append_raw_member(out, key, {digits.data(), static_cast<std::size_t>(end - digits.data())});
}

// {"a":1,...} of pairs of key and number.
std::string amounts(std::initializer_list<std::pair<std::string_view, double>> members) {
  std::string out = "{";
  for (const auto& [key, number] : members) append_amount(out, key, number);
  return out + "}";
}

template <class Entry, class Write>
std::string list_of(const std::vector<Entry>& entries, Write write) {
  std::string out = "[";
  for (const Entry& entry : entries) {
    if (out.size() > 1) out.push_back(',');
    out.push_back('{');
    write(out, entry);
    out.push_back('}');
  }
  return out + "]";
}

std::string usage_json(const Totals& b) {
  std::string llm = "{";
  append_amount(llm, "apiCalls", b.api_calls);
  append_amount(llm, "processingTimeMs", b.processing_ms);
  json::append_raw_member(llm, "tokens",
                          amounts({{"input", b.input}, {"output", b.output}, {"total", b.total}}));
  std::string tools = "{";
  append_amount(tools, "totalCalls", b.tool_calls);
  append_amount(tools, "totalTimeMs", b.tool_ms);
  json::append_raw_member(tools, "byTool",
                          list_of(b.tools, [](std::string& out, const ToolUsage& tool) {
                            json::append_member(out, "name", tool.name);
                            append_amount(out, "calls", tool.calls);
                            append_amount(out, "errors", tool.errors);
                            append_amount(out, "totalTimeMs", tool.time_ms);
                          }));
  std::string out = "{";
  json::append_raw_member(out, "llm", llm + "}");
  json::append_raw_member(out, "tools", tools + "}");
  json::append_raw_member(out, "humanInteraction",
                          amounts({{"approvalRequests", b.approvals},
                                   {"promptRequests", b.prompts},
                                   {"selectRequests", b.selects},
                                   {"totalWaitingTimeMs", b.waiting_ms}}));
  return out + "}";
}

std::string cost_totals_json(const Totals& b) {
  std::string llm = "{";
  append_amount(llm, "total", b.model_cost);
  json::append_member(llm, "currency", b.currency);
  json::append_raw_member(llm, "byModel",
                          list_of(b.by_model, [](std::string& out, const ModelCost& entry) {
                            json::append_member(out, "id", entry.id);
                            json::append_member(out, "provider", entry.provider);
                            json::append_member(out, "model", entry.model);
                            append_amount(out, "totalCost", entry.cost);
                            std::string usage;
                            write_json(usage, entry.usage, entry.names_source);
                            json::append_raw_member(out, "usage", usage);
                          }));
  std::string tools = "{";
  append_amount(tools, "total", b.tool_cost);
  json::append_member(tools, "currency", b.currency);
  json::append_raw_member(tools, "byTool",
                          list_of(b.by_tool, [&](std::string& out, const ToolCost& entry) {
                            json::append_member(out, "name", entry.name);
                            append_amount(out, "calls", entry.calls);
                            append_amount(out, "totalCost", entry.cost);
                            json::append_member(out, "currency", b.currency);
                          }));
  std::string out = "{";
  append_amount(out, "total", b.cost);
  json::append_member(out, "currency", b.currency);
  json::append_member(out, "calculatedAt", b.calculated_at);
  json::append_raw_member(out, "llm", llm + "}");
  json::append_raw_member(out, "tools", tools + "}");
  return out + "}";
}

// Adds to the total and says when; the first cost makes the object.
void add_cost(Totals& totals, double cost, std::string_view now) {
  totals.has_cost = true;
  totals.cost += cost;
  totals.calculated_at = now;
}

// The entry of this name, made when there is none.
template <class Entry>
Entry& entry_of(std::vector<Entry>& entries, std::string Entry::*name, std::string_view wanted) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const Entry& entry) { return entry.*name == wanted; });
  if (found != entries.end()) return *found;
  Entry& entry = entries.emplace_back();
  entry.*name = wanted;
  return entry;
}

// Reads the books, lets `change` write in them, and gives them back.
template <class Change>
Result<std::string> with_totals(std::string_view json, Change change) {
  json::Document document;
  auto parsed = document.parse(json);
  if (!parsed) return std::move(parsed).error();
  const json::Value& input = parsed.value();
  Totals totals;
  read_usage_totals(totals, input["usage"]);
  read_cost_totals(totals, input["cost"]);
  MILLRACE_TRY(change(totals, input));
  std::string out = "{";
  json::append_raw_member(out, "usage", usage_json(totals));
  if (totals.has_cost) json::append_raw_member(out, "cost", cost_totals_json(totals));
  return out + "}";
}

Error missing(const std::string& what) {
  return make_error(Errc::invalid_argument, "The usage counter needs " + what + ".");
}

Result<void> add_model_call(Totals& totals, const json::Value& input) {
  const std::string_view provider = input["provider"].string();
  const std::string_view model = input["model"].string();
  if (provider.empty() || model.empty()) return missing("provider and model");
  const ModelUsage usage = read_usage(input["modelUsage"]);
  const auto tokens = [&](Tokens one) { return static_cast<double>(usage[one].value_or(0)); };
  totals.api_calls += 1;
  totals.processing_ms += amount(input["processingTimeMs"]);
  totals.input += tokens(Tokens::total_input);
  totals.output += tokens(Tokens::total_output);
  totals.total += tokens(Tokens::total);
  if (!usage.cost) return {};
  const std::string id = std::string(provider) + "/" + std::string(model);
  ModelCost& entry = entry_of(totals.by_model, &ModelCost::id, id);
  entry.provider = provider;
  entry.model = model;
  entry.cost += *usage.cost;
  add(entry.usage, usage);
  entry.names_source = entry.names_source || input["modelUsage"]["source"].exists();
  totals.model_cost += *usage.cost;
  add_cost(totals, *usage.cost, input["now"].string());
  return {};
}

Result<void> add_tool_call(Totals& totals, const json::Value& input) {
  const std::string_view name = input["toolName"].string();
  if (name.empty()) return missing("toolName");
  const double time = amount(input["executionTime"]);
  totals.tool_calls += 1;
  totals.tool_ms += time;
  ToolUsage& tool = entry_of(totals.tools, &ToolUsage::name, name);
  tool.calls += 1;
  tool.time_ms += time;
  if (input["success"].exists() && !input["success"].is_true()) tool.errors += 1;
  const auto cost = input["toolCost"].number();
  if (!cost || !std::isfinite(*cost) || *cost <= 0) return {};
  ToolCost& entry = entry_of(totals.by_tool, &ToolCost::name, name);
  entry.calls += 1;
  entry.cost += *cost;
  totals.tool_cost += *cost;
  add_cost(totals, *cost, input["now"].string());
  return {};
}

Result<void> add_human_request(Totals& totals, const json::Value& input) {
  const std::array<std::pair<std::string_view, double*>, 3> kinds{
      {{"approval", &totals.approvals}, {"prompt", &totals.prompts}, {"select", &totals.selects}}};
  const auto* kind = std::find_if(kinds.begin(), kinds.end(), [&](const auto& row) {
    return row.first == input["kind"].string();
  });
  if (kind == kinds.end()) return missing("the kind approval, prompt or select");
  *kind->second += 1;
  totals.waiting_ms += amount(input["waitingTimeMs"]);
  return {};
}

}  // namespace

Result<std::string> accumulate_llm(std::string_view json) {
  return with_totals(json, add_model_call);
}

Result<std::string> accumulate_tool(std::string_view json) {
  return with_totals(json, add_tool_call);
}

Result<std::string> accumulate_human(std::string_view json) {
  return with_totals(json, add_human_request);
}

}  // namespace millrace::model
