// Random steps of durable runs in a store and in a model of the recovery table, compared after
// each. What differs is printed with the shortest list of steps that was found for it.
//   run_recovery [--steps N] [--seed N] [--sequence N] [--storage memory|sqlite]
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "recovery/model.hpp"
#include "recovery/store_side.hpp"
#include "store/fault_vfs.hpp"
#include "store/memory/memory_backend.hpp"
#include "store/sqlite/sqlite_backend.hpp"
#include "store/store_folder.hpp"

namespace millrace::recovery {
namespace {

constexpr std::size_t steps_a_sequence = 80;

struct Options {
  std::size_t steps = 100'000;
  std::uint64_t seed = std::random_device()();
  std::size_t sequence = 0;  // only this one; 0 is all
  bool is_sqlite = false;
};

// How often each word of a plan was compared.
using Seen = std::map<std::string, std::size_t>;

class Comparison {
 public:
  Comparison(const Options& options, Seen* seen) : seen_(seen) {
    const store::Clock clock = [this] { return clock_; };
    if (!options.is_sqlite) {
      side_.emplace(store::make_memory_backend(clock), clock_);
      return;
    }
    store::SqliteOptions sqlite;
    sqlite.path = folder_.emplace().file();
    sqlite.vfs = vfs_.name();
    sqlite.clock = clock;
    auto opened = store::open_sqlite_backend(sqlite);
    if (!opened) {
      std::printf("FAIL %s\n0 passed, 1 failed\n", opened.error().message.c_str());
      std::exit(1);
    }
    side_.emplace(std::move(opened).value(), clock_);
  }
  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;

  // Nothing where the step could not happen, else whether the two agree; `difference` has why not.
  std::optional<bool> take(const Step& step) {
    const auto action = model_.resolve(step);
    return action ? std::optional(take(*action)) : std::nullopt;
  }

  // Every run comes to its end, and the store is whole.
  bool finish() {
    for (int process = 0; process < Model::processes; ++process) {
      if (!take(store_action(Op::crash, process))) return false;
    }
    Action later = store_action(Op::pass_time, 0);
    later.number = 1'000'000;
    if (!take(later) || !take(store_action(Op::sweep, 0)) || !answer_all()) return false;
    if (!take(store_action(Op::claim, 0))) return false;
    for (std::size_t run = 0; run < model_.runs().size(); ++run) {
      if (model_.runs()[run].state >= State::completed) continue;
      Action end;
      end.op = Op::end;
      end.run = run;
      end.epoch = model_.runs()[run].epoch;
      if (!take(end)) return false;
      if (model_.runs()[run].state >= State::completed) continue;
      difference = "run " + std::to_string(run) + " does not come to its end";
      return false;
    }
    difference = side_->check();
    return difference.empty();
  }

  std::string difference;
  std::vector<std::string> actions;

 private:
  static Action store_action(Op op, int process) {
    Action action;
    action.op = op;
    action.process = process;
    action.names = (1U << Model::names) - 1;
    return action;
  }

  bool answer_all() {
    for (std::size_t run = 0; run < model_.runs().size(); ++run) {
      for (std::size_t at = 0; at < model_.runs()[run].questions.size(); ++at) {
        Action decide = store_action(Op::decide, 0);
        decide.run = run;
        decide.question = at;
        if (!take(decide)) return false;
      }
    }
    return true;
  }

  bool take(const Action& action) {
    actions.push_back(action.text());
    const std::string found = side_->apply(model_, action);
    const std::string expected = model_.apply(action);
    if (seen_ != nullptr && action.op == Op::claim) count(expected);
    if (!agree("outcome", expected, found)) return false;
    for (std::size_t run = 0; run < model_.runs().size(); ++run) {
      if (!agree("run " + std::to_string(run), model_.row(run), side_->row(model_, run))) {
        return false;
      }
    }
    const std::int64_t due = side_->next_due().value_or(0);
    if (!agree("next due", std::to_string(model_.next_due().value_or(0)), std::to_string(due))) {
      return false;
    }
    difference = model_.stuck();
    return difference.empty();
  }

  bool agree(const std::string& what, const std::string& expected, const std::string& found) {
    if (expected == found) return true;
    difference = what + "\n  the model: " + expected + "\n  the store: " + found;
    return false;
  }

  void count(std::string_view text) {
    std::string word;
    for (const char letter : text) {
      if ((letter >= 'a' && letter <= 'z') || letter == '_') {
        word.push_back(letter);
        continue;
      }
      if (!word.empty()) ++(*seen_)[word];
      word.clear();
    }
  }

