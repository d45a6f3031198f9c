#include "adapter/bedrock_converse.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "adapter/usage.hpp"
#include "base/base64.hpp"
#include "base/error.hpp"
#include "framing/aws_event_stream.hpp"

namespace millrace::adapter {
namespace {

constexpr std::string_view bedrock_provider = "bedrock";

constexpr std::array<std::pair<std::string_view, std::string_view>, 6> bedrock_sentences{{
    {"max_tokens", "The response was cut off because it reached the maximum output length."},
    {"guardrail_intervened", "The response was stopped by a guardrail."},
    {"content_filtered", filter_sentence},
    {"malformed_model_output", "The model made a response that cannot be read."},
    {"malformed_tool_use", "The model made a tool call that cannot be read."},
    {"model_context_window_exceeded",
     "The response was cut off because the model's context window is full."},
}};

// What has events of its own, and padding.
constexpr std::array<std::string_view, 5> bedrock_left_out{"output", "stopReason", "usage", "role",
                                                           "p"};

// What Bedrock says of an error, and what the model's own server said.
std::string error_sentence(const json::Value& error, std::string_view otherwise) {
  std::string message = read_error(error, otherwise).message;
  const auto original = error["originalMessage"].filled_string();
  if (original && *original != message) message.append(" (").append(*original).append(")");
  return message;
}

// The value that AG-UI clients keep: it names the API, since only that one understands it.
std::string labelled(std::string_view key, std::string_view value) {
  std::string out = R"({"bedrock":{)";
  json::append_member(out, key, value, json::Surrogates::keep);
  return out + "}}";
}

}  // namespace

struct BedrockConverse::Row {
  std::string_view name;
  Handler handler;
};

bool BedrockConverse::on_event(std::string_view name, const json::Value& value) {
  static constexpr std::array<Row, 6> rows{{
      {"contentBlockDelta", &BedrockConverse::on_block_delta},
      {"contentBlockStart", &BedrockConverse::on_block_start},
      {"contentBlockStop", &BedrockConverse::on_block_stop},
      {"messageStart", &BedrockConverse::on_message_start},
      {"messageStop", &BedrockConverse::on_message_stop},
      {"metadata", &BedrockConverse::on_metadata},
  }};
  const auto* row =
      std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.name == name; });
  if (row == rows.end()) return false;
  (this->*row->handler)(value);
  return true;
}

bool BedrockConverse::on_record(std::string_view name, const json::Value& record) {
  if (name.starts_with(framing::AwsEventStreamFraming::failure_mark)) {
    name.remove_prefix(framing::AwsEventStreamFraming::failure_mark.size());
    tagged_.flush(*this);
    fail_as(name, record, "The provider ended the stream with an error.");
    return true;
  }
  if (on_event(name, record)) return true;
  if (const auto error = error_of(record)) {
    tagged_.flush(*this);
    fail_with(services_.parts, services_.mode, *error);
    return true;
  }
  if (record["output"]["message"].is_object()) {
    on_whole(record);
    return true;
  }
  for (const json::Member& member : record.members()) {
    if (member.value.is_object() && member.key.ends_with("Exception")) {
      tagged_.flush(*this);
      fail_as(member.key, member.value, member.key);
      return true;
    }
    if (member.value.is_object() && on_event(member.key, member.value)) return true;
  }
  return false;
}

void BedrockConverse::fail_as(std::string_view name, const json::Value& error,
                              std::string_view otherwise) {
  if (services_.facts != nullptr) {
    services_.facts->set_detail("originalStatusCode", error["originalStatusCode"]);
    services_.facts->set_detail("originalMessage", error["originalMessage"]);
  }
  services_.parts.fail(name, error_sentence(error, otherwise));
}

void BedrockConverse::note_facts(const json::Value& value) {
  if (services_.facts == nullptr) return;
  services_.facts->note(value, {}, bedrock_left_out);
  services_.facts->set("serviceTier", value["serviceTier"]["type"].string());
}

