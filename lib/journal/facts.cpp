#include "journal/facts.hpp"

#include <array>
#include <cstddef>

namespace millrace::journal {
namespace {

using namespace std::string_view_literals;

template <class Enum, std::size_t size>
std::string_view entry_of(const std::array<std::string_view, size>& names, Enum value) {
  const auto at = static_cast<std::size_t>(value);
  return at < size ? names[at] : "unknown"sv;
}

template <class... Kinds>
struct KindList {
  static bool has(const Fact& fact) { return (std::holds_alternative<Kinds>(fact) || ...); }
};

// What these tell of can be found out again, or is lost without harm.
using Unhurried = KindList<ModelOpened, ModelProgress, StepStarted, Compressed, Gap, UnknownFact>;

}  // namespace

bool waits_for_commit(const Fact& fact) {
  return !Unhurried::has(fact);
}

std::string_view name_of(Effect effect) {
  static constexpr std::array names{"once"sv, "keyed"sv, "idempotent"sv, "read"sv};
  return entry_of(names, effect);
}

std::string_view name_of(CallKind kind) {
  static constexpr std::array names{"tool"sv, "step"sv, "sleep"sv, "child"sv};
  return entry_of(names, kind);
}

std::string_view name_of(CallState state) {
  static constexpr std::array names{"intent"sv, "waiting"sv, "started"sv,   "ok"sv,
                                    "error"sv,  "denied"sv,  "cancelled"sv, "unknown"sv};
  return entry_of(names, state);
}

std::string_view name_of(ApprovalKind kind) {
  static constexpr std::array names{"approval"sv, "prompt"sv, "select"sv};
  return entry_of(names, kind);
}

std::string_view name_of(RunState state) {
  static constexpr std::array names{"queued"sv,   "running"sv,   "waiting"sv,
                                    "sleeping"sv, "parked"sv,    "completed"sv,
                                    "failed"sv,   "cancelled"sv, "dead"sv};
  return entry_of(names, state);
}

std::string_view name_of(OnDisconnect choice) {
  static constexpr std::array names{"agent"sv, "continue"sv, "stop"sv};
  return entry_of(names, choice);
}

}  // namespace millrace::journal
