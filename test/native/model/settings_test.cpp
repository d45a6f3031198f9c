// What every provider of the table gets for reasoning and for an object, as a golden file: the
// columns of docs/providers.md are made of it. MILLRACE_WRITE_GOLDEN=1 writes the file anew.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

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

// A model that goes another way than its provider's others, by how its name begins.
std::string model_of(const model::Route& route) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> ends{
      {{"claude", "-sonnet-4-5"}, {"gemini", "-2.5-flash"}, {"minimax", "-m2"}}};
  std::string name(route.model);
  for (const auto& [begin, end] : ends) {
    if (begin == name) return name.append(end);
  }
  return name;
}

// The change that these members of a payload make.
std::string change(const model::Provider& row, std::string_view more, std::string_view base = {},
                   const std::string& model = {}) {
  const std::string& name = model.empty() ? model_of(row) : model;
  const std::string both = std::string(base) + (base.empty() || more.empty() ? "" : ",");
  const auto before = test::build(settings_for(row), test::question(name, base));
  const auto after = test::build(settings_for(row), test::question(name, both + std::string(more)));
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

constexpr std::string_view low = R"("reasoning_effort":"low")";
constexpr std::string_view on = R"("thinking":{"type":"enabled","budget_tokens":2048})";
constexpr std::string_view off = R"("thinking":{"type":"disabled"})";

std::string line_of(const model::Provider& row) {
  std::string line = "{";
  json::append_member(line, "effort", change(row, low));
  json::append_member(line, "on", change(row, on));
  json::append_member(line, "off", change(row, off));
  if (row.quirks.has(model::Quirk::responses_api)) {
    json::append_member(line, "responses", change(row, low, R"("apiMode":"responses")"));
  }
  json::append_member(line, "object", change(row, object_members(row)));
  return line + "}";
}

// The same of what goes another way: by the model, or by the API that the payload names.
std::string line_of(const model::Provider& row, const model::Route& route) {
  const std::string mode =
      route.api_mode.empty() ? "" : R"("apiMode":")" + std::string(route.api_mode) + "\"";
  std::string line = "{";
  for (const auto& [name, more] :
       {std::pair{"effort", low}, std::pair{"on", on}, std::pair{"off", off}}) {
    json::append_member(line, name, change(row, more, mode, model_of(route)));
  }
  return line + "}";
}

std::string table() {
  std::string text;
  for (const model::Provider& row : model::providers()) {
    if (row.dialect == model::Dialect::none || row.id == "demo") continue;
    text.append(text.empty() ? "{\n  " : ",\n  ");
    json::append_string(text, row.id);
    text.append(": ").append(line_of(row));
    for (const model::Route& route : model::routes()) {
      if (route.provider != row.id) continue;
      text.append(",\n  ");
      json::append_string(text,
                          std::string(row.id).append(" ").append(
                              route.model.empty() ? std::string(route.api_mode) : model_of(route)));
      text.append(": ").append(line_of(row, route));
    }
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

// Every provider with models of every family, by each of its APIs: what a request does not take of
// the reasoning that was set is in its notes.
TEST(ProviderSettings, LeaveNoneOutInSilence) {
  constexpr std::array<std::string_view, 14> models{
      "",          "claude-sonnet-4-5", "claude-opus-4-7",  "claude-fable-5", "gpt-4o",
      "gpt-5",     "gpt-5.5",           "gemini-2.5-flash", "gemini-3-pro",   "deepseek-v4",
      "qwen3-32b", "kimi-k2.6",         "glm-4.6",          "grok-4.3"};
  constexpr std::array settings{low, on, std::string_view(R"("reasoning_effort":"max")"),
                                std::string_view(R"("reasoning":{"summary":"auto"})")};
  for (const model::Provider& row : model::providers()) {
    if (row.dialect == model::Dialect::none || row.id == "demo") continue;
    for (const std::string_view model : models) {
      for (const std::string_view setting : settings) {
        const std::string received = change(row, setting, {}, std::string(model));
        EXPECT_TRUE(!received.empty() && received != "refused")
            << row.id << " " << model << " " << setting << ": " << received;
      }
    }
  }
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
