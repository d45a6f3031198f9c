// Collects events as JSON lines.
#pragma once

#include <string>
#include <vector>

#include "event/codec.hpp"

namespace millrace::test {

class Collector final : public event::EventSink {
 public:
  explicit Collector(event::Spelling spelling = {event::Extras::diagnostic, json::Surrogates::keep,
                                                 true, true})
      : spelling_(spelling) {}
  void on_event(const event::Event& event) override {
    std::string line;
    event::write_json(line, event, spelling_);
    lines.push_back(std::move(line));
  }
  // The events, one a line; those whose type starts with "@" only on request.
  [[nodiscard]] std::string text(bool diagnostics = false) const {
    std::string out;
    for (const std::string& line : lines) {
      if (diagnostics || !line.starts_with(R"({"type":"@)")) out.append(line).append("\n");
    }
    return out;
  }

  std::vector<std::string> lines;

 private:
  event::Spelling spelling_;
};

}  // namespace millrace::test
