// Gemini's contents -> canonical messages.

#include <algorithm>
#include <array>
#include <utility>

#include "format/gemini.hpp"
#include "format/gemini_parts.hpp"
#include "format/open_calls.hpp"
#include "format/read_order.hpp"
#include "format/retained.hpp"
#include "format/shape_tables.hpp"
#include "format/support.hpp"
#include "format/turns.hpp"
#include "message/parts.hpp"

namespace millrace::format {
namespace {

using message::Content;
using message::JsonBuilder;
using message::Message;
using message::Messages;
using message::Role;
using message::ToolCall;

bool is_text(const json::Value& part) {
  return part["text"].is_string() && !has_more_than(part, {"text"});
}

// User parts as content: a string when they are one text.
Content content_of(const std::vector<json::Value>& parts) {
  if (parts.size() == 1 && is_text(parts.front())) {
    return Content::of_text(parts.front()["text"].string());
  }
  JsonBuilder out;
  out.open_array();
  for (const json::Value& part : parts) gemini::read_part(out, part);
  out.close_array();
  return Content::of_parts(out.take());
}

void keep_part_members(message::Metadata& metadata, const std::string& members,
                       std::string_view kind = gemini::members_kind) {
  if (!members.empty()) metadata.add(gemini::provider, kind, members);
}

// Reads turns in order.
class GeminiReader {
 public:
  explicit GeminiReader(IdSource& ids) : ids_(ids) {}

  void read_system(const json::Value& system);
  void read_turn(const json::Value& turn);
  [[nodiscard]] Messages take() { return std::move(messages_); }

 private:
  using Handler = void (GeminiReader::*)(const json::Value& value, const json::Value& part);
  struct Row;
  static const Row* find_row(const json::Value& part);

  void read_user(const json::Value& parts);
  void read_item(const json::Value& part);
  void read_text(const json::Value& value, const json::Value& part);
  void read_call(const json::Value& value, const json::Value& part);
  void read_code(const json::Value& value, const json::Value& part);
  void read_code_result(const json::Value& value, const json::Value& part);
  void read_response(const json::Value& value, const json::Value& part);

  Message& add(Role role);
  void add_call(ToolCall call);
  void add_user(std::vector<json::Value>& parts);
  void add_result(std::string_view call_id, const json::Value& output, bool failed);
  Message& assistant(bool before_calls);
  [[nodiscard]] bool can_take_text(bool is_signed, std::string_view members) const;
  std::string answered_id(const json::Value& response);

