// Events that come as they are.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "message/fold.hpp"

namespace millrace::message {
namespace {

json::Value parsed(json::Document& document, std::string_view json) {
  const auto value = document.parse(json);
  return value ? value.value() : json::Value();
}

bool is_something(std::string_view json) {
  return !json.empty() && json != "null";
}

}  // namespace

// One overload an alternative.
class Folder::Typed {
 public:
  Typed(Folder& folder, const Source& source) : folder_(folder), source_(source) {}

  void operator()(const event::TextStart& e) {
    Source source = source_;
    source.role_text = e.role;
    source.name_text = e.name;
    folder_.begin_text(e.id, source);
  }
  void operator()(const event::TextDelta& e) { folder_.add_text(e.id, e.delta, source_); }
  void operator()(const event::TextEnd& e) { folder_.note_end(folder_.messages_, e.id, source_); }
  void operator()(const event::ReasoningStart& e) { folder_.begin_reasoning(e.id, source_); }
  void operator()(const event::ReasoningDelta& e) { folder_.add_reasoning(e.id, e.delta, source_); }
  void operator()(const event::ReasoningEnd& e) {
    folder_.note_end(folder_.reasoning_, e.id, source_);
  }
  void operator()(const event::EncryptedValue& e) {
    folder_.set_encrypted(e.subtype, e.entity_id, e.value, source_);
  }
  void operator()(const event::ToolStart& e) {
    Source source = source_;
    source.name_text = e.name;
    source.parent_id = e.parent_id;
    folder_.start_call(e.id, source);
  }
  void operator()(const event::ToolArgs& e) { folder_.add_arguments(e.id, e.delta, source_); }
  void operator()(const event::ToolEnd& e) { folder_.end_call(e.id, source_); }
  void operator()(const event::ToolResult& e) {
    Message& message = folder_.result(e.id, e.message_id);
    message.content = e.parts_json.empty() ? Content::of_text(e.content)
                                           : Content::of_parts(std::string(e.parts_json));
    message.error.reset();
    if (e.failed) message.error = e.error.empty() ? message.content.text : std::string(e.error);
    if (!source_.subagent().empty()) message.subagent_run_id = source_.subagent();
    merge_members(message.metadata, source_.metadata());
  }
  void operator()(const event::MessagesSnapshot& e) { feed_json("messages", e.json); }
  void operator()(const event::ActivitySnapshot& e) {
    json::Document document(depth_limit);
    folder_.set_activity(e.message_id, e.activity_type, parsed(document, e.json), e.replace,
                         source_);
  }
  void operator()(const event::ActivityDelta& e) {
    json::Document document(depth_limit);
    folder_.patch_activity(e.message_id, e.activity_type, parsed(document, e.json), source_);
  }
  void operator()(const event::ProviderState& e) {
    if (is_something(e.json)) {
      folder_.add_state(e.entity_id, e.provider, e.kind, std::string(e.json));
    }
  }
  void operator()(const event::Citation& e) {
    if (is_something(e.json)) folder_.metadata_of(e.message_id).citations.emplace_back(e.json);
  }
  void operator()(const event::Reset& e) {
    if (e.message_ids_json.empty()) return folder_.take_back(std::nullopt);
    json::Document document;
    std::vector<std::string_view> ids;
    for (const json::Value id : parsed(document, e.message_ids_json).items()) {
      ids.push_back(id.string());
    }
    folder_.take_back(std::move(ids));
  }
  void operator()(const event::StepStart&) { folder_.start_step(); }
  void operator()(const event::RunStart&) { folder_.start_step(); }
  void operator()(const event::Foreign& e) {
    json::Document document(depth_limit);
    folder_.feed(parsed(document, e.json));
  }

  void operator()(const event::ReasoningSpanStart&) {}
  void operator()(const event::ReasoningSpanEnd&) {}
  void operator()(const event::ToolProgress&) {}
  void operator()(const event::ToolDetails&) {}
  void operator()(const event::StateSnapshot&) {}
  void operator()(const event::StateDelta&) {}
  void operator()(const event::Usage&) {}
  void operator()(const event::Interrupt&) {}
  void operator()(const event::Retry&) {}
  void operator()(const event::Stage&) {}
  void operator()(const event::Warning&) {}
  void operator()(const event::Finish&) {}
  void operator()(const event::AnswerInfo&) {}
  void operator()(const event::Logprobs&) {}
  void operator()(const event::PartialImage&) {}
  void operator()(const event::Alternative&) {}
  void operator()(const event::StepEnd&) {}
  void operator()(const event::SubagentStart&) {}
  void operator()(const event::SubagentEnd&) {}
  void operator()(const event::SubagentFailed&) {}
  void operator()(const event::RunUsage&) {}
  void operator()(const event::RunEnd&) {}
  void operator()(const event::Failed&) {}

 private:
  // The handler of the snapshot reads its list as a member.
  void feed_json(std::string_view member, std::string_view json) {
    std::string event = "{";
    json::append_raw_member(event, member, json);
    event.push_back('}');
    json::Document document(depth_limit);
    folder_.on_snapshot(parsed(document, event));
  }

  Folder& folder_;
  const Source& source_;
};

void Folder::feed(const event::Event& event) {
  // One of another producer is fed as JSON.
  if (!std::holds_alternative<event::Foreign>(event.body)) {
    is_behind_reset_ = std::exchange(was_reset_, false);
  }
  json::Document document(depth_limit);
  json::Value metadata;
  if (!event.extra.empty()) {
    metadata = parsed(document, "{" + std::string(event.extra) + "}")["metadata"];
  }
  const Source source(event.subagent, metadata);
  std::visit(Typed(*this, source), event.body);
}

}  // namespace millrace::message
