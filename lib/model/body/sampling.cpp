#include "model/body/sampling.hpp"

#include <algorithm>
#include <array>

namespace millrace::model {
namespace {

constexpr double lowest_open = 0.01;
constexpr double highest_open = 0.99;

// Leaves a setting out and says so, when it was set.
void drop(const Draft& draft, std::string_view what, std::optional<double>& setting,
          std::string_view why) {
  if (!setting) return;
  setting.reset();
  draft.note(what, why);
}

void clamp_setting(const Draft& draft, std::string_view what, std::optional<double>& setting,
                   double least, double most) {
  if (!setting || (*setting >= least && *setting <= most)) return;
  setting = std::clamp(*setting, least, most);
  draft.note(what, "The value was outside of what the provider takes and went to the nearest one.");
}

// The effort that the model is told, or "".
std::string_view taken_effort(const Draft& draft) {
  const Reasoning& reasoning = *draft.payload.reasoning;
  const std::string_view effort = reasoning.effort;
  if (effort.empty() || reasoning.type == "disabled") return {};
  if (draft.is(Trait::rejects_effort)) return {};
  const Efforts known = draft.traits.efforts();
  if (known.empty()) return effort;
  const auto* name = std::find(effort_names.begin(), effort_names.end(), effort);
  const auto wanted = static_cast<Effort>(name - effort_names.begin());
  return effort_names[static_cast<std::size_t>(known.nearest(wanted))];
}

// True when the model refuses to be told how to choose its words.
bool rejects_sampling(const Draft& draft) {
  if (!draft.is(Trait::no_sampling)) return false;
  if (!draft.is(Trait::samples_without_thinking)) return true;
  const std::string_view effort = taken_effort(draft);
  return effort.empty() ? !draft.is(Trait::thinking_off_by_default) : effort != "none";
}

void drop_for_model(const Draft& draft, Sampling& s) {
  constexpr std::string_view rejected = "The model refuses it.";
  if (rejects_sampling(draft)) {
    drop(draft, "temperature", s.temperature, rejected);
    drop(draft, "top_p", s.top_p, rejected);
    s.logprobs = false;
  }
  if (draft.is(Trait::no_sampling) || draft.is(Trait::no_penalties)) {
    drop(draft, "frequency_penalty", s.frequency_penalty, rejected);
    drop(draft, "presence_penalty", s.presence_penalty, rejected);
  }
  s.stop = !draft.is(Trait::no_stop);
  if (draft.is(Trait::one_sampling) && s.temperature) {
    drop(draft, "top_p", s.top_p, "The model takes temperature or top_p, not both.");
  }
}

// Kimi K2.5 has one temperature for each mode and refuses every other.
void fix_sampling(const Draft& draft, Sampling& s) {
  if (!draft.is(Trait::fixed_sampling)) return;
  constexpr double thinking = 1.0;
  constexpr double plain = 0.6;
  constexpr double top_p = 0.95;
  note_each(draft,
            {{"temperature", s.temperature.has_value()},
             {"top_p", s.top_p.has_value()},
             {"frequency_penalty", s.frequency_penalty.has_value()},
             {"presence_penalty", s.presence_penalty.has_value()}},
            "The model's own sampling is used: it takes no other.");
  const bool is_thinking =
      draft.payload.reasoning->type != "disabled" || draft.is(Trait::always_thinking);
  s.temperature = is_thinking ? thinking : plain;
  s.top_p = top_p;
  s.frequency_penalty.reset();
  s.presence_penalty.reset();
}

// On LobeHub's scale, a temperature of servers that take half of it or little more is halved.
// Source: the tests of LobeHub's model-runtime, mistral (2026-11).
bool is_halved(const Draft& draft, bool to_one) {
  return to_one || draft.config.provider->dialect == Dialect::mistral;
}

void apply_temperature(const Draft& draft, Sampling& s, double most) {
  const bool to_one =
      draft.has(Quirk::temperature_to_one) || draft.has(Quirk::open_temperature) || most < 2.0;
  const bool halves = lobe_scale(draft) && is_halved(draft, to_one);
  constexpr double middle = 1.5;
  const double highest = draft.has(Quirk::temperature_to_1_5) ? middle : 2.0;
  clamp_setting(draft, "temperature", s.temperature, 0.0, halves ? 2.0 : to_one ? 1.0 : highest);
  if (s.temperature && halves) s.temperature = *s.temperature / 2.0;
  if (s.temperature && *s.temperature <= 0.0 && draft.has(Quirk::no_zero_temperature) &&
      !draft.is(Trait::zero_temperature)) {
    drop(draft, "temperature", s.temperature, "The provider takes values above 0 only.");
  }
  const bool leaves_zero = lobe_scale(draft) && draft.has(Quirk::no_lobe_zero);
  if (s.temperature && *s.temperature <= 0.0 && leaves_zero) {
    drop(draft, "temperature", s.temperature, "On LobeHub's scale, 0 leaves it to the model.");
  }
  if (s.temperature && *s.temperature >= 2.0 && draft.has(Quirk::temperature_below_two)) {
    drop(draft, "temperature", s.temperature, "The provider takes values below 2 only.");
  }
  if (draft.has(Quirk::open_temperature) || draft.is(Trait::open_sampling)) {
    clamp_setting(draft, "temperature", s.temperature, lowest_open, highest_open);
  }
}

void apply_penalties(const Draft& draft, Sampling& s) {
  constexpr std::string_view rejected = "The provider refuses it.";
  if (draft.has(Quirk::no_penalties)) {
    drop(draft, "presence_penalty", s.presence_penalty, rejected);
    drop(draft, "frequency_penalty", s.frequency_penalty, rejected);
  }
  if (draft.has(Quirk::no_frequency_penalty)) {
    drop(draft, "frequency_penalty", s.frequency_penalty, rejected);
  }
  if (draft.has(Quirk::one_penalty) && s.presence_penalty.value_or(0.0) != 0.0) {
    drop(draft, "frequency_penalty", s.frequency_penalty, "The provider takes one penalty only.");
  }
  const double least = draft.has(Quirk::penalties_to_one) ? 0.0 : -2.0;
  const double most = least < 0.0 ? 2.0 : 1.0;
  clamp_setting(draft, "frequency_penalty", s.frequency_penalty, least, most);
  clamp_setting(draft, "presence_penalty", s.presence_penalty, least, most);
}

}  // namespace

void note_each(const Draft& draft, std::initializer_list<SetMember> settings,
               std::string_view why) {
  for (const SetMember& setting : settings) {
    if (setting.is_set) draft.note(setting.name, why);
  }
}

void note_no_penalties(const Draft& draft, const Sampling& s) {
  note_each(draft,
            {{"frequency_penalty", s.frequency_penalty.has_value()},
             {"presence_penalty", s.presence_penalty.has_value()}},
            "The API has none.");
}

bool lobe_scale(const Draft& draft) {
  return draft.payload.lobe_temperature || draft.config.lobe_temperature;
}

Sampling sampling_of(const Draft& draft, double most) {
  const ChatPayload& payload = draft.payload;
  Sampling s{payload.temperature, payload.top_p, payload.frequency_penalty,
             payload.presence_penalty};
  drop_for_model(draft, s);
  apply_temperature(draft, s, most);
  const bool is_open = draft.has(Quirk::open_top_p) || draft.is(Trait::open_sampling);
  const bool is_above_zero = is_open || draft.has(Quirk::top_p_above_zero);
  clamp_setting(draft, "top_p", s.top_p, is_above_zero ? lowest_open : 0.0,
                is_open ? highest_open : 1.0);
  apply_penalties(draft, s);
  fix_sampling(draft, s);
  if (!s.stop && !payload.stop.empty()) draft.note("stop", "The model refuses it.");
  if (!s.logprobs && payload.logprobs) draft.note("logprobs", "The model refuses it.");
  return s;
}

std::string effort_of(const Draft& draft) {
  const std::string& given = draft.payload.reasoning->effort;
  if (!given.empty() && draft.is(Trait::rejects_effort)) {
    draft.note("reasoning_effort", "The model takes none: it decides itself how much it thinks.");
  }
  std::string taken(taken_effort(draft));
  if (taken != given && !taken.empty() && !draft.traits.efforts().empty()) {
    draft.note("reasoning_effort", "The model does not know this level; the nearest was taken.");
  }
  return taken;
}

void note_no_budget(const Draft& draft) {
  const Reasoning& reasoning = draft.payload.reasoning;
  if (!reasoning.budget || is_disabled(reasoning)) return;
  draft.note("thinking.budget_tokens", "The provider takes no budget of reasoning.");
}

void note_decides_itself(const Draft& draft) {
  const Reasoning& reasoning = draft.payload.reasoning;
  if (reasoning.type != "adaptive" || is_disabled(reasoning)) return;
  draft.note("thinking", "The provider has no `adaptive`: reasoning is on.");
}

void note_switched(const Draft& draft) {
  const Reasoning& reasoning = draft.payload.reasoning;
  note_decides_itself(draft);
  if (is_disabled(reasoning) || reasoning.effort.empty()) return;
  draft.note("reasoning_effort", "The provider switches reasoning on or off: it takes no effort.");
}

}  // namespace millrace::model