void BedrockConverse::on_message_start(const json::Value& /*value*/) {
  given_usage_ = {};
}

// The open block of this index; a text block may begin without a start.
BedrockConverse::Block& BedrockConverse::block_at(const json::Value& index, Kind kind) {
  const std::int64_t wanted = index.integer().value_or(-1);
  const auto found = std::find_if(blocks_.begin(), blocks_.end(),
                                  [&](const Block& block) { return block.index == wanted; });
  if (found != blocks_.end()) return *found;
  // Reasoning without a stop ends where the next block begins, so that it keeps its signature.
  if (!blocks_.empty() && blocks_.back().kind == Kind::reasoning) {
    close_block(blocks_.back());
    blocks_.pop_back();
  }
  // Those that give nothing to a reader count as well: each is looked for among all.
  if (blocks_.size() >= open_blocks_limit) fail_crowded(services_.parts);
  Block& block = blocks_.emplace_back();
  block.index = wanted;
  block.kind = kind;
  return block;
}

void BedrockConverse::on_block_start(const json::Value& value) {
  tagged_.flush(*this);
  const json::Value start = value["start"];
  const json::Value use = start["toolUse"];
  const json::Value result = start["toolResult"];
  on_block_stop(value);
  if (use.is_object()) open_call(block_at(value["contentBlockIndex"], Kind::call), use);
  if (result.is_object()) open_result(block_at(value["contentBlockIndex"], Kind::result), result);
  if (start["image"].is_object()) {
    add_image(block_at(value["contentBlockIndex"], Kind::image), start["image"]);
  }
}

void BedrockConverse::open_call(Block& block, const json::Value& use) {
  // Nova 2 gives the caller's tools a type as well: `tool_use`.
  const bool hosted = use["type"].string() == "server_tool_use";
  block.key = answer_.open_call(use["toolUseId"].string(), use["name"].string(), hosted);
  if (hosted) block.state = use.to_json();
}

void BedrockConverse::open_result(Block& block, const json::Value& result) {
  block.key = result["toolUseId"].string();
  block.failed = result["status"].string() == "error";
  block.state = "{";
  for (const json::Member& member : result.members()) {
    if (member.key != "content") json::append_member(block.state, member);
  }
  block.state.push_back('}');
  add_result(block, result["content"]);
}

// Models whose reasoning Bedrock does not take out of the text (Kimi K2, DeepSeek R1) say them
// first.
void BedrockConverse::on_piece(std::string_view text) {
  if (services_.mode == event::Mode::strict) {
    tagged_.feed(text, *this);
  } else {
    answer_.text(text);
  }
}

void BedrockConverse::on_block_delta(const json::Value& value) {
  const json::Value delta = value["delta"];
  const json::Value index = value["contentBlockIndex"];
  const json::Value reasoning = delta["reasoningContent"];
  if (const json::Value text = delta["text"]; text.is_string()) {
    block_at(index, Kind::text).cited.text.add(text.string());
    on_piece(text.string());
    return;
  }
  tagged_.flush(*this);
  if (reasoning.is_object()) {
    add_reasoning(block_at(index, Kind::reasoning), reasoning);
  } else if (const json::Value use = delta["toolUse"]; use.is_object()) {
    Block& block = block_at(index, Kind::call);
    const std::string_view piece = use["input"].string();
    if (block.key.empty()) return warn("Input for a block that is no call was skipped.", value);
    block.has_arguments = block.has_arguments || !piece.empty();
    block.balance.feed(piece);
    answer_.arguments(block.key, piece);
  } else if (const json::Value result = delta["toolResult"]; result.is_array()) {
    Block& block = block_at(index, Kind::result);
    if (block.key.empty()) return warn("A piece of a result of no call was skipped.", value);
    add_result(block, result);
  } else if (delta["image"].is_object()) {
    add_image(block_at(index, Kind::image), delta["image"]);
  } else if (const json::Value citation = delta["citation"]; citation.is_object()) {
    ++block_at(index, Kind::text).cited.citations;
    answer_.cite(citation.to_json());
  } else if (delta.size() > 0) {
    answer_.item(bedrock_provider, "content_block", delta.to_json());
  }
}

