// What vendors report, in one shape.

#include "model/usage/usage.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "adapter/usage.hpp"
#include "model/call/call_usage.hpp"
#include "support/golden.hpp"

using namespace millrace;
using model::ModelUsage;
using model::Tokens;
using model::UsageSource;

namespace {

std::string read(std::string_view provider, const std::string& json) {
  json::Document document;
  const auto value = document.parse(json);
  EXPECT_TRUE(value.ok()) << json;
  std::string out;
  if (value) model::write_json(out, model::read_vendor_usage(provider, value.value()));
  return out;
}

ModelUsage own(const std::string& json) {
  json::Document document;
  const auto value = document.parse(json);
  EXPECT_TRUE(value.ok()) << json;
  return value ? model::read_usage(value.value()) : ModelUsage{};
}

}  // namespace

TEST(ModelUsage, ReadsEveryVendor) {
  std::size_t cases = 0;
  for (const test::GoldenCase& golden : test::golden_cases("model/usage.md")) {
    SCOPED_TRACE(golden.name);
    const test::GoldenBlock& reported = golden.blocks.at(0);
    const std::string provider = reported.info.substr(reported.info.find(' ') + 1);
    EXPECT_EQ(read(provider, reported.text) + "\n", golden.blocks.at(1).text);
    ++cases;
  }
  EXPECT_GT(cases, 15U);
}

namespace {

// The counts of a vendor's report beside those of input and output, by their places.
struct Counts {
  adapter::UsageDialect dialect;
  std::string_view provider;
  std::string_view input;
  std::string_view output;
  std::string_view total;  // "" where the report has none
  std::vector<std::string_view> others;
};

const Counts vendor_counts[] = {
    {adapter::UsageDialect::openai_chat,
     "openai",
     "prompt_tokens",
     "completion_tokens",
     "total_tokens",
     {"prompt_tokens_details.cached_tokens", "prompt_tokens_details.cache_write_tokens",
      "prompt_tokens_details.cache_creation_tokens",
      "prompt_tokens_details.cache_creation_input_tokens",
      "completion_tokens_details.reasoning_tokens", "reasoning_tokens", "prompt_cache_hit_tokens",
      "cached_tokens", "citation_tokens", "num_cached_tokens",
      "prompt_token_details.cached_tokens"}},
    {adapter::UsageDialect::openai_responses,
     "openai",
     "input_tokens",
     "output_tokens",
     "total_tokens",
     {"input_tokens_details.cached_tokens", "input_tokens_details.cache_write_tokens",
      "output_tokens_details.reasoning_tokens"}},
    {adapter::UsageDialect::anthropic,
     "anthropic",
     "input_tokens",
     "output_tokens",
     "",
     {"cache_read_input_tokens", "cache_creation_input_tokens",
      "output_tokens_details.thinking_tokens"}},
    {adapter::UsageDialect::langchain,
     "",
     "input_tokens",
     "output_tokens",
     "total_tokens",
     {"input_token_details.cache_read", "input_token_details.cache_creation",
      "output_token_details.reasoning"}},
    {adapter::UsageDialect::gemini,
     "google",
     "promptTokenCount",
     "candidatesTokenCount",
     "totalTokenCount",
     {"thoughtsTokenCount", "cachedContentTokenCount", "toolUsePromptTokenCount"}},
    {adapter::UsageDialect::gemini_interactions,
     "google",
     "total_input_tokens",
     "total_output_tokens",
     "total_tokens",
     {"total_thought_tokens", "total_cached_tokens", "total_tool_use_tokens"}},
    {adapter::UsageDialect::ollama, "ollama", "prompt_eval_count", "eval_count", "", {}},
    {adapter::UsageDialect::bedrock,
     "bedrock",
     "inputTokens",
     "outputTokens",
     "totalTokens",
     {"cacheReadInputTokens", "cacheWriteInputTokens"}},
    {adapter::UsageDialect::cohere,
     "cohere",
     "tokens.input_tokens",
     "tokens.output_tokens",
     "",
     {"cached_tokens", "billed_units.input_tokens", "billed_units.output_tokens"}},
    {adapter::UsageDialect::cohere,
     "cohere",
     "billed_units.input_tokens",
     "billed_units.output_tokens",
     "",
     {"cached_tokens"}},
};

// `{"a.b": 1, "c": 2}` as `{"a": {"b": 1}, "c": 2}`.
std::string report_of(const std::map<std::string_view, std::int64_t>& counts) {
  std::map<std::string_view, std::string> groups;
  std::string out;
  for (const auto& [place, count] : counts) {
    const std::size_t dot = place.find('.');
    if (dot == std::string_view::npos) {
      json::append_member(out, place, count);
    } else {
      json::append_member(groups[place.substr(0, dot)], place.substr(dot + 1), count);
    }
  }
  for (const auto& [name, members] : groups) {
    json::append_raw_member(out, name, "{" + members + "}");
  }
  return "{" + out + "}";
}

std::string counts_text(std::initializer_list<std::optional<std::int64_t>> counts) {
  std::string out;
  for (const auto& count : counts) out.append(std::to_string(count.value_or(0))).push_back(' ');
  return out;
}

// What the events of an answer count.
std::string event_counts(const event::Usage& usage) {
  return counts_text({usage.input_tokens, usage.output_tokens, usage.total_tokens,
                      usage.reasoning_tokens, usage.cached_input_tokens,
                      usage.cache_write_input_tokens});
}

// What its report counts.
std::string report_counts(const ModelUsage& usage) {
  return counts_text({usage[Tokens::total_input], usage[Tokens::total_output], usage[Tokens::total],
                      usage[Tokens::output_reasoning], usage[Tokens::input_cached],
                      usage[Tokens::input_write_cache]});
}

void expect_equal_counts(const Counts& vendor, const std::string& json) {
  json::Document document;
  const auto value = document.parse(json);
  ASSERT_TRUE(value.ok()) << json;
  const event::Usage usage =
      adapter::read_usage(vendor.dialect, vendor.provider, "", value.value(), json);
  EXPECT_EQ(event_counts(usage),
            report_counts(model::read_vendor_usage(vendor.provider, value.value())))
      << json;
}

}  // namespace

