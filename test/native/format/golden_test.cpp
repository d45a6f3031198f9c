// Runs the golden cases of every format.
//
// A case goes one of two ways, from canonical messages (`canonical` -> `api` -> `back`) or from the
// API's data (`data` -> `messages` -> `again`); or it ends in `error`: code and message. The file's
// name is the format's. Texts are compared as compact JSON, so that only values and the order of
// members count. Ids that the format makes are id-1, id-2 ...

#include <gtest/gtest.h>

#include <regex>

#include "format/format.hpp"
#include "support/golden.hpp"

using namespace millrace;
using test::compact;

namespace {

struct Row {
  std::string name;
  std::string format;
  test::GoldenCase golden;
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.format << ": " << row.golden.name;
}

std::vector<Row> rows() {
  std::vector<Row> result;
  for (const std::string& file : test::golden_files("format")) {
    const std::size_t folder = sizeof("format/") - 1;
    const std::string format = file.substr(folder, file.size() - folder - sizeof(".md") + 1);
    for (auto& golden : test::golden_cases(file)) {
      const std::string name = format + "_" + golden.name;
      result.push_back(
          {std::regex_replace(name, std::regex("[^A-Za-z0-9]+"), "_"), format, std::move(golden)});
    }
  }
  return result;
}

std::string shown(const Result<std::string>& result) {
  if (result) return result.value();
  return std::string(result.error().code_name()) + ": " + result.error().message + "\n";
}

enum class Way { to_api, from_api };

std::string convert(const std::string& format_name, Way way, const std::string& json) {
  const format::Format* format = format::find_format(format_name);
  if (format == nullptr) return "no such format";
  CountingIds ids("id-");
  return shown(way == Way::to_api ? format::to_api(*format, json)
                                  : format::from_api(*format, json, ids));
}

struct Step {
  std::string_view input;
  Way way;
  std::string_view output;
};
constexpr Step steps[] = {{"canonical", Way::to_api, "api"},   {"api", Way::from_api, "back"},
                          {"data", Way::from_api, "messages"}, {"messages", Way::to_api, "again"},
                          {"canonical", Way::to_api, "error"}, {"data", Way::from_api, "error"}};

class GoldenFormat : public testing::TestWithParam<Row> {};

}  // namespace

TEST_P(GoldenFormat, GivesTheExpectedMessages) {
  const auto& [name, format, golden] = GetParam();
  std::size_t compared = 0;
  for (const Step& step : steps) {
    const std::string* input = golden.block(step.input);
    const std::string* output = golden.block(step.output);
    if (input == nullptr || output == nullptr) continue;
    ++compared;
    const std::string got = convert(format, step.way, *input);
    if (step.output == "error") {
      EXPECT_EQ(got, *output);
    } else {
      EXPECT_EQ(compact(got), compact(*output)) << step.input << " -> " << step.output;
    }
  }
  EXPECT_GT(compared, 0U) << "a golden case without expectations";
}

INSTANTIATE_TEST_SUITE_P(Formats, GoldenFormat, testing::ValuesIn(rows()),
                         [](const testing::TestParamInfo<Row>& row) { return row.param.name; });