void BedrockConverse::add_reasoning(Block& block, const json::Value& content) {
  answer_.reasoning_part(content["text"].string());
  block.held.append(content["signature"].string());
  block.redacted.append(content["redactedContent"].string());
}

void BedrockConverse::add_result(Block& block, const json::Value& items) {
  for (const json::Value item : items.items()) {
    const json::Value json = item["json"];
    block.held.append(json.is_nothing() ? std::string(item["text"].string())
                                        : json.to_json(json::Surrogates::keep));
    const bool is_text = item.size() == 1 && item["text"].is_string();
    block.is_joined = block.is_joined || ++block.items > 1 || !is_text;
    if (!block.content.empty()) block.content.push_back(',');
    block.content.append(item.to_json(json::Surrogates::keep));
  }
}

// The format of an image comes with its start, the bytes with its deltas.
void BedrockConverse::add_image(Block& block, const json::Value& image) {
  const json::Value bytes = image["source"]["bytes"];
  if (bytes.is_string()) {
    block.has_bytes = true;
    const auto decoded = base64::decode(bytes.string());
    block.held.append(decoded ? *decoded : std::string());
  }
  for (const auto& [key, value] : image.members()) {
    if (value.is_null() || (key == "source" && bytes.is_string())) continue;
    json::append_member(block.state, json::Member{key, value});
  }
}

void BedrockConverse::close_image(const Block& block) {
  std::string json = R"({"image":{)" + block.state;
  if (block.has_bytes) {
    if (!block.state.empty()) json.push_back(',');
    json.append(R"("source":{)");
    json::append_member(json, "bytes", base64::encode(block.held));
    json.push_back('}');
  }
  answer_.item(bedrock_provider, "content_block", json + "}}");
}

void BedrockConverse::close_text(Block& block) {
  if (!block.cited.is_cited() && !block.has_no_citations) return;
  tagged_.flush(*this);
  if (answer_.text_bytes() < block.cited.text.size()) return;
  block.cited.begin = answer_.text_bytes() - block.cited.text.size();
  const std::string_view empty = block.has_no_citations ? R"("citations":[])" : "";
  services_.parts.pass(event::ProviderState{bedrock_provider, cited_text_kind, answer_.message_id(),
                                            block.cited.state(empty)});
}

// The content is kept where its text does not show the whole of it.
void BedrockConverse::close_result(Block& block) {
  answer_.result(block.key, block.held, block.failed);
  if (block.is_joined && block.state.size() > 1 && block.state.back() == '}') {
    block.state.pop_back();
    json::append_raw_member(block.state, "content", "[" + block.content + "]");
    block.state.push_back('}');
  }
  services_.parts.pass(
      event::ProviderState{bedrock_provider, "server_tool_result", block.key, block.state});
}

void BedrockConverse::on_block_stop(const json::Value& value) {
  const std::int64_t index = value["contentBlockIndex"].integer().value_or(-1);
  const auto found = std::find_if(blocks_.begin(), blocks_.end(),
                                  [&](const Block& block) { return block.index == index; });
  if (found == blocks_.end()) return;
  close_block(*found);
  blocks_.erase(found);
}

void BedrockConverse::close_block(Block& block) {
  switch (block.kind) {
    case Kind::reasoning:
      if (!block.held.empty()) answer_.keep_for_reasoning(labelled("signature", block.held));
      if (!block.redacted.empty()) {
        answer_.keep_for_reasoning(labelled("redactedContent", block.redacted));
      }
      if (block.held.empty() && block.redacted.empty()) answer_.mark_unsigned(bedrock_provider);
      answer_.end_reasoning();
      break;
    case Kind::call: {
      if (!block.has_arguments) answer_.arguments(block.key, "{}");
      const std::string id = answer_.call_id(block.key);
      answer_.end_call(block.key);
      if (!block.state.empty()) {
        services_.parts.pass(
            event::ProviderState{bedrock_provider, "server_tool", id, block.state});
      }
      break;
    }
    case Kind::result:
      if (!block.key.empty()) close_result(block);
      break;
    case Kind::image: close_image(block); break;
    // A text stays open: the next block may go on with it.
    case Kind::text: close_text(block); break;
  }
}

