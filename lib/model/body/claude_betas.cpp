#include "model/body/claude_betas.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_set>
#include <vector>

#include "format/anthropic_blocks.hpp"
#include "message/json_builder.hpp"
#include "model/body/fields.hpp"
#include "net/request_rules.hpp"

namespace millrace::model {
namespace {

constexpr std::string_view header_name = "anthropic-beta";

struct Row {
  std::string_view name;  // of a tool's type as it begins, or of a member
  std::string_view beta;
};
constexpr std::array tool_rows{
    Row{"code_execution_20250522", "code-execution-2025-05-22"},
    Row{"code_execution_20250825", "code-execution-2025-08-25"},
    Row{"computer_20241022", "computer-use-2024-10-22"},
    Row{"text_editor_20241022", "computer-use-2024-10-22"},
    Row{"bash_20241022", "computer-use-2024-10-22"},
    Row{"computer_20250124", "computer-use-2025-01-24"},
    Row{"computer_20251124", "computer-use-2025-11-24"},
    Row{"web_fetch_20250910", "web-fetch-2025-09-10"},
    Row{"memory_20250818", "context-management-2025-06-27"},
    Row{"tool_search_tool_", "advanced-tool-use-2025-11-20"},
    Row{"mcp_toolset", "mcp-client-2025-11-20"},
    Row{"advisor_20260301", "advisor-tool-2026-03-01"},
};
// Of the body, in JSON without blanks.
constexpr std::array body_rows{
    Row{R"("source":{"type":"file")", "files-api-2025-04-14"},
    Row{R"({"type":"container_upload")", "files-api-2025-04-14"},
    Row{R"({"type":"tool_addition")", "mid-conversation-tool-changes-2026-07-01"},
    Row{R"({"type":"tool_removal")", "mid-conversation-tool-changes-2026-07-01"},
    Row{R"({"type":"tool_definition")", "inline-tools-2026-09-15"},
    // Blocks of earlier answers: without it they are "Input tag ... does not match".
    Row{R"({"type":"fallback")", "server-side-fallback-2026-07-01"},
    Row{R"({"type":"compaction")", "compact-2026-01-12"},
    Row{R"({"type":"mcp_tool_use")", "mcp-client-2025-11-20"},
    Row{R"({"type":"advisor_tool_result")", "advisor-tool-2026-03-01"},
};
// Members of the request, and words of them, that want a beta. Another one of the same name that
// the caller gave counts.
struct MemberRow {
  std::string_view member;
  std::string_view word;
  std::string_view beta;
};
constexpr std::array member_rows{
    MemberRow{"output_config", R"("task_budget":{)", "task-budgets-2026-03-13"},
    MemberRow{"fallbacks", "", "server-side-fallback-2026-07-01"},
    MemberRow{"speed", "", "fast-mode-2026-02-01"},
    MemberRow{"fallback_credit_token", "", "fallback-credit-2026-07-01"},
};
// The same of turns of the system within the conversation.
constexpr std::array system_rows{
    Row{"clear_at", "mid-conversation-system-clear-at-2026-08-21"},
    Row{"output_config", "mid-conversation-output-config-2026-07-01"},
};

class Betas {
 public:
  void add(std::string_view name) {
    if (!name.empty() && known_.emplace(name).second) names_.emplace_back(name);
  }
  // Unless it is there with another date.
  void add_usual(std::string_view name) {
    constexpr std::size_t date_bytes = std::string_view("2026-01-01").size();
    const std::string_view stem = name.substr(0, name.size() - date_bytes);
    const bool is_there = std::any_of(names_.begin(), names_.end(), [&](const std::string& one) {
      return one.size() == name.size() && one.starts_with(stem);
    });
    if (!is_there) add(name);
  }
  // A list, or names between commas.
  void add_all(const json::Value& given) {
    add_list(given.string());
    for (const json::Value name : given.items()) add_list(name.string());
  }
  void add_list(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find(','), text.size());
      const std::string_view name = text.substr(0, end);
      const std::size_t first = std::min(name.find_first_not_of(' '), name.size());
      add(name.substr(first, name.find_last_not_of(' ') + 1 - first));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
  std::vector<std::string> take() { return std::move(names_); }