// The events of an answer and its report read the vendor's counts alike, whichever of them it has.
TEST(ModelUsage, AgreesWithTheEvents) {
  for (const Counts& vendor : vendor_counts) {
    for (std::size_t chosen = 0; chosen < std::size_t{1} << vendor.others.size(); ++chosen) {
      std::map<std::string_view, std::int64_t> counts{{vendor.input, 1000}, {vendor.output, 500}};
      for (std::size_t at = 0; at < vendor.others.size(); ++at) {
        const auto other = static_cast<std::int64_t>(at);
        if ((chosen >> at & 1U) != 0) counts[vendor.others[at]] = 11 + other * other;
      }
      const std::string json = report_of(counts);
      expect_equal_counts(vendor, json);
      if (vendor.total.empty()) continue;
      json::Document document;
      const auto value = document.parse(json);
      ASSERT_TRUE(value.ok()) << json;
      const event::Usage usage =
          adapter::read_usage(vendor.dialect, vendor.provider, "", value.value(), json);
      const std::int64_t total = usage.total_tokens.value_or(0);
      for (const std::int64_t beside : {std::int64_t{0}, usage.reasoning_tokens.value_or(0)}) {
        counts[vendor.total] = total + beside;
        expect_equal_counts(vendor, report_of(counts));
      }
    }
  }
}

