#include "model/payload/vendor_calls.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "adapter/openai_items.hpp"
#include "format/bedrock_blocks.hpp"
#include "format/gemini_parts.hpp"
#include "format/openai_names.hpp"
#include "message/ordered_answers.hpp"
#include "message/parts.hpp"
#include "model/call/scope.hpp"
#include "model/payload/call_text.hpp"
#include "model/payload/spelled_order.hpp"
#include "model/payload/withheld.hpp"
#include "model/provider/config.hpp"

namespace millrace::model {
namespace {

using message::Content;
using message::Message;
using message::Messages;
using message::Part;
using message::PartKind;
using message::ProviderState;
using message::Role;
using message::ToolCall;

constexpr std::size_t no_result = std::numeric_limits<std::size_t>::max();

// Stands before images in a message of the user.
constexpr std::string_view made_images = "(Made by tools of the assistant:)";

// ---- what ran at a provider

bool is_any_tool(const json::Value& /*state*/) {
  return true;
}

// Of OpenAI's shell and search of tools, the item says who ran them.
bool is_run_by_openai(const json::Value& item) {
  return adapter::openai::item_type(item).hosted ||
         item["environment"]["type"].string() == "container_reference" ||
         item["execution"].string() == "server";
}

bool is_part_of_tool(const json::Value& part) {
  return part["toolCall"].is_object() || part["toolResponse"].is_object();
}

// State of a call by which its provider ran it, and whether its history has a place for it.
struct RanRow {
  std::string_view provider;
  std::string_view kind;
  bool (*is_ran)(const json::Value& state);
  bool (*is_written)(const json::Value& state) = is_any_tool;
};
constexpr std::array ran_rows{
    RanRow{"anthropic", "server_tool", is_any_tool},
    RanRow{"google", format::gemini::ran_kind, is_any_tool, format::gemini::is_executable_code},
    RanRow{"bedrock", "server_tool", format::bedrock::is_server_use},
    RanRow{"openai_responses", "item", is_run_by_openai},
    // Of any provider.
    RanRow{issuer_provider, event::hosted_kind, is_any_tool},
};

// Models of these APIs look at images; a text model elsewhere would refuse the conversation.
bool takes_images(const ProviderConfig& config, Dialect dialect, std::string_view model) {
  if (config.quirks.has(Quirk::no_images)) return false;
  switch (dialect) {
    case Dialect::anthropic:
    case Dialect::vertex_anthropic:
    case Dialect::gemini:
    case Dialect::vertex_gemini:
    case Dialect::openai_responses: return true;
    case Dialect::openai_chat: return is_openai_server(config);
    case Dialect::bedrock_converse: return model.find("claude") != std::string_view::npos;
    default: return false;
  }
}

// ---- the conversation

class Speller {
 public:
  Speller(const Messages& messages, const ProviderConfig& config, Dialect dialect)
      : from_(messages), provider_id_(config.id), dialect_(dialect) {}

  // Whether there is anything to spell.
  bool find() {
    std::unordered_map<std::string_view, const ToolCall*> open;
    for (std::size_t at = 0; at < from_.size(); ++at) {
      const Message& message = from_[at];
      if (message.role == Role::assistant) find_in(message, open);
      if (message.role != Role::tool) continue;
      const auto call = open.find(message.tool_call_id);
      if (call == open.end()) continue;
      calls_[call->second].result = at;
      results_.insert(at);
      open.erase(call);
    }
    return !calls_.empty() || !parts_.empty();
  }

  Messages spelled(bool with_images) {
    make_texts();
    const message::OrderedAnswers answers(from_);
    for (std::size_t at = 0; at < from_.size(); ++at) {
      if (const auto parts = answers.at(at); !parts.empty()) spell_answer(parts);
    }
    for (std::size_t at = 0; at < from_.size(); ++at) spell_alone(from_[at], at);
    return rebuilt(with_images);
  }

  [[nodiscard]] Note note() const {
    std::string text = "Tools that another provider ran are sent as text: " + names_ +
                       ". It has arguments and results; ids, citations, names and contexts of "
                       "documents stay in the history.";
    if (is_cut_) {
      text.append(" Of arguments and results, ")
          .append(std::to_string(call_text_bytes))
          .append(" bytes are sent.");
    }
    if (moved_images_ > 0) {
      text.append(" Images that they made are in the next message of the user: ")
          .append(std::to_string(moved_images_))
          .append(".");
    }
    if (const std::size_t left = images_ - moved_images_; left > 0) {
      text.append(" Images that they made are left out: ").append(std::to_string(left)).append(".");
    }
    return {"messages", std::move(text), false};
  }