  IdSource& ids_;
  Messages messages_;
  std::string turn_id_;        // the stored id, for the turn's first message
  bool in_assistant_ = false;  // the last message takes what comes next
  OpenCalls open_;
  ReadOrder order_{ReadOrder::First::text};
  struct Code {
    std::string given_id;  // of the part, or ""
    std::size_t message;   // index of the message that holds the code
    std::size_t call;      // and of its call there
  };
  std::vector<Code> codes_;  // whose results are still to come
};

struct GeminiReader::Row {
  std::string_view member;
  Handler handler;
};

const GeminiReader::Row* GeminiReader::find_row(const json::Value& part) {
  static constexpr std::array<Row, 5> rows{{
      {"text", &GeminiReader::read_text},
      {"functionCall", &GeminiReader::read_call},
      {"executableCode", &GeminiReader::read_code},
      {"codeExecutionResult", &GeminiReader::read_code_result},
      {"functionResponse", &GeminiReader::read_response},
  }};
  const auto* row = std::find_if(rows.begin(), rows.end(),
                                 [&](const Row& r) { return !part[r.member].is_nothing(); });
  return row == rows.end() ? nullptr : row;
}

Message& GeminiReader::add(Role role) {
  Message& message = messages_.emplace_back();
  message.role = role;
  const bool takes_id = role == Role::user || role == Role::assistant;
  message.id = takes_id && !turn_id_.empty() ? std::exchange(turn_id_, {}) : ids_.next_id();
  return message;
}

void GeminiReader::read_system(const json::Value& system) {
  if (const auto text = system.filled_string()) add(Role::system).content = Content::of_text(*text);
  const std::size_t first = messages_.size();
  for (const json::Value part : system["parts"].items()) {
    Message& message = add(Role::system);
    message.content = Content::of_text(words_of(part));
    if (!is_text(part)) message.metadata.add(gemini::provider, block_kind, raw(part));
  }
  if (has_more_than(system, {"parts"}) && first < messages_.size()) {
    messages_[first].metadata.add(gemini::provider, gemini::system_kind,
                                  without(system, {"parts"}));
  }
}

void GeminiReader::read_turn(const json::Value& turn) {
  if (!turn.is_object()) return;
  turn_id_ = turn["id"].string();
  const json::Value parts = turn["parts"];
  const std::size_t first = messages_.size();
  constexpr std::string_view model = "model";
  if (turn["role"].string() != model) {
    read_user(parts);
    keep_turn(messages_, first, gemini::provider, turn, {"id", "role", "parts"});
    return;
  }
  in_assistant_ = false;
  for (const json::Value part : parts.items()) {
    if (const Row* row = find_row(part)) {
      (this->*row->handler)(part[row->member], part);
    } else if (part.size() > 0) {
      read_item(part);
    }
  }
  in_assistant_ = false;
  order_.close(messages_);
  keep_turn(messages_, first, gemini::provider, turn, {"id", "role", "parts"});
}

void GeminiReader::read_item(const json::Value& part) {
  message::Metadata& metadata = assistant(true).metadata;
  order_.add_item(messages_.size() - 1, metadata.provider_state.size());
  metadata.add(gemini::provider, "part", raw(part));
}

void GeminiReader::add_user(std::vector<json::Value>& parts) {
  if (parts.empty()) return;
  add(Role::user).content = content_of(parts);
  parts.clear();
}

void GeminiReader::read_user(const json::Value& parts) {
  std::vector<json::Value> own;
  for (const json::Value part : parts.items()) {
    const json::Value response = part["functionResponse"];
    if (!response.is_object()) {
      own.push_back(part);
      continue;
    }
    add_user(own);
    read_response(response, part);
  }
  add_user(own);
}

// The call that a response answers: the one it names, else the first of its tool that waits.
std::string GeminiReader::answered_id(const json::Value& response) {
  const std::string_view id = response["id"].string();
  const std::string_view name = response["name"].string();
  const auto answered = id.empty() ? open_.take_name(name) : open_.take_id(id);
  if (answered) return *answered;
  return id.empty() ? ids_.next_id() : std::string(id);
}

void GeminiReader::read_response(const json::Value& value, const json::Value& part) {
  const std::string id = answered_id(value);
  in_assistant_ = false;
  order_.add_result(id);
  Message& message = add(Role::tool);
  message.tool_call_id = id;
  gemini::Response response = gemini::read_response(value);
  message.content = std::move(response.content);
  if (response.failed) message.error = message::text_of(message.content);
  if (gemini::is_plain_response(part)) return;
  message.metadata.add(gemini::provider, gemini::response_kind, raw(part));
}

void GeminiReader::add_result(std::string_view call_id, const json::Value& output, bool failed) {
  Message& message = add(Role::tool);
  message.tool_call_id = call_id;
  message.content = Content::of_text(arguments_of(output));
  if (failed) message.error = message.content.text;
}

// The assistant message that takes the next part. Text does not follow calls in one message.
Message& GeminiReader::assistant(bool before_calls) {
  if (in_assistant_ && before_calls && !messages_.back().tool_calls.empty()) in_assistant_ = false;
  if (in_assistant_) return messages_.back();
  in_assistant_ = true;
  return add(Role::assistant);
}

// A signature closes its text, and a text without one does not become part of one with it; nor
// does one with further members of one that has others.
bool GeminiReader::can_take_text(bool is_signed, std::string_view members) const {
  if (!in_assistant_) return false;
  const Message& last = messages_.back();
  const auto* state = last.metadata.find(gemini::provider, gemini::members_kind);
  const std::string_view of_last = state == nullptr ? std::string_view() : state->json;
  if (message::has_content(last.content) && of_last != members) return false;
  return !last.encrypted_value && !(is_signed && message::has_content(last.content));
}

void GeminiReader::read_text(const json::Value& value, const json::Value& part) {
  const auto signature = part["thoughtSignature"].filled_string();
  const std::string members = gemini::members_of(part);
  const bool reasoning_part = part["thought"].is_true();
  const bool bare = value.string().empty() && signature;
  const bool spoken = in_assistant_ && messages_.back().tool_calls.empty() &&
                      message::has_content(messages_.back().content);
  if (reasoning_part || (bare && !(spoken && !messages_.back().encrypted_value))) {
    in_assistant_ = false;
    Message& message = add(Role::reasoning);
    message.content = Content::of_text(value.string());
    if (signature) {
      message.encrypted_value = gemini::encrypted_value(*signature);
    } else {
      mark_unsigned(message, gemini::provider);
    }
    keep_part_members(message.metadata, members);
    if (reasoning_part && bare) gemini::keep_signature_part(message.metadata, part);
    order_.add_reasoning(messages_.size() - 1);
    return;
  }
  if (!bare && !can_take_text(signature.has_value(), members)) in_assistant_ = false;
  Message& message = assistant(true);
  if (!value.string().empty()) order_.add_text(messages_.size() - 1, message.content.text.size());
  if (!message::has_content(message.content)) keep_part_members(message.metadata, members);
  message.content.kind = Content::Kind::text;
  message.content.text.append(value.string());
  if (signature) message.encrypted_value = gemini::encrypted_value(*signature);
  if (bare) gemini::keep_signature_part(message.metadata, part);
}

void GeminiReader::read_call(const json::Value& value, const json::Value& part) {
  ToolCall call;
  call.id = value["id"].filled_string() ? std::string(value["id"].string()) : ids_.next_id();
  call.name = value["name"].string();
  const json::Value args = value["args"];
  call.arguments = args.is_nothing() ? "{}" : read_arguments(args);
  if (const auto signature = part["thoughtSignature"].filled_string()) {
    call.encrypted_value = gemini::encrypted_value(*signature);
  }
  keep_part_members(call.metadata, gemini::members_of(part));
  if (value["id"].filled_string() && gemini::is_from_elsewhere(call.id)) {
    call.metadata.add(gemini::provider, gemini::call_id_kind, "true");
  }
  open_.add(call.id, call.name);
  add_call(std::move(call));
}

void GeminiReader::add_call(ToolCall call) {
  auto& calls = assistant(false).tool_calls;
  order_.add_call(messages_.size() - 1, calls.size(), call.id);
  calls.push_back(std::move(call));
}

void GeminiReader::read_code(const json::Value& value, const json::Value& part) {
  ToolCall call;
  call.id = value["id"].filled_string() ? std::string(value["id"].string()) : ids_.next_id();
  call.name = "code_execution";
  std::string arguments = "{";
  for (const std::string_view key : {"language", "code"}) {
    json::append_member(arguments, key, value[key].string(), json::Surrogates::keep);
  }
  call.arguments = arguments + "}";
  call.metadata.add(gemini::provider, "server_tool", raw(value));
  if (const auto signature = part["thoughtSignature"].filled_string()) {
    call.encrypted_value = gemini::encrypted_value(*signature);
  }
  keep_part_members(call.metadata, gemini::members_of(part));
  add_call(std::move(call));
  codes_.push_back({std::string(value["id"].string()), messages_.size() - 1,
                    messages_.back().tool_calls.size() - 1});
}

void GeminiReader::read_code_result(const json::Value& value, const json::Value& part) {
  if (codes_.empty()) return read_item(part);
  const std::string_view given = value["id"].string();
  const auto named = std::find_if(codes_.rbegin(), codes_.rend(), [&](const Code& code) {
    return !given.empty() && code.given_id == given;
  });
  const auto found = std::next(named == codes_.rend() ? codes_.rbegin() : named).base();
  ToolCall& call = messages_[found->message].tool_calls[found->call];
  codes_.erase(found);
  in_assistant_ = false;
  order_.add_result(call.id);
  std::string id = call.id;
  call.metadata.add(gemini::provider, "server_tool_result", raw(value));
  keep_part_members(call.metadata, gemini::members_of(part), gemini::result_members_kind);
  const std::string_view outcome = value["outcome"].string();
  add_result(id, value["output"], false);
  if (!outcome.empty() && outcome != "OUTCOME_OK") messages_.back().error = outcome;
}

}  // namespace

Result<Messages> read_gemini(const json::Value& data, IdSource& ids) {
  const json::Value turns = data.is_array() ? data : data["contents"];
  if (!turns.is_array()) {
    return not_a_list(
        "an array of contents, or an object with `contents` and perhaps `systemInstruction`", data);
  }
  constexpr MemberShape system_shape{"systemInstruction", a_string | an_object,
                                     &shapes::gemini_system};
  MILLRACE_TRY(check_member(data["systemInstruction"], system_shape, "systemInstruction"));
  MILLRACE_TRY(check_shapes(turns, shapes::gemini_turn, "contents"));
  GeminiReader reader(ids);
  reader.read_system(data["systemInstruction"]);
  for (const json::Value turn : turns.items()) reader.read_turn(turn);
  return reader.take();
}

}  // namespace millrace::format
