// Runs the golden cases of every wire: each input whole, byte by byte and at random splits.
//
// The first line of a file's prose names the wire: `Wire: openai_chat`. Ids that the adapter makes
// are id-1, id-2 ... Diagnostics (types that start with "@") are compared when the fence says
// `all`; `details` has those as well that a reader must ask for.

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <regex>

#include "adapter/decoder.hpp"
#include "support/collect.hpp"
#include "support/golden.hpp"
#include "support/source_folder.hpp"

using namespace millrace;

namespace {

struct Row {
  std::string file;
  std::string wire;
  test::GoldenCase golden;
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.file << ": " << row.golden.name;
}

std::string wire_of(const std::string& file) {
  std::ifstream stream(test::source_folder().string() + "/test/golden/" + file);
  std::string line;
  while (std::getline(stream, line)) {
    if (line.starts_with("Wire: ")) return line.substr(6);
  }
  return {};
}

std::vector<Row> rows() {
  std::vector<Row> result;
  for (const std::string& file : test::golden_files("adapter")) {
    for (auto& golden : test::golden_cases(file)) {
      result.push_back({file, wire_of(file), std::move(golden)});
    }
  }
  return result;
}

std::string decode(const adapter::Wire& wire, event::Mode mode, const std::string& input,
                   const std::vector<std::size_t>& cuts, bool all, bool details) {
  CountingIds ids("id-");
  test::Collector collector;
  adapter::DecoderOptions options;
  options.mode = mode;
  options.details = details;
  options.logprobs = details;
  adapter::Decoder decoder(wire, options, ids, collector);
  std::size_t from = 0;
  for (const std::size_t cut : cuts) {
    EXPECT_TRUE(decoder.feed(std::string_view(input).substr(from, cut - from)).ok());
    from = cut;
  }
  EXPECT_TRUE(decoder.feed(std::string_view(input).substr(from)).ok());
  EXPECT_TRUE(decoder.finish().ok());
  return collector.text(all);
}

std::vector<std::size_t> every_byte(std::size_t size) {
  std::vector<std::size_t> cuts;
  for (std::size_t at = 1; at < size; ++at) cuts.push_back(at);
  return cuts;
}

std::vector<std::size_t> random_cuts(std::size_t size, std::mt19937& random) {
  std::vector<std::size_t> cuts;
  std::uniform_int_distribution<std::size_t> step(1, 97);
  for (std::size_t at = step(random); at < size; at += step(random)) cuts.push_back(at);
  return cuts;
}

std::string test_name(const testing::TestParamInfo<Row>& row) {
  constexpr std::size_t folder = sizeof("adapter/") - 1;
  const std::string name = row.param.file.substr(folder) + "_" + row.param.golden.name;
  return std::regex_replace(name, std::regex("[^A-Za-z0-9]+"), "_");
}

class GoldenAdapter : public testing::TestWithParam<Row> {};

}  // namespace

TEST_P(GoldenAdapter, GivesTheExpectedEvents) {
  const Row& row = GetParam();
  const adapter::Wire* wire = adapter::find_wire(row.wire);
  ASSERT_NE(wire, nullptr) << "unknown wire in " << row.file;
  const std::string input = row.golden.input();
  std::size_t compared = 0;
  for (const auto& block : row.golden.blocks) {
    const bool strict = block.info.starts_with("strict");
    if (!strict && !block.info.starts_with("as_received")) continue;
    ++compared;
    const bool details = block.info.find("details") != std::string::npos;
    const bool all = details || block.info.find("all") != std::string::npos;
    const event::Mode mode = strict ? event::Mode::strict : event::Mode::as_received;
    EXPECT_EQ(decode(*wire, mode, input, {}, all, details), block.text) << "whole, " << block.info;
    EXPECT_EQ(decode(*wire, mode, input, every_byte(input.size()), all, details), block.text)
        << "byte by byte, " << block.info;
    const unsigned seed = std::random_device{}();
    std::mt19937 random(seed);
    for (int round = 0; round < 16; ++round) {
      ASSERT_EQ(decode(*wire, mode, input, random_cuts(input.size(), random), all, details),
                block.text)
          << "random splits, seed " << seed << ", " << block.info;
    }
  }
  EXPECT_GT(compared, 0U) << "a golden case without expected events";
}

INSTANTIATE_TEST_SUITE_P(Wires, GoldenAdapter, testing::ValuesIn(rows()), test_name);