void BedrockConverse::warn(std::string_view sentence, const json::Value& record) {
  const std::string payload = redacted(record.to_json(), 256);
  services_.parts.pass(event::Warning{row_of(Errc::record_skipped).code, sentence, payload});
}

// None of them came to an end of its own.
void BedrockConverse::close_blocks() {
  for (Block& block : blocks_) {
    is_cut_ = is_cut_ || block.balance.is_cut();
    close_block(block);
  }
  blocks_.clear();
}

void BedrockConverse::on_message_stop(const json::Value& value) {
  tagged_.flush(*this);
  close_blocks();
  services_.parts.close_all();
  stop_reason_ = value["stopReason"].filled_string().value_or("end_turn");
  note_facts(value);
  services_.parts.pass(event::Finish{stop_reason_});
}

// Stands before or behind the end of the message.
void BedrockConverse::on_metadata(const json::Value& value) {
  note_facts(value);
  const json::Value usage = value["usage"];
  if (!usage.is_object()) return;
  const std::string reported = usage.to_json();
  if (!given_usage_.is_new({}, reported)) return;
  services_.parts.pass(read_usage(UsageDialect::bedrock, bedrock_provider, {}, usage, reported));
}

void BedrockConverse::on_whole(const json::Value& answer) {
  for (const json::Value content : answer["output"]["message"]["content"].items()) {
    give_block(content);
  }
  on_message_stop(answer);
  on_metadata(answer);
}

void BedrockConverse::give_block(const json::Value& content) {
  const json::Value use = content["toolUse"];
  const json::Value reasoning = content["reasoningContent"];
  const json::Value cited = content["citationsContent"];
  if (const json::Value text = content["text"]; text.is_string()) {
    on_piece(text.string());
    close_blocks();
    return;
  }
  tagged_.flush(*this);
  if (use.is_object()) {
    Block& block = block_at({}, Kind::call);
    open_call(block, use);
    if (const json::Value input = use["input"]; input.size() > 0) {
      block.has_arguments = true;
      answer_.arguments(block.key, input.to_json(json::Surrogates::keep));
    }
  } else if (reasoning.is_object()) {
    Block& block = block_at({}, Kind::reasoning);
    add_reasoning(block, reasoning["reasoningText"]);
    block.redacted = reasoning["redactedContent"].string();
  } else if (const json::Value result = content["toolResult"]; result.is_object()) {
    open_result(block_at({}, Kind::result), result);
  } else if (cited.is_object()) {
    Block& block = block_at({}, Kind::text);
    for (const json::Value piece : cited["content"].items()) {
      block.cited.text.add(piece["text"].string());
      answer_.text(piece["text"].string());
    }
    block.has_no_citations = cited["citations"].size() == 0;
    for (const json::Value citation : cited["citations"].items()) {
      ++block.cited.citations;
      answer_.cite(citation.to_json());
    }
  } else if (content.size() > 0) {
    answer_.item(bedrock_provider, "content_block", content.to_json());
  }
  close_blocks();
}

void BedrockConverse::on_end() {
  tagged_.flush(*this);
  const auto* row = std::find_if(bedrock_sentences.begin(), bedrock_sentences.end(),
                                 [&](const auto& r) { return r.first == stop_reason_; });
  if (row != bedrock_sentences.end()) return services_.parts.fail(stop_reason_, row->second);
  const Error cut = make_error(Errc::stream_truncated);
  if (is_cut_) services_.parts.fail(cut.code_name(), cut.message);
}

}  // namespace millrace::adapter
