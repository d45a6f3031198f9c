// The texts of a run's own agent: each whole one is a message.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_tree.hpp"
#include "chat/job_actions.hpp"
#include "event/event.hpp"

namespace millrace::chat {

// A text that a model request may still take back is a message only once the request is over. Texts
// of an agent that is a function are messages at once; they are taken back where the function
// begins again after its process ended.
class JobTexts {
 public:
  explicit JobTexts(JobActions& actions) : actions_(actions) {}

  void begin(const event::TextStart& start, std::string_view extra);
  void add(const event::TextDelta& delta);
  void end(const event::TextEnd& end, std::string_view extra);
  // A request was sent: what follows may be taken back.
  void hold() { is_held_ = true; }
  // Nothing before this is taken back any more.
  void release();
  void reset(const event::Reset& reset);

 private:
  struct Text {
    std::string id;
    std::uint64_t index = 0;
    std::string text;
    json::Tree members = json::Tree::object();  // of its deltas
    json::Tree attachments = json::Tree::array();
  };
  void report(const Text& text);
  void take_back(const Text& text);
  void take_back_reported(const std::vector<std::string>& ids);

  JobActions& actions_;
  std::map<std::string, Text, std::less<>> open_;
  std::vector<Text> ended_;
  std::map<std::string, std::uint64_t, std::less<>> at_once_;  // indices of messages, by id
  std::uint64_t next_ = 0;
  bool is_held_ = false;
};

}  // namespace millrace::chat