 private:
  struct Ran {
    std::size_t result = no_result;
    CallText text;
  };

  [[nodiscard]] bool is_issued_elsewhere(const message::Metadata& metadata) const {
    const std::string issuer = issuer_of(metadata);
    return !issuer.empty() && issuer != provider_id_;
  }

  void find_in(const Message& message,
               std::unordered_map<std::string_view, const ToolCall*>& open) {
    const bool is_foreign = is_issued_elsewhere(message.metadata);
    for (const ToolCall& call : message.tool_calls) {
      open.erase(call.id);
      const bool is_own = !is_foreign && !is_issued_elsewhere(call.metadata);
      if (!is_ran_elsewhere(call, is_own)) continue;
      calls_.emplace(&call, Ran{});
      open.emplace(call.id, &call);
    }
    for (const ProviderState& state : message.metadata.provider_state) {
      if (state.provider != format::gemini::provider || state.kind != "part") continue;
      if (!is_foreign && reads_state_of(dialect_, state.provider)) continue;
      json::Document document(message::depth_limit);
      const auto part = document.parse(state.json);
      if (!part || !is_part_of_tool(part.value())) continue;
      parts_.emplace(&state, text_of_tool_part(part.value()));
    }
  }

  // State that the called API reads is of its own calls, and of the host's.
  [[nodiscard]] bool is_ran_elsewhere(const ToolCall& call, bool is_own) const {
    for (const RanRow& row : ran_rows) {
      const ProviderState* state = call.metadata.find(row.provider, row.kind);
      if (state == nullptr) continue;
      json::Document document(message::depth_limit);
      const auto value = document.parse(state->json);
      const bool is_read = is_own && reads_state_of(dialect_, row.provider);
      if (is_read && (!value || row.is_written(value.value()))) return false;
      if (value && row.is_ran(value.value())) return true;
    }
    return false;
  }

  void make_texts() {
    for (const Message& message : from_) {
      for (const ProviderState& state : message.metadata.provider_state) {
        const auto part = parts_.find(&state);
        if (part != parts_.end()) note_text(part->second);
      }
      for (const ToolCall& call : message.tool_calls) {
        const auto ran = calls_.find(&call);
        if (ran == calls_.end()) continue;
        const std::size_t result = ran->second.result;
        ran->second.text = text_of_call(call, result == no_result ? nullptr : &from_[result]);
        note_text(ran->second.text);
      }
    }
  }

  void note_text(const CallText& text) {
    is_cut_ = is_cut_ || text.is_cut;
    images_ += text.images.size();
    constexpr std::size_t most = 512;  // bytes that a note may take
    if (names_.size() > most || !named_.insert(text.tool).second) return;
    names_.append(names_.empty() ? "" : ", ").append(text.tool);
  }

  // The text that takes the place of this part, or nullptr.
  [[nodiscard]] const std::string* text_of(const Part& part) const {
    if (part.kind == PartKind::call) {
      const auto ran = calls_.find(part.call);
      return ran == calls_.end() ? nullptr : &ran->second.text.text;
    }
    const auto found = part.kind == PartKind::item ? parts_.find(part.state) : parts_.end();
    return found == parts_.end() ? nullptr : &found->second.text;
  }

  [[nodiscard]] bool is_spelled(const Part& part) const {
    return text_of(part) != nullptr ||
           (part.kind == PartKind::result && results_.contains(part.at));
  }

  // An answer whose order is recorded: its texts and its record are made anew.
  void spell_answer(std::span<const Part> parts) {
    const auto has_record = [&](const Part& part) {
      return part.message->role == Role::assistant && !part.message->metadata.order->empty();
    };
    const auto anchor = std::find_if(parts.rbegin(), parts.rend(), has_record);
    const bool any =
        std::any_of(parts.begin(), parts.end(), [&](const Part& part) { return is_spelled(part); });
    if (!any || anchor == parts.rend()) return;
    SpelledOrder order(from_);
    for (const Part& part : parts) {
      const std::string* spelled = text_of(part);
      if (spelled == nullptr && part.kind != PartKind::text) {
        if (!is_spelled(part)) order.add(part);
        continue;
      }
      SpelledText& text = texts_[part.at];
      const std::size_t begin = text.text().size();
      spelled == nullptr ? text.add_words(part.text) : text.add_call(*spelled);
      order.add_text(part.at, begin, text.text().size());
    }
    orders_.emplace(anchor->at, order.json(texts_));
  }

