#include "journal/record_json.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <variant>

#include "base/utf8.hpp"
#include "journal/codec.hpp"
#include "journal/shapes.hpp"

namespace millrace::journal {
namespace {

using json::Tree;

struct KindNames {
  std::uint32_t kind;
  std::string_view name;
  std::string_view fields;  // in the order of their tags, from 1 on
};

// As docs/journal.md has them.
constexpr KindNames names_of_kinds[] = {
    {1, "Accepted",
     "agent version plan_hash thread principal input_json client_tools_json context_json from_run "
     "from_seq trace on_disconnect is_structured"},
    {2, "Segment", "ag_ui_run parent protocol answers_json"},
    {3, "Claimed", "owner epoch cause downtime_ms"},
    {4, "StepStarted", "step"},
    {5, "ModelRequested", "step attempt chain_row model provider"},
    {6, "ModelOpened", "step response_id background"},
    {7, "ModelProgress", "upstream_seq records"},
    {8, "ModelCompleted", "step finish usage_json cost_json provider_json"},
    {9, "ToolIntent", "call provider_id name args_json args_hash effect idem_key kind"},
    {10, "ToolStarted", "call attempt"},
    {11, "ToolResult", "call status content code extra_json"},
    {12, "ApprovalRequested", "id call kind args_hash tools_hash principal expires_ms"},
    {13, "ApprovalExpired", "id"},
    {14, "ApprovalDecided", "id decision_json edits_json by"},
    {15, "ChildStarted", "call run agent branch"},
    {16, "ChildEnded", "call run status"},
    {17, "JobStep", "name occurrence state result_json"},
    {18, "Slept", "name occurrence until_ms"},
    {19, "Checkpoint", "step number is_full"},
    {20, "Compressed", "rows"},
    {21, "LimitReached", "limit"},
    {22, "Parked", "reason"},
    {23, "Gap", ""},
    {24, "StopRequested", "by reason"},
    {25, "Terminal", "status reason error_json usage_json cost_json"},
    {26, "MessageSent", "id message_json interrupts by"},
    {64, "TextStart", "id role name"},
    {65, "TextDelta", "id delta"},
    {66, "TextEnd", "id"},
    {67, "ReasoningSpanStart", "id"},
    {68, "ReasoningSpanEnd", "id"},
    {69, "ReasoningStart", "id"},
    {70, "ReasoningDelta", "id delta"},
    {71, "ReasoningEnd", "id"},
    {72, "EncryptedValue", "subtype entity_id value"},
    {73, "ToolStart", "id name parent_id hosted"},
    {74, "ToolArgs", "id delta"},
    {75, "ToolEnd", "id"},
    {76, "ToolResult", "message_id id content parts_json role failed error"},
    {77, "ToolProgress", "id json"},
    {78, "ToolDetails", "id state_json citations_json attachments_json others"},
    {79, "StateSnapshot", "json"},
    {80, "StateDelta", "json"},
    {81, "MessagesSnapshot", "json"},
    {82, "ActivitySnapshot", "message_id activity_type json replace"},
    {83, "ActivityDelta", "message_id activity_type json"},
    {84, "Usage",
     "provider model input_tokens output_tokens total_tokens reasoning_tokens cached_input_tokens "
     "cache_write_input_tokens json estimated"},
    {85, "ProviderState", "provider kind entity_id json"},
    {86, "Citation", "message_id json"},
    {87, "Interrupt", "json reason questions"},
    {88, "Reset", "reason attempt message_ids_json"},
    {89, "Retry", "attempt wait_ms code message"},
    {90, "Stage", "name json"},
    {91, "Warning", "code message payload"},
    {92, "Finish", "reason incomplete continue_json"},
    {93, "StepStart", "name"},
    {94, "StepEnd", "name"},
    {95, "SubagentStart", "run_id name description call_id parent_message_id parent_run_id"},
    {96, "SubagentEnd", "run_id result_json outcome_json"},
    {97, "SubagentFailed", "run_id message code"},
    {98, "RunStart", "thread_id run_id parent_run_id protocol_version"},
    {99, "RunUsage", "usage_json cost_json steps turns"},
    {100, "RunEnd",
     "thread_id run_id outcome calls_json interrupts_json result_json metadata_json"},
    {101, "Failed", "message code"},
    {102, "Foreign", "type json"},
    {103, "AnswerInfo", "json"},
    {104, "Logprobs", "message_id json"},
    {105, "PartialImage", "id json"},
    {106, "Alternative", "index json"},
};

const KindNames* names_of(std::uint32_t kind) {
  for (const KindNames& row : names_of_kinds) {
    if (row.kind == kind) return &row;
  }
  return nullptr;
}

std::string_view field_of(std::string_view fields, std::uint32_t tag) {
  while (tag > 1 && !fields.empty()) {
    fields.remove_prefix(std::min(fields.find(' '), fields.size() - 1) + 1);
    --tag;
  }
  return fields.substr(0, fields.find(' '));
}

std::string camel_case(std::string_view name) {
  std::string out;
  bool is_upper = false;
  for (const char letter : name) {
    if (letter == '_') {
      is_upper = true;
      continue;
    }
    const bool is_small = letter >= 'a' && letter <= 'z';
    out.push_back(is_upper && is_small ? static_cast<char>(letter - 'a' + 'A') : letter);
    is_upper = false;
  }
  return out;
}

Tree text_of(std::string_view value) {
  if (utf8::is_valid(value)) return Tree::text(value);
  std::string replaced;
  utf8::append_replaced(replaced, value);
  return Tree::text(replaced);
}

std::string_view word_of(event::RunOutcome outcome) {
  static constexpr std::array<std::string_view, 4> words{"none", "success", "interrupt",
                                                         "cancelled"};
  return words.at(static_cast<std::size_t>(outcome));
}
template <class Enum>
std::string_view word_of(Enum value) {
  return name_of(value);
}

// Sets a member for each field; those without a value are left out.
class FieldMembers {
 public:
  FieldMembers(Tree& out, std::string_view fields) : out_(out), fields_(fields) {}

