// The tokens of model calls in one shape for all vendors, and what a provider reported read into
// it. What was not reported is absent, never 0.
// Source: LobeHub's ModelUsage; the vendors' API references (2026).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "event/event.hpp"
#include "model/provider/providers.hpp"

namespace millrace::model {

// What is counted. The totals are the provider's own where it gives them.
enum class Tokens : std::uint8_t {
  input_text,
  input_image,
  input_audio,
  input_video,
  input_tool,      // prompts that tools of the provider made
  input_citation,  // citations that count as input
  input_cached,
  input_cache_miss,
  input_write_cache,
  input_write_cache_long,  // of these, what stays in the cache for an hour
  input_cached_text,
  input_cached_image,
  input_cached_audio,
  input_cached_video,
  output_text,
  output_image,
  output_audio,
  output_video,
  output_reasoning,
  accepted_prediction,
  rejected_prediction,
  total_input,
  total_output,
  total,
};
inline constexpr std::size_t tokens_count = static_cast<std::size_t>(Tokens::total) + 1;

// The name in JSON, for instance "inputTextTokens".
std::string_view name_of(Tokens tokens);

enum class UsageSource : std::uint8_t {
  unknown,    // it could not be counted
  estimated,  // we counted what was streamed
  reported,   // the provider's own numbers
};
std::string_view name_of(UsageSource source);

struct ModelUsage {
  std::array<std::optional<std::int64_t>, tokens_count> counts;
  std::optional<double> cost;  // US dollars
  // What was used beside tokens, or changes their price, and is not in the cost: members of the
  // provider's report by their names.
  std::vector<std::string> unpriced;
  UsageSource source = UsageSource::unknown;

  [[nodiscard]] std::optional<std::int64_t> operator[](Tokens tokens) const {
    return counts[static_cast<std::size_t>(tokens)];
  }
  std::optional<std::int64_t>& operator[](Tokens tokens) {
    return counts[static_cast<std::size_t>(tokens)];
  }
  [[nodiscard]] bool operator==(const ModelUsage&) const = default;
};

// What a server means by its counts where they do not show it.
struct UsageRules {
  bool reasoning_beside = false;  // reasoning is not in the completion
};
UsageRules usage_rules(Quirks quirks);

// Reads a vendor's usage object; its members say whose it is. `provider` is needed only where two
// vendors mean different things by the same members.
// The last report of an Anthropic stream counts: its output tokens are cumulative.
ModelUsage read_vendor_usage(UsageRules rules, const json::Value& reported);
ModelUsage read_vendor_usage(std::string_view provider, const json::Value& reported);
// As above, of a report as its vendor gave it: what an Anthropic answer's compactions cost, which
// its counts leave out, is added, as the wire's adapter does.
ModelUsage read_raw_usage(std::string_view provider, const json::Value& reported);
// As above, from what an adapter gave; its counts are used when there is no JSON.
ModelUsage read_vendor_usage(UsageRules rules, const event::Usage& usage);
ModelUsage read_vendor_usage(const event::Usage& usage);

// Whether an iteration of Anthropic's report is an advisor's: another model, whose tokens are in no
// count of the answer. Those of a fallback are in the counts.
bool is_of_other_model(const json::Value& iteration);
// The name of an iteration in `unpriced`.
std::string unpriced_iteration(const json::Value& iteration);

// Reads our own shape; members that are no counts are ignored.
ModelUsage read_usage(const json::Value& usage);

// Appends the usage as one JSON object.
// Shape: the counts by name_of, "cost"?: number, "unpriced"?: [string], "source"?: "reported" | "estimated" | "unknown".
void write_json(std::string& out, const ModelUsage& usage, bool with_source = true);

// The same as a tree.
json::Tree to_tree(const ModelUsage& usage);

// Adds the counts and the cost of `more`. The sum is as certain as its least certain part.
void add(ModelUsage& sum, const ModelUsage& more);

// Usage of a call whose provider reported none, from estimates of what was sent and streamed.
ModelUsage estimated_usage(std::optional<std::int64_t> input, std::int64_t text,
                           std::int64_t reasoning);
// Puts estimates in place of what a report counts of an output that it does not have whole; what it
// has of the input stays.
void set_estimated_output(ModelUsage& usage, std::int64_t output, std::int64_t reasoning);

}  // namespace millrace::model