TEST(ModelUsage, AgreesWithTheEventsOnWhatWasCachedBesideTheInput) {
  for (const std::string_view chat :
       {R"({"prompt_tokens":4142,"completion_tokens":254,"total_tokens":8724,)",
        R"({"prompt_tokens":4142,"completion_tokens":254,"total_tokens":4396,)",
        R"({"prompt_tokens":4142,"completion_tokens":254,)"}) {
    expect_equal_counts(vendor_counts[0],
                        std::string(chat) + R"("prompt_tokens_details":{"cached_tokens":4328}})");
  }
  expect_equal_counts(vendor_counts[0],
                      R"({"prompt_tokens":951,"completion_tokens":6000,)"
                      R"("completion_tokens_details":{"reasoning_tokens":6001}})");
  expect_equal_counts(vendor_counts[1], R"({"input_tokens":4142,"output_tokens":254,)"
                                        R"("input_tokens_details":{"cached_tokens":4328}})");
}

TEST(ModelUsage, CountsCompactionsOfARawReportOnce) {
  const auto whole = [](const std::string& json) {
    json::Document document;
    const auto value = document.parse(json);
    EXPECT_TRUE(value.ok()) << json;
    return value ? model::read_raw_usage("anthropic", value.value()) : ModelUsage{};
  };
  const std::string iterations =
      R"("iterations":[{"type":"compaction","input_tokens":180000,"output_tokens":3500},)"
      R"({"type":"message","input_tokens":23000,"output_tokens":1000}]})";
  for (const std::string& counts :
       {R"({"input_tokens":23000,"output_tokens":1000,)" + iterations,
        R"({"input_tokens":203000,"output_tokens":4500,)" + iterations}) {
    const ModelUsage usage = whole(counts);
    EXPECT_EQ(usage[Tokens::total_input], 203000) << counts;
    EXPECT_EQ(usage[Tokens::total_output], 4500) << counts;
  }
  EXPECT_EQ(whole(R"({"input_tokens":5,"output_tokens":2})")[Tokens::total_output], 2);
  // A run's report, which holds the compaction already; what an advisor wrote is another model's.
  const std::string advised =
      R"({"input_tokens":203000,"output_tokens":4500,"iterations":[)"
      R"({"type":"compaction","input_tokens":180000,"output_tokens":3500},)"
      R"({"type":"advisor_message","model":"m","input_tokens":9,"output_tokens":5000},)"
      R"({"type":"message","input_tokens":23000,"output_tokens":1000}]})";
  EXPECT_EQ(whole(advised)[Tokens::total_input], 203000);
  EXPECT_EQ(whole(advised)[Tokens::total_output], 4500);
}

TEST(ModelUsage, TellsWhatIsKnownOfTheCostOfSeveralAttempts) {
  const auto attempt = [](std::string model, bool counts) {
    model::Attempt made;
    made.provider = "openai";
    made.model = std::move(model);
    made.counts = counts;
    model::RecordedUsage usage;
    usage.source = UsageSource::reported;
    usage.input_tokens = 1'000'000;
    usage.output_tokens = 0;
    made.usage = std::move(usage);
    return made;
  };
  const model::Spent spent = model::spent_on(
      {attempt("gpt-4o", true), attempt("of unknown price", true), attempt("gpt-4o", false)});
  EXPECT_EQ(spent.sum[Tokens::total_input], 2'000'000) << "a request that nobody began is counted";
  EXPECT_FALSE(spent.sum.cost);
  EXPECT_EQ(spent.known_cost, 2.5);
  EXPECT_FALSE(model::spent_on({attempt("of unknown price", true)}).known_cost);
}

// A tool that has both a count in the report and items in the answer is one thing without a price.
TEST(ModelUsage, NamesWhatHasNoPriceOnce) {
  model::Attempt made;
  made.provider = "openai";
  made.model = "gpt-4o";
  made.counts = true;
  model::RecordedUsage usage;
  usage.source = UsageSource::reported;
  usage.input_tokens = 1000;
  usage.output_tokens = 10;
  usage.reported = R"({"prompt_tokens":1000,"completion_tokens":10,)"
                   R"("server_side_tool_usage_details":{"x_search_calls":2}})";
  made.usage = std::move(usage);
  model::AnswerReport answer;
  answer.response = R"({"details":{"tool_usage":{"web_search":{"num_requests":1}}}})";
  answer.priced_calls = {"x_search_call", "web_search_call", "code_interpreter_call"};
  made.answer = std::move(answer);
  EXPECT_EQ(model::spent_on({made}).sum.unpriced,
            (std::vector<std::string>{"server_side_tool_usage_details.x_search_calls",
                                      "tool_usage.web_search", "code_interpreter_call"}));
}