  void text(std::uint32_t tag, std::string_view value, std::string_view /*fallback*/ = {}) {
    if (value.empty()) return;
    std::string_view name = field_of(fields_, tag);
    constexpr std::string_view json_mark = "_json";
    const bool is_json = name == "json" || name.ends_with(json_mark);
    if (name.ends_with(json_mark)) name.remove_suffix(json_mark.size());
    if (is_json) {
      if (auto parsed = Tree::parse(value)) {
        out_.set(camel_case(name), std::move(parsed).value());
        return;
      }
    }
    out_.set(camel_case(name), text_of(value));
  }
  void number(std::uint32_t tag, std::int64_t value, std::int64_t /*fallback*/ = 0) {
    out_.set(camel_case(field_of(fields_, tag)), Tree::integer(value));
  }
  void number(std::uint32_t tag, const std::optional<std::int64_t>& value) {
    if (value) number(tag, *value);
  }
  void flag(std::uint32_t tag, bool value) {
    out_.set(camel_case(field_of(fields_, tag)), Tree::flag(value));
  }
  void flag(std::uint32_t tag, const std::optional<bool>& value) {
    if (value) flag(tag, *value);
  }
  template <class Enum>
  void word(std::uint32_t tag, Enum value, Enum /*last*/, Enum /*fallback*/) {
    out_.set(camel_case(field_of(fields_, tag)), word_of(value));
  }
  void questions(std::uint32_t tag, std::span<const event::Question> values) {
    if (values.empty()) return;
    Tree& list = out_.set(camel_case(field_of(fields_, tag)), Tree::array());
    for (const event::Question& value : values) {
      Tree question = Tree::object();
      if (!value.id.empty()) question.set("id", text_of(value.id));
      if (!value.message.empty()) question.set("message", text_of(value.message));
      if (auto parsed = Tree::parse(value.json)) question.set("json", std::move(parsed).value());
      list.push(std::move(question));
    }
  }

 private:
  Tree& out_;
  std::string_view fields_;
};

// The type and the fields of a fact or of an event.
template <class Body>
Tree body_json(std::uint32_t kind, const Body& body) {
  Tree out = Tree::object();
  const KindNames* names = names_of(kind);
  if (names == nullptr) {
    out.set("type", "Unknown");
    out.set("kind", Tree::integer(kind));
    return out;
  }
  out.set("type", names->name);
  FieldMembers members(out, names->fields);
  std::visit(
      [&](const auto& value) {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (!std::is_same_v<Value, UnknownFact>) Shape<Value>::each(members, value);
      },
      body);
  return out;
}

}  // namespace

Tree record_json(const Record& record) {
  Tree out = Tree::object();
  out.set("seq", Tree::integer(static_cast<std::int64_t>(record.seq)));
  if (record.span > 1) out.set("span", Tree::integer(record.span));
  out.set("at", Tree::integer(record.at_ms));
  if (record.branch != 0) out.set("branch", Tree::integer(record.branch));
  const std::uint32_t kind = kind_of(record);
  if (const auto* fact = std::get_if<Fact>(&record.body)) {
    out.set("fact", body_json(kind, *fact));
    return out;
  }
  const auto& event = std::get<event::Event>(record.body);
  Tree& shown = out.set("event", body_json(kind, event.body));
  if (!event.subagent.empty()) shown.set("subagent", text_of(event.subagent));
  if (!event.extra.empty()) {
    if (auto extra = Tree::parse("{" + std::string(event.extra) + "}")) {
      shown.set("extra", std::move(extra).value());
    }
  }
  return out;
}

}  // namespace millrace::journal
