// Sampling settings as a provider and a model take them.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "model/provider/dialects.hpp"

namespace millrace::model {

struct Sampling {
  std::optional<double> temperature;
  std::optional<double> top_p;
  std::optional<double> frequency_penalty;
  std::optional<double> presence_penalty;
  bool stop = true;      // whether stop sequences may be sent
  bool logprobs = true;  // whether probabilities may be asked for
};

// True when the temperature is on LobeHub's scale of 0 to 2.
bool lobe_scale(const Draft& draft);

// What is left of the payload's settings; each that is left out or changed is noted. `most` is the
// dialect's highest temperature: OpenAI's scale ends at 2, that of others at 1.
Sampling sampling_of(const Draft& draft, double most = 2.0);

// Names each of these settings that is set.
struct SetMember {
  std::string_view name;
  bool is_set;
};
void note_each(const Draft& draft, std::initializer_list<SetMember> settings, std::string_view why);

inline constexpr std::string_view no_sampling_beside_thinking =
    "A model that thinks takes no sampling settings.";

// Names the penalties of an API that has none.
void note_no_penalties(const Draft& draft, const Sampling& s);

// The effort as the model takes it, or "" when none is to be sent. The levels are none, minimal,
// low, medium, high, xhigh, max.
std::string effort_of(const Draft& draft);

// Names `adaptive` where reasoning is on in its place.
void note_decides_itself(const Draft& draft);

// The same, and an effort.
void note_switched(const Draft& draft);

// Names a budget of reasoning where the API takes none.
void note_no_budget(const Draft& draft);

}  // namespace millrace::model