TEST(ModelUsage, TakesAnAdaptersCountsWhenThereIsNoReport) {
  event::Usage usage;
  EXPECT_EQ(model::read_vendor_usage(usage).source, UsageSource::unknown);
  usage.input_tokens = 10;
  usage.output_tokens = 7;
  usage.reasoning_tokens = 3;
  usage.cached_input_tokens = 4;
  usage.json = R"({"unheard":"of"})";
  std::string out;
  model::write_json(out, model::read_vendor_usage(usage));
  EXPECT_EQ(out, R"({"inputTextTokens":10,"inputCachedTokens":4,"inputCacheMissTokens":6,)"
                 R"("outputTextTokens":4,"outputReasoningTokens":3,"totalInputTokens":10,)"
                 R"("totalOutputTokens":7,"totalTokens":17,"source":"reported"})");
}

// Nobody uses less than nothing, and sums of what no counter reaches would turn around.
TEST(ModelUsage, TakesNoCountsThatAreNone) {
  EXPECT_EQ(read("", R"({"prompt_tokens":-5})"), R"({"source":"unknown"})");
  EXPECT_EQ(read("", R"({"input_tokens":"5","output_tokens":1.5})"), R"({"source":"unknown"})");
  EXPECT_EQ(read("", R"({"prompt_tokens":0,"completion_tokens":0})"), R"({"source":"reported"})");
  EXPECT_EQ(read("", R"({"prompt_tokens":-5,"completion_tokens":3,"total_tokens":-2})"),
            R"({"outputTextTokens":3,"totalOutputTokens":3,"totalTokens":3,"source":"reported"})");
  EXPECT_EQ(
      read("", R"({"prompt_tokens":9000000000000000000,"completion_tokens":9000000000000000000})"),
      R"({"source":"unknown"})");
  EXPECT_EQ(own(R"({"totalTokens":-1,"inputTextTokens":9000000000000000000})"), ModelUsage{});
}

TEST(ModelUsage, ReadsWhatItWrites) {
  for (const test::GoldenCase& golden : test::golden_cases("model/usage.md")) {
    std::string out;
    model::write_json(out, own(golden.blocks.at(1).text));
    EXPECT_EQ(out + "\n", golden.blocks.at(1).text);
  }
}

TEST(ModelUsage, HasWritesToTheCacheByTheirTimeAsLobeHubCallsThem) {
  std::string out;
  model::write_json(out, own(R"({"inputWriteCacheTokens":20,"inputWriteCacheLongTokens":15})"));
  EXPECT_EQ(out,
            R"({"inputWriteCacheTokens":20,"inputWriteCacheLongTokens":15,)"
            R"("inputWriteCacheTokens5m":5,"inputWriteCacheTokens1h":15,"source":"reported"})");
  EXPECT_EQ(own(out), own(R"({"inputWriteCacheTokens":20,"inputWriteCacheTokens1h":15})"));
}

TEST(ModelUsage, AddsCountsAndKeepsTheLeastCertainMark) {
  ModelUsage sum;
  model::add(sum, own(R"({"totalTokens":5,"inputTextTokens":2,"cost":0.5,"source":"reported"})"));
  EXPECT_EQ(sum.source, UsageSource::reported);
  model::add(sum, model::estimated_usage(3, 4, 1));
  EXPECT_EQ(sum[Tokens::total], 13);
  EXPECT_EQ(sum[Tokens::input_text], 5);
  EXPECT_EQ(sum[Tokens::output_reasoning], 1);
  EXPECT_FALSE(sum[Tokens::input_image].has_value());
  EXPECT_FALSE(sum.cost.has_value()) << "what the estimate costs is not known";
  EXPECT_EQ(sum.source, UsageSource::estimated);
}
