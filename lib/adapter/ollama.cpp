#include "adapter/ollama.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "adapter/invoked_calls.hpp"
#include "adapter/usage.hpp"

namespace millrace::adapter {
namespace {

constexpr std::string_view ollama_provider = "ollama";

// Members of the last record that count something; times are in nanoseconds.
constexpr std::array<std::string_view, 6> counts{"prompt_eval_count",    "eval_count",
                                                 "prompt_eval_duration", "eval_duration",
                                                 "load_duration",        "total_duration"};

constexpr std::array ollama_fact_names{FactName{"model", "model"}};
constexpr std::array<std::string_view, 15> ollama_left_out{"message",
                                                           "response",
                                                           "thinking",
                                                           "done",
                                                           "done_reason",
                                                           "logprobs",
                                                           "image",
                                                           "images",
                                                           "prompt_eval_count",
                                                           "eval_count",
                                                           "prompt_eval_duration",
                                                           "eval_duration",
                                                           "load_duration",
                                                           "total_duration",
                                                           "error"};

// The type of an image by its first bytes, in base64.
std::string_view image_type(std::string_view base64) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> types{
      {{"/9j/", "image/jpeg"}, {"R0lGOD", "image/gif"}, {"UklGR", "image/webp"}}};
  const auto* row = std::find_if(types.begin(), types.end(),
                                 [&](const auto& r) { return base64.starts_with(r.first); });
  return row == types.end() ? "image/png" : row->second;
}

}  // namespace

bool Ollama::on_record(std::string_view /*name*/, const json::Value& record) {
  if (const auto error = error_of(record)) {
    tagged_.flush(*this);
    fail_with(services_.parts, services_.mode, *error);
    return true;
  }
  const json::Value message = record["message"];
  const json::Value response = record["response"];
  const bool done = record["done"].is_true();
  const auto image = record["image"].filled_string();
  if (!message.is_object() && !response.is_string() && !image && !done) return false;
  if (message.is_object()) {
    on_message(message);
  } else {
    answer_.reasoning_part(record["thinking"].string());
    on_piece(response.string());
  }
  if (image) on_image(*image);
  for (const json::Value one : message["images"].items()) on_image(one.string());
  if (const json::Value logprobs = record["logprobs"]; services_.logprobs && logprobs.size() > 0) {
    services_.parts.pass(event::Logprobs{answer_.message_id(), logprobs.to_json()});
  }
  if (done && !done_) on_done(record);
  return true;
}

// As a chat completion shows one.
void Ollama::on_image(std::string_view base64) {
  if (base64.empty()) return;
  tagged_.flush(*this);
  std::string url = "data:";
  url.append(image_type(base64)).append(";base64,").append(base64);
  std::string state = R"({"type":"image_url","image_url":{)";
  json::append_member(state, "url", url);
  services_.parts.pass(
      event::ProviderState{ollama_provider, "image", answer_.message_id(), state + "}}"});
}

void Ollama::on_piece(std::string_view text) {
  if (services_.mode == event::Mode::strict) {
    tagged_.feed(text, *this);
  } else {
    answer_.text(text);
  }
}

// `{"name": .., "arguments": {..}}`, as Qwen's and Hermes' models write it, or elements as
// MiniMax's do; one of these may stand alone, and lacks its end then.
bool Ollama::on_call(std::string_view content) {
  const bool is_alone =
      content.starts_with("<invoke ") && content.find(invoked_call_end) == std::string_view::npos;
  const std::vector<InvokedCall> invoked = read_invoked_calls(
      std::string(content).append(is_alone ? invoked_call_end : std::string_view()));
  for (const InvokedCall& call : invoked) answer_.whole_call({}, call.name, call.arguments_json);
  if (!invoked.empty()) return true;
  json::Document document;
  const auto parsed = document.parse(json::trim(content));
  if (!parsed) return false;
  const json::Value call = parsed.value();
  const auto name = call["name"].filled_string();
  if (!name) return false;
  json::Value arguments = call["arguments"];
  if (arguments.is_nothing()) arguments = call["parameters"];
  std::string json(arguments.string());
  if (!arguments.is_string() && !arguments.is_nothing()) {
    json = arguments.to_json(json::Surrogates::keep);
  }
  answer_.whole_call({}, *name, json);
  return true;
}

void Ollama::on_message(const json::Value& message) {
  answer_.reasoning_part(message["thinking"].string());
  on_piece(message["content"].string());
  if (message["tool_calls"].size() > 0) tagged_.flush(*this);
  for (const json::Value call : message["tool_calls"].items()) {
    const json::Value function = call["function"];
    const json::Value arguments = function["arguments"];
    std::string json(arguments.string());
    if (!arguments.is_string() && !arguments.is_nothing()) {
      json = arguments.to_json(json::Surrogates::keep);
    }
    answer_.whole_call(call["id"].string(), function["name"].string(), json);
  }
}

void Ollama::on_done(const json::Value& record) {
  done_ = true;
  tagged_.flush(*this);
  if (services_.facts != nullptr) {
    services_.facts->note(record, ollama_fact_names, ollama_left_out);
  }
  event::PartTracker& parts = services_.parts;
  parts.close_all();
  const std::string_view reason = record["done_reason"].filled_string().value_or("stop");
  parts.pass(event::Finish{reason});
  std::string usage = "{";
  for (const std::string_view key : counts) {
    const json::Value count = record[key];
    if (count.is_number()) json::append_raw_member(usage, key, count.number_text());
  }
  usage.push_back('}');
  if (usage.size() > 2 && given_usage_.is_new({}, usage)) {
    parts.pass(
        read_usage(UsageDialect::ollama, ollama_provider, record["model"].string(), record, usage));
  }
  if (const auto sentence = cut_sentence(reason)) parts.fail(reason, *sentence);
}

}  // namespace millrace::adapter
