#include "adapter/ollama.hpp"

#include <array>

#include "adapter/usage.hpp"

namespace millrace::adapter {
namespace {

constexpr std::string_view provider = "ollama";

// Members of the last record that count something; times are in nanoseconds.
constexpr std::array<std::string_view, 6> counts{"prompt_eval_count",    "eval_count",
                                                 "prompt_eval_duration", "eval_duration",
                                                 "load_duration",        "total_duration"};

}  // namespace

bool Ollama::on_record(std::string_view /*name*/, const json::Value& record) {
  if (const auto error = error_of(record)) {
    services_.parts.fail(error->code, error->message);
    return true;
  }
  const json::Value message = record["message"];
  const json::Value response = record["response"];
  const bool done = record["done"].is_true();
  if (!message.is_object() && !response.is_string() && !done) return false;
  if (message.is_object()) {
    on_message(message);
  } else {
    answer_.thought(record["thinking"].string());
    answer_.text(response.string());
  }
  if (done && !done_) on_done(record);
  return true;
}

void Ollama::on_message(const json::Value& message) {
  answer_.thought(message["thinking"].string());
  answer_.text(message["content"].string());
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
  if (usage.size() > 2) {
    parts.pass(read_usage(UsageDialect::ollama, provider, record["model"].string(), record, usage));
  }
  if (const auto sentence = cut_sentence(reason)) parts.fail(reason, *sentence);
}

}  // namespace millrace::adapter
