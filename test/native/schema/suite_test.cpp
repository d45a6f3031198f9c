// The JSON-Schema-Test-Suite against our validator: the copy under test/golden, so that every
// machine runs the same cases, or the `tests` of another version that JSON_SCHEMA_TEST_SUITE names.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "schema/schema.hpp"
#include "support/source_folder.hpp"

namespace millrace::schema {
namespace {

namespace fs = std::filesystem;

fs::path suite_folder() {
  const char* given = std::getenv("JSON_SCHEMA_TEST_SUITE");
  return given != nullptr ? fs::path(given)
                          : test::source_folder() / "test/golden/json-schema-test-suite";
}

// Nothing is ever fetched: what asks for documents from elsewhere is left out.
bool is_left_out(std::string_view file) {
  return file == "refRemote.json" || file == "vocabulary.json";
}

bool leads_elsewhere(const Error& error) {
  return error.message.find("points outside the schema") != std::string::npos;
}

struct Outcome {
  std::size_t passed = 0;
  std::size_t left_out = 0;
  std::vector<std::string> failed;
};

void run_case(const json::Value& test_case, const std::string& place, std::string_view draft,
              Outcome& outcome) {
  const std::string_view description = test_case["description"].string();
  std::string schema_json = test_case["schema"].to_json(json::Surrogates::keep);
  const bool names_draft = test_case["schema"]["$schema"].exists();
  if (!names_draft && test_case["schema"].is_object() && draft != "draft2020-12") {
    const std::string named = R"({"$schema":"http://json-schema.org/draft-07/schema#")";
    schema_json = named + (schema_json.size() > 2 ? "," : "") + schema_json.substr(1);
  }
  auto schema = Schema::compile(schema_json);
  for (const json::Value test : test_case["tests"].items()) {
    const std::string name =
        place + ": " + std::string(description) + ": " + std::string(test["description"].string());
    if (!schema && leads_elsewhere(schema.error())) {
      ++outcome.left_out;
      continue;
    }
    std::string got = schema ? "" : "error: " + schema.error().message;
    if (schema) {
      auto violations = schema.value().validate(test["data"]);
      got = !violations ? violations.error().message : describe(violations.value());
    }
    if (got.empty() == test["valid"].is_true() && schema) {
      ++outcome.passed;
    } else {
      outcome.failed.push_back(name + " -> " + (got.empty() ? "valid" : got));
    }
  }
}

Outcome run_draft(std::string_view draft) {
  Outcome outcome;
  for (const auto& file : fs::directory_iterator(suite_folder() / draft)) {
    const std::string name = file.path().filename();
    if (file.path().extension() != ".json" || is_left_out(name)) continue;
    std::ifstream stream(file.path());
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    json::Document document(512);
    auto parsed = document.parse(text);
    if (!parsed) {
      outcome.failed.push_back(name + ": " + parsed.error().message);
      continue;
    }
    for (const json::Value test_case : parsed.value().items()) {
      run_case(test_case, name, draft, outcome);
    }
  }
  return outcome;
}

// Formats of other alphabets and templates are known to be unknown.
bool is_unknown_format(std::string_view file) {
  return file.starts_with("i") && !file.starts_with("ip") ? true : file == "uri-template.json";
}

TEST(SchemaSuiteFormats, AreHeldWhenAskedFor) {
  const fs::path folder = suite_folder() / "draft2020-12" / "optional" / "format";
  ASSERT_TRUE(fs::exists(folder)) << folder << " is missing.";
  std::string failed;
  std::size_t passed = 0;
  for (const auto& file : fs::directory_iterator(folder)) {
    const std::string name = file.path().filename();
    if (is_unknown_format(name)) continue;
    std::ifstream stream(file.path());
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    json::Document document(512);
    auto parsed = document.parse(text);
    ASSERT_TRUE(parsed.ok()) << name;
    for (const json::Value test_case : parsed.value().items()) {
      auto schema = Schema::compile(test_case["schema"].to_json(json::Surrogates::keep));
      ASSERT_TRUE(schema.ok()) << name;
      for (const json::Value test : test_case["tests"].items()) {
        Limits limits;
        limits.formats = true;
        const auto violations = schema.value().validate(test["data"], limits);
        const bool valid = violations.ok() && violations.value().empty();
        if (valid == test["valid"].is_true()) {
          ++passed;
        } else {
          failed.append(name).append(": ").append(test["description"].string()).append("\n");
        }
      }
    }
  }
  EXPECT_EQ(failed, "");
  EXPECT_GT(passed, 300U);
}

class SchemaSuite : public testing::TestWithParam<const char*> {};

TEST_P(SchemaSuite, AgreesWithEveryTest) {
  ASSERT_TRUE(fs::exists(suite_folder() / GetParam())) << suite_folder() << " has no such draft.";
  const Outcome outcome = run_draft(GetParam());
  std::string failed;
  for (const std::string& one : outcome.failed) failed += one + "\n";
  EXPECT_EQ(failed, "");
  EXPECT_GT(outcome.passed, 700U);
  EXPECT_LT(outcome.left_out, 40U);
  RecordProperty("passed", static_cast<int>(outcome.passed));
  std::cout << GetParam() << ": " << outcome.passed << " passed, " << outcome.left_out
            << " ask for documents from elsewhere\n";
}

INSTANTIATE_TEST_SUITE_P(Drafts, SchemaSuite, testing::Values("draft2020-12", "draft7"),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           name.erase(std::remove(name.begin(), name.end(), '-'), name.end());
                           return name;
                         });

}  // namespace
}  // namespace millrace::schema
