// What every provider of the table gets for reasoning and for an object, as a golden file: the
// columns of docs/providers.md are made of it. MILLRACE_WRITE_GOLDEN=1 writes the file anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "model/build.hpp"
#include "model/provider/dialects.hpp"
#include "model/schema/object.hpp"
#include "support/source_folder.hpp"

namespace millrace {
namespace {

constexpr std::string_view schema =
    R"({"type":"object","properties":{"a":{"type":"string"}},"required":["a"]})";

std::string path() {
  return test::source_folder().string() + "/test/golden/model/settings.json";
}

std::string settings_for(const model::Provider& row) {
  if (row.auth == model::Auth::aws_sigv4) {
    return test::settings_of(
        row.id, R"("apiKey":"","accessKeyId":"AKIDEXAMPLE","secretAccessKey":"test-secret")");
  }
  if (row.auth == model::Auth::vertex) return test::settings_of(row.id, R"("apiKey":"{}")");
  const bool needs_address = row.base_url.empty();
  return test::settings_of(row.id, needs_address ? R"("baseURL":"https://gateway.example")" : "");
}

std::string model_of(const model::Provider& row) {
  return row.models.empty() ? "m" : std::string(row.models.substr(0, row.models.find(',')));
}

// The change that these members of a payload make.
std::string change(const model::Provider& row, std::string_view more, std::string_view base = {}) {
  const std::string both = std::string(base) + (base.empty() || more.empty() ? "" : ",");
  const auto before = test::build(settings_for(row), test::question(model_of(row), base));
  const auto after =
      test::build(settings_for(row), test::question(model_of(row), both + std::string(more)));
  if (!before || !after) return "refused";
  return test::change_between(before.value(), after.value());
}

// The members of a payload that ask for an object.
std::string object_members(const model::Provider& row) {
  auto config = model::read_config(settings_for(row));
  if (!config) return {};
  std::string request = "{";
  json::append_member(request, "model", model_of(row));
  json::append_raw_member(request, "schema", schema);
  const auto plan = model::plan_object(config.value(), request + "}");
  if (!plan) return {};
  json::Document document;
  const auto parsed = document.parse(plan.value());
  if (!parsed) return {};
  std::string members;
  for (const auto& [key, value] : parsed.value()["payload"].members()) {
    members.append(members.empty() ? "" : ",");
    json::append_string(members, key);
    members.append(":").append(value.to_json());
  }
  return members;
}

std::string line_of(const model::Provider& row) {
  std::string line = "{";
  json::append_member(line, "effort", change(row, R"("reasoning_effort":"low")"));
  json::append_member(line, "on",
                      change(row, R"("thinking":{"type":"enabled","budget_tokens":2048})"));
  json::append_member(line, "off", change(row, R"("thinking":{"type":"disabled"})"));
  if (row.quirks.has(model::Quirk::responses_api)) {
    json::append_member(line, "responses",
                        change(row, R"("reasoning_effort":"low")", R"("apiMode":"responses")"));
  }
  json::append_member(line, "object", change(row, object_members(row)));
  return line + "}";
}

std::string table() {
  std::string text;
  for (const model::Provider& row : model::providers()) {
    if (row.dialect == model::Dialect::none || row.id == "demo") continue;
    text.append(text.empty() ? "{\n  " : ",\n  ");
    json::append_string(text, row.id);
    text.append(": ").append(line_of(row));
  }
  return text + "\n}\n";
}

TEST(ProviderSettings, AreAsWritten) {
  const std::string expected = table();
  if (std::getenv("MILLRACE_WRITE_GOLDEN") != nullptr) std::ofstream(path()) << expected;
  std::ostringstream written;
  written << std::ifstream(path()).rdbuf();
  EXPECT_EQ(written.str(), expected);
}

// An object can be asked of every provider that chats.
TEST(ProviderSettings, AskForAnObjectEverywhere) {
  for (const model::Provider& row : model::providers()) {
    if (row.dialect == model::Dialect::none || row.id == "demo") continue;
    const std::string received = change(row, object_members(row));
    EXPECT_TRUE(!received.empty() && !received.starts_with("note") && received != "refused")
        << row.id << ": " << received;
  }
}

}  // namespace
}  // namespace millrace