 private:
  std::vector<std::string> names_;
  std::unordered_set<std::string> known_;
};

void add_of_tools(Betas& betas, const Draft& draft) {
  for (const Tool& tool : draft.payload.tools) {
    if (!tool.name.empty()) continue;
    json::Document document(message::depth_limit);
    const auto raw = document.parse(tool.raw);
    const std::string_view type = raw ? raw.value()["type"].string() : std::string_view();
    for (const Row& row : tool_rows) {
      if (type.starts_with(row.name)) betas.add(row.beta);
    }
  }
}

void add_of_members(Betas& betas, const Draft& draft) {
  const auto member = [&](std::string_view name) { return extra_of(draft.payload, name); };
  if (!member("mcp_servers").empty()) betas.add("mcp-client-2025-11-20");
  if (const std::string_view edits = member("context_management"); !edits.empty()) {
    betas.add("context-management-2025-06-27");
    if (edits.find("compact_") != std::string_view::npos) betas.add("compact-2026-01-12");
  }
  for (const MemberRow& row : member_rows) {
    const std::string_view given = member(row.member);
    if (!given.empty() && given.find(row.word) != std::string_view::npos) betas.add_usual(row.beta);
  }
  if (member("container").find("\"skills\"") != std::string_view::npos) {
    betas.add("code-execution-2025-08-25");
    betas.add("skills-2025-10-02");
  }
}

void add_of_system_turns(Betas& betas, const Draft& draft) {
  for (const message::Message& message : draft.messages) {
    const auto* state =
        message.metadata.find(format::anthropic_provider, format::system_members_kind);
    if (state == nullptr) continue;
    json::Document document(message::depth_limit);
    const auto members = document.parse(state->json);
    for (const Row& row : system_rows) {
      if (members && !members.value()[row.name].is_nothing()) betas.add_usual(row.beta);
    }
  }
}

}  // namespace

std::vector<std::string> claude_betas(const Draft& draft, std::string_view body) {
  Betas betas;
  for (const std::string_view name : claude_beta_members) {
    json::Document document;
    if (const auto given = document.parse(extra_of(draft.payload, name))) {
      betas.add_all(given.value());
    }
  }
  add_of_tools(betas, draft);
  add_of_members(betas, draft);
  add_of_system_turns(betas, draft);
  for (const Row& row : body_rows) {
    if (body.find(row.name) != std::string_view::npos) betas.add_usual(row.beta);
  }
  if (draft.payload.reasoning->display == "updates" &&
      body.find(R"("display":"updates")") != std::string_view::npos) {
    betas.add("thinking-display-updates-2026-08-18");
  }
  const bool may_be_bound =
      draft.is(Trait::bound_reasoning) || !draft.payload.reasoning->block_binding.empty();
  if (may_be_bound && body.rfind(R"("block_binding":{)") != std::string_view::npos) {
    betas.add("thinking-binding-controls-2026-08-01");
  }
  return betas.take();
}

void add_betas(std::vector<net::Header>& headers, const std::vector<std::string>& betas) {
  if (betas.empty()) return;
  const auto known = std::find_if(headers.begin(), headers.end(), [](const net::Header& header) {
    return net::same_name(header.name, header_name);
  });
  Betas all;
  if (known != headers.end()) all.add_list(known->value);
  for (const std::string& beta : betas) all.add(beta);
  std::string value;
  for (const std::string& beta : all.take()) value.append(value.empty() ? "" : ",").append(beta);
  if (known == headers.end()) {
    headers.push_back({std::string(header_name), std::move(value)});
  } else {
    known->value = std::move(value);
  }
}

}  // namespace millrace::model