  std::int64_t clock_ = Model().clock();
  Model model_;
  std::optional<store::StoreFolder> folder_;  // of its lock
  store::FaultVfs vfs_;                       // its files are in memory
  std::optional<StoreSide> side_;
  Seen* seen_;
};

// Each sequence likes other steps, so that rare ones come together in some.
std::vector<Step> random_steps(std::uint64_t seed, std::size_t sequence) {
  std::mt19937_64 random(seed * 1'000'003 + sequence);
  std::vector<Op> ops;
  for (int op = 0; op < op_count; ++op) {
    constexpr std::array<std::size_t, 6> weights{0, 1, 1, 2, 4, 12};
    std::size_t weight = weights.at(random() % weights.size());
    if (op == static_cast<int>(Op::accept) || op == static_cast<int>(Op::claim)) weight += 2;
    ops.insert(ops.end(), weight, static_cast<Op>(op));
  }
  std::vector<Step> steps(8 * steps_a_sequence);
  for (Step& step : steps) {
    const auto number = [&] { return static_cast<unsigned>(random() >> 33U); };
    step = {ops[random() % ops.size()], number(), number(), number()};
  }
  return steps;
}

struct Played {
  std::size_t steps = 0;
  std::string difference;
  std::vector<std::string> actions;
};

Played play(const Options& options, const std::vector<Step>& steps, Seen* seen) {
  Comparison comparison(options, seen);
  Played played;
  for (const Step& step : steps) {
    const auto agrees = comparison.take(step);
    played.steps += agrees ? 1 : 0;
    if (agrees && !*agrees) break;
    if (played.steps == steps_a_sequence) break;
  }
  if (comparison.difference.empty()) comparison.finish();
  played.difference = comparison.difference;
  played.actions = comparison.actions;
  return played;
}

// Leaves steps out for as long as the two still differ.
std::vector<Step> shrunk(const Options& options, std::vector<Step> steps) {
  for (std::size_t size = steps.size() / 2; size > 0; size /= 2) {
    for (std::size_t at = 0; at < steps.size();) {
      std::vector<Step> fewer = steps;
      const auto from = fewer.begin() + static_cast<std::ptrdiff_t>(at);
      const std::size_t count = std::min(size, steps.size() - at);
      fewer.erase(from, from + static_cast<std::ptrdiff_t>(count));
      if (play(options, fewer, nullptr).difference.empty()) {
        at += count;
      } else {
        steps = std::move(fewer);
      }
    }
  }
  return steps;
}

int report(const Options& options, std::size_t sequence, const std::vector<Step>& steps) {
  const Played played = play(options, shrunk(options, steps), nullptr);
  std::printf("FAIL sequence %zu of seed %llu (--seed %llu --sequence %zu%s)\n", sequence,
              static_cast<unsigned long long>(options.seed),
              static_cast<unsigned long long>(options.seed), sequence,
              options.is_sqlite ? " --storage sqlite" : "");
  for (const std::string& action : played.actions) std::printf("  %s\n", action.c_str());
  std::printf("%s\n0 passed, 1 failed\n", played.difference.c_str());
  return 1;
}

int compare(const Options& options) {
  Seen seen;
  std::size_t done = 0;
  std::size_t sequences = 0;
  while (done < options.steps) {
    const std::size_t sequence = options.sequence == 0 ? sequences + 1 : options.sequence;
    const std::vector<Step> steps = random_steps(options.seed, sequence);
    const Played played = play(options, steps, &seen);
    if (!played.difference.empty()) return report(options, sequence, steps);
    done += played.steps;
    ++sequences;
    if (options.sequence != 0) break;
  }
  // A comparison that never comes to a row of the table proves nothing about it.
  constexpr std::array words{"begin_step",  "join_response", "ask_again",    "fail",
                             "wait",        "sleep",         "enter_job",    "finish_stop",
                             "bury",        "answer",        "start",        "repeat",
                             "ask_unknown", "take_answer",   "follow_child", "wake",
                             "cancel",      "leave_unknown", "released",     "recovered"};
  std::size_t rarest = done;
  for (const char* const word : words) {
    rarest = std::min(rarest, seen[word]);
    if (seen[word] != 0 || options.steps < 100'000) continue;
    std::printf("FAIL seed %llu: no plan had %s\n0 passed, 1 failed\n",
                static_cast<unsigned long long>(options.seed), word);
    return 1;
  }
  std::printf(
      "%zu steps in %zu sequences, seed %llu: the store and the model agree (each move of "
      "the table %zu times or more)\n1 passed, 0 failed\n",
      done, sequences, static_cast<unsigned long long>(options.seed), rarest);
  return 0;
}

std::uint64_t number_in(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace
}  // namespace millrace::recovery

int main(int count, char** words) {
  millrace::recovery::Options options;
  const std::vector<std::string_view> given(words, words + count);
  for (std::size_t at = 1; at + 1 < given.size(); at += 2) {
    const std::uint64_t number = millrace::recovery::number_in(given[at + 1]);
    if (given[at] == "--steps") options.steps = number;
    if (given[at] == "--seed") options.seed = number;
    if (given[at] == "--sequence") options.sequence = number;
    if (given[at] == "--storage") options.is_sqlite = given[at + 1] == "sqlite";
  }
  return millrace::recovery::compare(options);
}
