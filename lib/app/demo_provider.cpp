#include "app/demo_provider.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "base/json.hpp"
#include "base/json_depth.hpp"
#include "os/timer.hpp"
#include "schema/sample.hpp"

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

struct Offer {
  std::string name;
  std::string arguments;  // JSON text that follows its schema
};

struct Question {
  std::string text;         // of the last user message
  std::string tool_result;  // set when the last message is a tool's
  std::size_t words = 0;
  std::vector<Offer> tools;
  std::string wanted;  // the tool that has to be called
  std::string object;  // JSON text that follows the schema of the answer
};

const Offer* find_offer(const Question& question, std::string_view name) {
  const auto found = std::find_if(question.tools.begin(), question.tools.end(),
                                  [&](const Offer& offer) { return offer.name == name; });
  return found == question.tools.end() ? nullptr : &*found;
}

// Words alone, in lower case, with a blank around each: "Use send_mail!" is " use send mail ".
std::string plain_words(std::string_view text) {
  std::string out = " ";
  for (const char c : lowered(text)) {
    const bool is_apart =
        static_cast<unsigned char>(c) < 0x80 && !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'));
    if (!is_apart) {
      out.push_back(c);
    } else if (out.back() != ' ') {
      out.push_back(' ');
    }
  }
  if (out.back() != ' ') out.push_back(' ');
  return out;
}

// The tool that is called: one that has to be, one that the question names, or the one that its
// words stand for. None is called that is not offered.
const Offer* chosen_tool(const Question& question) {
  if (question.tools.empty() || question.wanted == "none") return nullptr;
  if (const Offer* wanted = find_offer(question, question.wanted)) return wanted;
  const std::string received = plain_words(question.text);
  const Offer* named = nullptr;
  for (const Offer& offer : question.tools) {
    const bool is_longer = named == nullptr || offer.name.size() > named->name.size();
    if (is_longer && received.find(plain_words(offer.name)) != std::string::npos) named = &offer;
  }
  if (named != nullptr) return named;
  if (contains(question.text, {"postcard"})) {
    if (const Offer* postcard = find_offer(question, "send_postcard")) return postcard;
  }
  const bool wants_any = contains(question.text, {"tool"}) || question.wanted == "required";
  if (wants_any || contains(question.text, {"weather"})) {
    // The client's own tool comes before the demo's.
    for (const std::string_view name : {"get_weather", "look_up_weather"}) {
      if (const Offer* weather = find_offer(question, name)) return weather;
    }
  }
  return wants_any ? &question.tools.front() : nullptr;
}

Question read_question(std::string_view body) {
  Question question;
  json::Document document(json::data_depth_limit);
  const auto parsed = document.parse(body);
  if (!parsed) return question;
  for (const json::Value tool : parsed.value()["tools"].items()) {
    const json::Value function = tool["function"];
    question.tools.push_back(
        {std::string(function["name"].string()), schema::sample_json(function["parameters"])});
  }
  const json::Value choice = parsed.value()["tool_choice"];
  question.wanted = choice.is_string() ? choice.string() : choice["function"]["name"].string();
  const json::Value format = parsed.value()["response_format"];
  if (format["type"].string() == "json_schema") {
    question.object = schema::sample_json(format["json_schema"]["schema"]);
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

// The arguments come in two pieces, as those of a real model come in many.
void call_tool(Script& script, const Offer& offer) {
  std::string function = "{";
  json::append_member(function, "name", offer.name);
  json::append_member(function, "arguments", "");
  script.delta(R"("tool_calls":[{"index":0,"id":"call_demo","type":"function","function":)" +
               function + "}}]");
  const std::string_view arguments = offer.arguments;
  const std::size_t comma = arguments.find(',');
  const std::size_t first = comma == std::string_view::npos ? arguments.size() : comma + 1;
  for (const std::string_view piece : {arguments.substr(0, first), arguments.substr(first)}) {
    if (piece.empty()) continue;
    std::string text;
    json::append_string(text, piece);
    script.delta(R"("tool_calls":[{"index":0,"function":{"arguments":)" + text + "}}]");
  }
}

std::vector<std::string> answer(const Question& question) {
  Script script;
  script.delta(R"("role":"assistant","content":"")");
  if (!question.tool_result.empty()) {
    const char* const stop = question.tool_result.ends_with('.') ? "" : ".";
    script.words("content", "[demo] The tool answered: " + question.tool_result + stop +
                                " A real model would now use it to write the answer you asked for, "
                                "in its own words and at its own pace.");
    script.finish("stop", question.words);
    return script.take();
  }
  if (contains(question.text, {"reason", "think"})) {
    script.words("reasoning_content",
                 "The user wants to see reasoning. First I look at the question, then I write.");
  }
  if (const Offer* offer = chosen_tool(question)) {
    script.words("content", offer->name == "send_postcard"
                                ? "[demo] I write a postcard; a person may read it before it goes."
                                : "[demo] I use a tool, as a model with tools would do it before "
                                  "it answers.");
    call_tool(script, *offer);
    script.finish("tool_calls", question.words);
    return script.take();
  }
  if (!question.object.empty()) {
    script.words("content", question.object);
    script.finish("stop", question.words);
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
