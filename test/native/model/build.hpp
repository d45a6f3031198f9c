// Builds chats for the tests of the model room.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "base/json.hpp"
#include "model/payload/request.hpp"

namespace millrace::test {

// 2015-08-30 12:36:00 UTC, the time of AWS's examples.
inline constexpr std::chrono::system_clock::time_point test_time{
    std::chrono::seconds(1'440'938'160)};

// What every provider's address and proof may need; `more` are further members `"key":value,...`.
inline std::string settings_of(std::string_view provider, std::string_view more = {}) {
  std::string text = "{";
  json::append_member(text, "provider", provider);
  json::append_member(text, "apiKey", "test-key");
  json::append_member(text, "project", "test-project");
  json::append_member(text, "accountId", "test-account");
  if (!more.empty()) text.append(",").append(more);
  return text + "}";
}

inline Result<model::ChatRequest> build(std::string_view settings, std::string_view payload) {
  CountingIds ids("id-");
  auto config = model::read_config(settings);
  if (!config) return std::move(config).error();
  auto read = model::read_payload(payload, ids);
  if (!read) return std::move(read).error();
  return model::build_chat(config.value(), read.value(), ids, {test_time, 0, "test-token"});
}

// A conversation on Bedrock; `more` are further members `"key":value,...`.
inline Result<model::ChatRequest> converse(std::string_view model, std::string_view messages,
                                           std::string_view more = {}) {
  std::string payload = "{";
  json::append_member(payload, "model", model);
  json::append_raw_member(payload, "messages", messages);
  payload.append(more.empty() ? "" : ",").append(more);
  return build(
      settings_of("bedrock", R"("apiKey":"","accessKeyId":"AKIDEXAMPLE","secretAccessKey":"s")"),
      payload + "}");
}

inline bool has(std::string_view text, std::string_view piece) {
  return text.find(piece) != std::string_view::npos;
}

// A payload with one question; `more` are further members `"key":value,...`.
inline std::string question(std::string_view model, std::string_view more = {}) {
  std::string text = "{";
  json::append_member(text, "model", model);
  text.append(R"(,"messages":[{"role":"user","content":"Hi"}])");
  if (!more.empty()) text.append(",").append(more);
  return text + "}";
}

inline std::string body_of(const Result<model::ChatRequest>& built) {
  return built ? built.value().request.body : built.error().message;
}

inline std::string header_of(const net::Request& request, std::string_view name) {
  for (const net::Header& header : request.headers) {
    if (header.name == name) return header.value;
  }
  return {};
}

// What the second request has otherwise than the first: members of the body, the address, notes,
// one behind the other, or "".
inline std::string change_between(const model::ChatRequest& before,
                                  const model::ChatRequest& after) {
  std::string text;
  const auto add = [&](std::string_view line) {
    text.append(text.empty() ? "" : " | ").append(line);
  };
  json::Document old_body(512);
  json::Document new_body(512);
  const auto was = old_body.parse(before.request.body);
  const auto is = new_body.parse(after.request.body);
  if (!was || !is) return "not JSON";
  for (const auto& [key, value] : is.value().members()) {
    const json::Value known = was.value()[std::string_view(key)];
    if (known.exists() && known.to_json() == value.to_json()) continue;
    add(std::string(key) + ": " + value.to_json());
  }
  for (const auto& [key, value] : was.value().members()) {
    if (!is.value()[std::string_view(key)].exists()) add("no " + std::string(key));
  }
  if (before.request.url != after.request.url) add(after.request.url);
  std::multiset<std::string> known;
  for (const model::Note& note : before.notes) known.insert(note.what + note.sentence);
  for (const model::Note& note : after.notes) {
    if (const auto row = known.find(note.what + note.sentence); row != known.end()) {
      known.erase(row);
    } else {
      add("note " + note.what + ": " + note.sentence);
    }
  }
  return text;
}

}  // namespace millrace::test