  // A message whose own shape is its order: items, text, calls.
  void spell_alone(const Message& message, std::size_t at) {
    if (message.role != Role::assistant || texts_.contains(at)) return;
    SpelledText text;
    bool any = false;
    for (const ProviderState& state : message.metadata.provider_state) {
      const auto part = parts_.find(&state);
      if (part == parts_.end()) continue;
      text.add_call(part->second.text);
      any = true;
    }
    text.add_words(message::text_of(message.content));
    for (const ToolCall& call : message.tool_calls) {
      const auto ran = calls_.find(&call);
      if (ran == calls_.end()) continue;
      text.add_call(ran->second.text.text);
      any = true;
    }
    if (any) texts_.emplace(at, std::move(text));
  }

  Messages rebuilt(bool with_images) {
    Messages out;
    out.reserve(from_.size());
    std::vector<std::string> images;  // for the next message of the user
    for (std::size_t at = 0; at < from_.size(); ++at) {
      if (results_.contains(at)) continue;
      const Message& given = from_[at];
      out.push_back(given);
      Message& message = out.back();
      if (message.role == Role::user && !images.empty()) {
        moved_images_ += images.size();
        message.content = with_images_before(message.content, std::exchange(images, {}));
      }
      if (const auto text = texts_.find(at); text != texts_.end()) {
        message.content = with_text(given.content, text->second.text());
        take_out(message, given, with_images ? &images : nullptr);
      }
      if (const auto order = orders_.find(at); order != orders_.end()) {
        message.metadata.order = std::move(order->second);
      }
    }
    return out;
  }

  // The calls of the copy, and its parts, that are text by now.
  void take_out(Message& message, const Message& given, std::vector<std::string>* images) {
    message.tool_calls.clear();
    for (const ToolCall& call : given.tool_calls) {
      const auto ran = calls_.find(&call);
      if (ran == calls_.end()) {
        message.tool_calls.push_back(call);
      } else if (images != nullptr) {
        for (std::string& image : ran->second.text.images) images->push_back(std::move(image));
      }
    }
    // The record names states by their places.
    for (std::size_t i = 0; i < given.metadata.provider_state.size(); ++i) {
      if (!parts_.contains(&given.metadata.provider_state[i])) continue;
      message.metadata.provider_state[i] = {std::string(issuer_provider),
                                            std::string(event::hosted_kind), "true"};
    }
  }

  static Content with_images_before(const Content& content,
                                    const std::vector<std::string>& images) {
    message::JsonBuilder out(json::Surrogates::keep);
    out.open_array();
    message::write_text_part(out, made_images);
    for (const std::string& image : images) out.raw(image);
    if (content.kind == Content::Kind::text && !content.text.empty()) {
      message::write_text_part(out, content.text);
    }
    const message::Parts parts(content);
    for (const json::Value part : parts.items()) out.value(part);
    out.close_array();
    return Content::of_parts(out.take());
  }

  const Messages& from_;
  std::string_view provider_id_;
  Dialect dialect_;
  std::unordered_map<const ToolCall*, Ran> calls_;
  std::unordered_map<const ProviderState*, CallText> parts_;
  std::unordered_set<std::size_t> results_;  // indexes of the messages
  SpelledTexts texts_;
  std::unordered_map<std::size_t, std::string> orders_;  // by index of the message
  std::string names_;                                    // of the tools
  std::unordered_set<std::string> named_;
  std::size_t images_ = 0;
  std::size_t moved_images_ = 0;
  bool is_cut_ = false;
};

}  // namespace

void spell_vendor_calls(message::SharedMessages& messages, const ProviderConfig& config,
                        Dialect dialect, std::string_view model, std::vector<Note>& notes) {
  Speller speller(messages.list(), config, dialect);
  if (!speller.find()) return;
  const bool with_images = takes_images(config, dialect, model);
  Messages spelled = speller.spelled(with_images);
  notes.push_back(speller.note());
  messages = message::SharedMessages(std::move(spelled));
}

}  // namespace millrace::model
