#include "model/body/chat_reasoning.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/body/fields.hpp"
#include "model/body/sampling.hpp"

namespace millrace::model {
namespace {

using message::JsonBuilder;

// Whether the reasoning of earlier turns is dropped, where the payload says so.
std::optional<bool> clearing_of(const Draft& draft) {
  const std::optional<bool>& clear = draft.payload.reasoning->clear_thinking;
  if (!clear && draft.payload.preserve_thinking) return false;
  return clear;
}

// Whether the payload says so, and the provider takes it.
bool sets_clearing(const Draft& draft) {
  return clearing_of(draft) && draft.has(Quirk::clear_thinking);
}

// Kimi's word for a model that keeps the reasoning of earlier turns.
// Source: LobeHub's model-runtime, moonshot (2026-11).
bool keeps_all(const Draft& draft) {
  return draft.has(Quirk::thinking_keep) && draft.payload.preserve_thinking &&
         draft.is(Trait::preserves_thinking) && !is_disabled(draft.payload.reasoning);
}

// A model that keeps the reasoning of earlier turns where a member of its own says so.
bool takes_preserving(const Draft& draft) {
  return draft.has(Quirk::preserve_thinking) && draft.is(Trait::preserves_thinking);
}

// A template is given its settings only where reasoning is set.
bool template_takes_clearing(const Draft& draft) {
  return draft.has(Quirk::template_thinking) && draft.is(Trait::clears_reasoning) &&
         !draft.payload.reasoning->empty();
}

void write_thinking_object(JsonBuilder& out, const Draft& draft) {
  const Reasoning& reasoning = draft.payload.reasoning;
  const bool keeps = keeps_all(draft);
  note_no_budget(draft);
  if (draft.is(Trait::always_thinking) && !keeps) {
    if (reasoning.type == "disabled") draft.note("thinking", "The model always thinks.");
  } else if (reasoning.type == "adaptive" && !draft.has(Quirk::auto_thinking)) {
    draft.note("thinking", "The provider knows `enabled` and `disabled` only.");
  } else {
    const bool clears = sets_clearing(draft);
    const std::string_view type = keeps ? "enabled" : switch_of(draft);
    if (!type.empty() || clears || keeps) {
      out.open_object("thinking");
      out.filled("type", type);
      if (keeps) out.text("keep", "all");
      if (clears) out.flag("clear_thinking", *clearing_of(draft));
      out.close_object();
    }
  }
  if (draft.is(Trait::switch_only)) {
    if (reasoning.effort.empty()) return;
    return draft.note("reasoning_effort", "The model thinks or it does not: it knows no levels.");
  }
  out.filled("reasoning_effort", switched_effort(draft));
}

void write_plain_reasoning(JsonBuilder& out, const Draft& draft) {
  const Reasoning& reasoning = draft.payload.reasoning;
  if (draft.has(Quirk::clear_thinking_member) && is_disabled(reasoning)) {
    return out.text("reasoning_effort", "none");
  }
  out.filled("reasoning_effort", effort_of(draft));
  if (reasoning.type.empty() && !reasoning.budget) return;
  draft.note("thinking",
             "The provider has no such setting; `reasoning_effort` is what it may know.");
}

// MiniMax-M3 can be kept from thinking; the models before it always think.
void write_adaptive_object(JsonBuilder& out, const Draft& draft) {
  if (!draft.is(Trait::adaptive_thinking)) return write_plain_reasoning(out, draft);
  const Reasoning& reasoning = draft.payload.reasoning;
  const bool is_off = is_disabled(reasoning) || reasoning.budget == 0;
  if (!is_off && (reasoning.budget || !reasoning.effort.empty())) {
    draft.note("thinking", "The model decides itself how much it thinks.");
  }
  out.open_object("thinking");
  out.text("type", is_off ? "disabled" : "adaptive");
  out.close_object();
}

// The budget that the payload sets, within what the server takes.
// Source: SiliconFlow's reference of chat completions; LobeHub's model-runtime, siliconcloud and
// wenxin (2026-11).
std::optional<std::int64_t> taken_budget(const Draft& draft) {
  struct Range {
    Quirk quirk;
    std::int64_t least;
    std::int64_t most;
  };
  constexpr std::array ranges{Range{Quirk::budget_128_to_32768, 128, 32'768},
                              Range{Quirk::budget_100_to_16384, 100, 16'384}};
  const std::optional<std::int64_t>& wanted = draft.payload.reasoning->budget;
  if (!wanted) return wanted;
  for (const Range& range : ranges) {
    if (!draft.has(range.quirk)) continue;
    const std::int64_t taken = std::clamp(*wanted, range.least, range.most);
    if (taken != *wanted) {
      draft.note("thinking", "The budget went to the nearest one that the provider takes.");
    }
    return taken;
  }
  return wanted;
}

// A budget alone does not switch: not every model there has the switch.
void write_enable_thinking(JsonBuilder& out, const Draft& draft) {
  const Reasoning& reasoning = draft.payload.reasoning;
  const bool takes_effort = draft.is(Trait::effort_with_switch);
  const bool always_thinks = draft.is(Trait::thinks_by_name);
  const bool is_off = is_disabled(reasoning) && !always_thinks;
  if (is_off != is_disabled(reasoning)) draft.note("thinking", "The model always thinks.");
  const bool is_on =
      always_thinks || !reasoning.type.empty() || (!takes_effort && !reasoning.effort.empty());
  if (is_off || is_on) out.flag("enable_thinking", !is_off);
  if (is_off) return;
  write_integer(out, "thinking_budget", taken_budget(draft));
  if (takes_effort) return out.filled("reasoning_effort", effort_of(draft));
  note_decides_itself(draft);
  if (reasoning.effort.empty() || reasoning.effort == "none") return;
  draft.note("reasoning_effort", "The provider takes no effort: set `thinking.budget_tokens`.");
}

void write_template_thinking(JsonBuilder& out, const Draft& draft) {
  const bool on = !is_disabled(draft.payload.reasoning);
  out.open_object("chat_template_kwargs");
  out.flag("thinking", on);
  out.flag("enable_thinking", on);
  const std::optional<bool> clears = clearing_of(draft);
  const bool sets_default = draft.has(Quirk::template_clearing);
  if (sets_default || (clears && draft.is(Trait::clears_reasoning))) {
    out.flag("clear_thinking", clears.value_or(false));
  }
  out.close_object();
  const std::string effort = effort_of(draft);
  constexpr std::array<std::string_view, 3> levels{"low", "medium", "high"};
  const bool has_levels = draft.has(Quirk::template_effort) || draft.is(Trait::template_levels);
  const bool is_level = std::find(levels.begin(), levels.end(), effort) != levels.end();
  note_no_budget(draft);
  if (has_levels && is_level) return out.text("reasoning_effort", effort);
  note_switched(draft);
}

// OpenRouter rejects a request that keeps some models from reasoning ("Reasoning is mandatory for
// this endpoint").
// Source: https://openrouter.ai/docs/client-sdks/typescript/models/modelreasoning,
// https://github.com/elie222/rakazo/issues/114, https://github.com/dendrux/dendrux/issues/44,
// https://github.com/musistudio/claude-code-router/issues/1215 and 1238 (2026-02 to 2026-08).
bool must_reason(const Draft& draft) {
  if (draft.has(Quirk::mandatory_names)) return true;
  if (!draft.has(Quirk::mandatory_reasoning)) return false;
  const Efforts known = draft.traits.efforts();
  return draft.is(Trait::always_thinking) || draft.is(Trait::thinking_level) ||
         (!known.empty() && !known.has(Effort::none));
}

// The effort that is next to none, or "" when the model is not known to have any.
std::string_view least_effort(const Draft& draft) {
  const Efforts known = draft.traits.efforts();
  if (!known.empty()) return effort_names[static_cast<std::size_t>(known.nearest(Effort::none))];
  if (!draft.is(Trait::thinking_level)) return {};
  return draft.is(Trait::no_minimal_level) ? "low" : "minimal";
}

void write_least_thinking(JsonBuilder& out, const Draft& draft) {
  draft.note("reasoning_effort",
             "The model always thinks: it is told to think as little as it can.");
  const std::string_view effort = least_effort(draft);
  if (effort.empty()) return;
  out.open_object("reasoning");
  out.text("effort", effort);
  out.close_object();
}

void write_reasoning_object(JsonBuilder& out, const Draft& draft) {
  const Reasoning& reasoning = draft.payload.reasoning;
  if (is_disabled(reasoning) && must_reason(draft)) return write_least_thinking(out, draft);
  out.open_object("reasoning");
  if (is_disabled(reasoning)) {
    out.flag("enabled", false);
  } else if (reasoning.budget) {
    write_integer(out, "max_tokens", reasoning.budget);
    if (!reasoning.effort.empty()) {
      draft.note("reasoning_effort", "The budget is sent instead: the provider takes one of them.");
    }
  } else if (const std::string effort = effort_of(draft); !effort.empty()) {
    out.text("effort", effort);
  } else {
    out.flag("enabled", true);
    note_decides_itself(draft);
  }
  out.close_object();
}

void note_no_effort(JsonBuilder& /*out*/, const Draft& draft) {
  const Reasoning& reasoning = draft.payload.reasoning;
  if (!reasoning.effort.empty()) draft.note("reasoning_effort", "The model takes none.");
  if (!reasoning.type.empty() || reasoning.budget) {
    draft.note("thinking", "The model has no such setting.");
  }
}

// Qwen's models think or do not.
void write_effort_switch(JsonBuilder& out, const Draft& draft) {
  const Reasoning& reasoning = draft.payload.reasoning;
  const bool on = !is_disabled(reasoning);
  out.text("reasoning_effort", on ? "default" : "none");
  if (!on || (reasoning.effort.empty() && !reasoning.budget)) return;
  draft.note("reasoning_effort", "The model thinks or it does not: it knows no levels.");
}

struct ReasoningWay {
  Quirk quirk;
  void (*write)(JsonBuilder& out, const Draft& draft);
};
constexpr std::array reasoning_ways{
    ReasoningWay{Quirk::thinking_object, write_thinking_object},
    ReasoningWay{Quirk::adaptive_object, write_adaptive_object},
    ReasoningWay{Quirk::enable_thinking, write_enable_thinking},
    ReasoningWay{Quirk::template_thinking, write_template_thinking},
    ReasoningWay{Quirk::reasoning_object, write_reasoning_object},
    ReasoningWay{Quirk::few_efforts, note_no_effort},
    ReasoningWay{Quirk::effort_switch, write_effort_switch},
};

}  // namespace

std::string_view switch_of(const Draft& draft) {
  const Reasoning& reasoning = draft.payload.reasoning;
  if (draft.has(Quirk::switch_with_effort)) {
    if (is_disabled(reasoning)) return "disabled";
    if (reasoning.type.empty() && !reasoning.effort.empty()) return "enabled";
  }
  return reasoning.type == "adaptive" ? "auto" : std::string_view(reasoning.type);
}

std::string switched_effort(const Draft& draft) {
  std::string effort = effort_of(draft);
  if (!draft.has(Quirk::switch_with_effort)) return effort;
  const Reasoning& reasoning = draft.payload.reasoning;
  if (is_disabled(reasoning)) return "minimal";
  if (effort.empty() && reasoning.type == "enabled") return "high";
  return effort;
}

bool takes_clear_thinking(const Draft& draft) {
  return draft.has(Quirk::clear_thinking) || draft.has(Quirk::clear_thinking_member) ||
         takes_preserving(draft) || template_takes_clearing(draft);
}

void write_chat_reasoning(message::JsonBuilder& out, const Draft& draft) {
  if (draft.has(Quirk::reasoning_split)) out.flag("reasoning_split", true);
  const std::optional<bool> clears = clearing_of(draft);
  if (clears && draft.has(Quirk::clear_thinking_member)) out.flag("clear_thinking", *clears);
  if (clears && takes_preserving(draft) && extra_of(draft.payload, "preserve_thinking").empty()) {
    out.flag("preserve_thinking", !*clears);
  }
  if (draft.payload.reasoning->empty() && !sets_clearing(draft) && !keeps_all(draft)) return;
  for (const ReasoningWay& way : reasoning_ways) {
    if (!draft.has(way.quirk)) continue;
    way.write(out, draft);
    return;
  }
  write_plain_reasoning(out, draft);
}

}  // namespace millrace::model
