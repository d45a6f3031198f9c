// Golden cases in Markdown: a heading, prose, an input block and the expected events.
//
//     ## name of the case
//     prose
//     ```in
//     the bytes; with the fence `in escaped` \r \n \t \xHH and \\ are undone
//     ```
//     ```as_received
//     one JSON event a line
//     ```
//     ```strict
//     one JSON event a line
//     ```
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace::test {

struct GoldenBlock {
  std::string info;  // the fence's words, e.g. "as_received all"
  std::string text;
};

struct GoldenCase {
  std::string name;
  std::vector<GoldenBlock> blocks;

  // The text of the block whose info is `info` or starts with it and a space, or nullptr.
  [[nodiscard]] const std::string* block(std::string_view info) const;
  // The input with its escapes undone.
  [[nodiscard]] std::string input() const;
};

// Reads every case of one file under test/golden.
std::vector<GoldenCase> golden_cases(const std::string& file);

// Every file of a folder under test/golden, as paths for golden_cases.
std::vector<std::string> golden_files(const std::string& folder);

// JSON in one line without spaces, so that values and the order of members alone are compared.
std::string compact(std::string_view json);

}  // namespace millrace::test
