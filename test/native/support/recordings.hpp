// Recorded streams of real providers.
//
// They stand beside the repository in ../shared/recordings, or where MILLRACE_RECORDINGS says;
// tests skip without them.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "adapter/wires.hpp"
#include "base/json.hpp"
#include "support/aws_event_stream.hpp"
#include "support/source_folder.hpp"

namespace millrace::test {

inline std::filesystem::path recordings_folder() {
  if (const char* given = std::getenv("MILLRACE_RECORDINGS")) return given;
  return source_folder() / ".." / "shared" / "recordings";
}

inline std::vector<std::filesystem::path> recordings() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(recordings_folder())) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

inline std::string_view wire_of(const json::Value& record) {
  if (record["choices"].is_array()) return "openai_chat";
  if (record["candidates"].is_array()) return "gemini";
  if (record["event_type"].is_string()) return "gemini_interactions";
  const std::string_view type = record["type"].string();
  if (type.starts_with("response.") || type == "error") return "openai_responses";
  if (type == "message-start") return "cohere";
  for (const json::Member& member : record.members()) {
    if (member.key == "messageStart" || member.key.starts_with("contentBlock")) {
      return "bedrock_converse";
    }
  }
  return type == "message_start" ? "anthropic" : "";
}

// One line in the framing of its wire. A line of Bedrock is an object whose only member is the
// event.
inline std::string framed(std::string_view wire, const std::string& line,
                          const json::Value& record) {
  if (wire == "bedrock_converse") {
    std::string body;
    for (const auto& [name, value] : record.members()) {
      body += aws_message({{":message-type", "event"},
                           {":event-type", name},
                           {":content-type", "application/json"}},
                          value.to_json(json::Surrogates::keep));
    }
    return body;
  }
  std::string_view type = record["type"].string();
  if (type.empty()) type = record["event_type"].string();
  std::string body;
  if (!type.empty()) body.append("event: ").append(type).append("\n");
  return body.append("data: ").append(line).append("\n\n");
}

// A recording with its framing. `wire` is nullptr when no adapter reads it.
struct Recording {
  std::string name;
  const adapter::Wire* wire = nullptr;
  std::string body;
};

inline Recording read_recording(const std::filesystem::path& file) {
  Recording result;
  result.name = file.filename().string();
  std::ifstream stream(file);
  json::Document document;
  for (std::string line; std::getline(stream, line);) {
    const auto record = document.parse(line);
    if (record && result.wire == nullptr) {
      result.wire = adapter::find_wire(wire_of(record.value()));
    }
    const std::string_view wire = result.wire == nullptr ? "" : result.wire->name;
    result.body += framed(wire, line, record ? record.value() : json::Value());
  }
  return result;
}

}  // namespace millrace::test
