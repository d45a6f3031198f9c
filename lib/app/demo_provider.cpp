#include "app/demo_provider.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "base/json_depth.hpp"
#include "os/timer.hpp"

namespace millrace::app {
namespace {

constexpr std::chrono::milliseconds chunk_interval{60};

// The records of one answer, written one at a time.
class Script {
 public:
  void delta(std::string_view members) {
    record(R"({"choices":[{"index":0,"delta":{)" + std::string(members) + "}}]}");
  }
  void words(std::string_view key, std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find(' ', 1), text.size());
      std::string members;
      json::append_member(members, key, text.substr(0, end));
      delta(members);
      text.remove_prefix(end);
    }
  }
  void finish(std::string_view reason, std::size_t input_words) {
    record(R"({"choices":[{"index":0,"delta":{},"finish_reason":")" + std::string(reason) +
           "\"}]}");
    const std::size_t output = records_.size();
    record(R"({"choices":[],"usage":{"prompt_tokens":)" + std::to_string(input_words) +
           R"(,"completion_tokens":)" + std::to_string(output) + R"(,"total_tokens":)" +
           std::to_string(input_words + output) + "}}");
    records_.emplace_back("data: [DONE]\n\n");
  }
  void record(const std::string& json) { records_.push_back("data: " + json + "\n\n"); }
  std::vector<std::string> take() { return std::move(records_); }

 private:
  std::vector<std::string> records_;
};

bool contains(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

struct Question {
  std::string text;         // of the last user message
  std::string tool_result;  // set when the last message is a tool's
  std::size_t words = 0;
  std::set<std::string, std::less<>> tools;  // names of those that are offered
};

Question read_question(std::string_view body) {
  Question question;
  json::Document document(json::data_depth_limit);
  const auto parsed = document.parse(body);
  if (!parsed) return question;
  for (const json::Value tool : parsed.value()["tools"].items()) {
    question.tools.emplace(tool["function"]["name"].string());
  }
  for (const json::Value message : parsed.value()["messages"].items()) {
    const std::string_view role = message["role"].string();
    const json::Value content = message["content"];
    std::string text(content.string());
    for (const json::Value part : content.items()) text.append(part["text"].string());
    question.words += 1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), ' '));
    question.tool_result.clear();
    if (role == "user") question.text = text;
    if (role == "tool") question.tool_result = text;
  }
  return question;
}

// `pieces` of the arguments stand as they are in a JSON string.
void call_tool(Script& script, std::string_view name,
               std::initializer_list<std::string_view> pieces) {
  script.delta(R"("tool_calls":[{"index":0,"id":"call_demo","type":"function",)"
               R"("function":{"name":")" +
               std::string(name) + R"(","arguments":""}}])");
  for (const std::string_view piece : pieces) {
    script.delta(R"("tool_calls":[{"index":0,"function":{"arguments":")" + std::string(piece) +
                 R"("}}])");
  }
}

std::vector<std::string> answer(const Question& question) {
  Script script;
  script.delta(R"("role":"assistant","content":"")");
  if (!question.tool_result.empty()) {
    script.words("content",
                 "[demo] The tool answered: " + question.tool_result +
                     ". A real model would now use it to write the answer you asked for, "
                     "in its own words and at its own pace.");
    script.finish("stop", question.words);
    return script.take();
  }
  if (contains(question.text, {"reason", "think"})) {
    script.words("reasoning_content",
                 "The user wants to see reasoning. First I look at the question, then I write.");
  }
  if (contains(question.text, {"postcard"}) && question.tools.contains("send_postcard")) {
    script.words("content", "[demo] I write a postcard; a person may read it before it goes.");
    call_tool(script, "send_postcard", {"{\\\"to\\\":\\\"Ada\\\",", "\\\"text\\\":\\\"Hello\\\"}"});
    script.finish("tool_calls", question.words);
    return script.take();
  }
  if (contains(question.text, {"tool", "weather"})) {
    script.words("content",
                 "[demo] I look that up with a tool, as a model with tools would do it "
                 "before it answers.");
    // The client's own tool comes first.
    const bool is_server =
        !question.tools.contains("get_weather") && question.tools.contains("look_up_weather");
    call_tool(script, is_server ? "look_up_weather" : "get_weather",
              {"{\\\"city\\\":", "\\\"Paris\\\"}"});
    script.finish("tool_calls", question.words);
    return script.take();
  }
  if (contains(question.text, {"fail"})) {
    script.words("content", "[demo] This answer breaks off in the middle of");
    script.record(R"({"error":{"message":"The demo provider failed as it was asked to.",)"
                  R"("code":"demo_failure"}})");
    return script.take();
  }
  script.words("content",
               "[demo] You said: \"" + question.text +
                   "\". No model is configured, so this text comes from a provider inside "
                   "Millrace that streams word by word like a real one.");
  script.finish("stop", question.words);
  return script.take();
}

// Writes the records of one answer at a steady pace.
class Player : public std::enable_shared_from_this<Player> {
 public:
  Player(os::EventLoop& loop, std::shared_ptr<http::ResponseStream> response,
         std::vector<std::string> records)
      : response_(std::move(response)),
        records_(std::move(records)),
        timer_(loop, [this] { step(); }) {}

  void start() {
    if (!response_->start(200, {{"Content-Type", "text/event-stream"}})) return;
    response_->on_close([self = shared_from_this()]() mutable { self->timer_.cancel(); });
    step();
  }

 private:
  void step() {
    const auto self = shared_from_this();
    response_->write(records_[next_++]);
    if (next_ < records_.size()) {
      timer_.start_at(os::Timer::Clock::now() + chunk_interval);
    } else {
      response_->end();
    }
  }

  std::shared_ptr<http::ResponseStream> response_;
  std::vector<std::string> records_;
  std::size_t next_ = 0;
  os::Timer timer_;
};

}  // namespace

http::Router demo_provider(os::EventLoop& loop) {
  const auto handler = [&loop](http::Request&& request,
                               std::shared_ptr<http::ResponseStream> response) {
    const Question question = read_question(request.body);
    if (contains(question.text, {"refuse"})) {
      (void)response->send(
          500, {{"Content-Type", "application/json"}},
          R"({"error":{"message":"The demo provider refused as it was asked to."}})");
      return;
    }
    std::make_shared<Player>(loop, std::move(response), answer(question))->start();
  };
  return http::Router({{"POST", "/chat/completions", handler}});
}

}  // namespace millrace::app
