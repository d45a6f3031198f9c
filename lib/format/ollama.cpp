#include "format/ollama.hpp"
#include "format/further_members.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "format/joined_answers.hpp"
#include "format/open_calls.hpp"
#include "format/retained.hpp"
#include "format/shape_tables.hpp"
#include "format/support.hpp"
#include "message/media_type.hpp"
#include "message/ordered_answers.hpp"
#include "message/parts.hpp"

namespace millrace::format {
namespace {

using message::Content;
using message::JsonBuilder;
using message::Media;
using message::Message;
using message::Messages;
using message::PartKind;
using message::Role;
using message::ToolCall;

// The member `tool_name` of a message that answers no call that is there.
constexpr std::string_view tool_name_state = "tool_name";
// An image of an answer, as a chat completion shows one.
constexpr std::string_view image_state = "image";
// Further members of a message, of a call and of its function.
constexpr std::string_view ollama_message_state = "message";
constexpr std::string_view ollama_call_state = "call";
constexpr std::string_view ollama_function_state = "function";

void keep_ollama_members(message::Metadata& metadata, std::string_view kind,
                         const json::Value& object, std::initializer_list<std::string_view> known) {
  if (has_more_than(object, known)) metadata.add("ollama", kind, without(object, known));
}

// The base64 of an image part, or ""; `held` keeps what the address had as text.
std::string_view image_data(const json::Value& part, std::string& held) {
  Media media;
  if (!message::read_media(media, part) || media.kind != Media::Kind::image) return {};
  message::take_data_url(media, held);
  return media.source == Media::Source::data ? media.value : std::string_view();
}

void write_images(JsonBuilder& out, std::span<const Message* const> messages) {
  bool any = false;
  const auto write = [&](std::string_view data) {
    if (data.empty()) return;
    if (!std::exchange(any, true)) out.open_array("images");
    out.text(data);
  };
  for (const Message* message : messages) {
    const message::Parts parts(message->content);
    for (const json::Value part : parts.items()) {
      std::string held;
      write(image_data(part, held));
    }
    for (const message::ProviderState& state : message->metadata.provider_state) {
      if (state.provider != "ollama" || state.kind != image_state) continue;
      json::Document document(message::depth_limit);
      const auto image = document.parse(state.json);
      message::DataUrl url;
      if (image && message::read_data_url(url, image.value()["image_url"]["url"].string())) {
        write(url.data);
      }
    }
  }
  if (any) out.close_array();
}

std::string image_json(std::string_view base64) {
  JsonBuilder out;
  out.open_object();
  out.text("type", "image_url");
  out.open_object("image_url");
  out.text("url", "data:" + std::string(message::type_by_base64(base64)) + ";base64," +
                      std::string(base64));
  out.close_object();
  out.close_object();
  return out.take();
}

void write_calls(JsonBuilder& out, std::span<const ToolCall* const> calls) {
  if (calls.empty()) return;
  out.open_array("tool_calls");
  for (const ToolCall* call : calls) {
    out.open_object();
    out.filled("id", call->id);
    out.open_object("function");
    out.text("name", call->name);
    write_arguments(out, "arguments", call->arguments);
    write_state_members(out, call->metadata, "ollama", ollama_function_state);
    out.close_object();
    write_state_members(out, call->metadata, "ollama", ollama_call_state);
    out.close_object();
  }
  out.close_array();
}

// What is of one message of the API, with the text that follows its calls.
struct OllamaAnswer {
  std::string thinking;
  std::string text;
  std::vector<const ToolCall*> calls;
  std::string text_behind;
  std::vector<const Message*> messages;  // for their images
  const Message* speaker = nullptr;      // whose the text is that came last
  bool is_joined = false;                // something came in another order, or apart
};

class OllamaWriter {
 public:
  OllamaWriter(JsonBuilder& out, std::span<const Message> messages)
      : out_(out), messages_(messages), answers_(messages) {}

  void write() {
    out_.open_array();
    for (std::size_t at = 0; at < messages_.size(); ++at) {
      const Message& message = messages_[at];
      if (answers_.covers(at)) {
        write_recorded(answers_.at(at));
      } else if (message.role == Role::reasoning) {
        add_thinking(message);
      } else if (message.role == Role::assistant) {
        at += write_answer(at);
      } else if (message.role != Role::activity) {
        write_other(message);
      }
    }
    close_answer();
    out_.close_array();
  }

  // How many answers have an order that these messages cannot show.
  [[nodiscard]] std::size_t joined() const { return joined_; }

 private:
  // Gives how many messages behind this one belong to its answer.
  std::size_t write_answer(std::size_t at) {
    const Message& message = messages_[at];
    const std::size_t behind = reasoning_after(messages_, at);
    add_text(message::text_of(message.content), message);
    for (const ToolCall& call : message.tool_calls) add_call(call);
    for (std::size_t i = 1; i <= behind; ++i) {
      if (messages_[at + i].role == Role::reasoning) add_thinking(messages_[at + i]);
    }
    answer_.messages.push_back(&message);
    close_answer();
    return behind;
  }

  void write_recorded(std::span<const message::Part> parts) {
    for (const message::Part& part : parts) {
      const auto& known = answer_.messages;
      const bool is_assistant = part.message->role == Role::assistant;
      if (is_assistant && std::find(known.begin(), known.end(), part.message) == known.end()) {
        answer_.messages.push_back(part.message);
      }
      switch (part.kind) {
        case PartKind::reasoning: add_thinking(*part.message); break;
        case PartKind::text: add_text(part.text, *part.message); break;
        case PartKind::call: add_call(*part.call); break;
        case PartKind::result: write_other(*part.message); break;
        case PartKind::item: break;
      }
    }
    close_answer();
  }

  void add_thinking(const Message& reasoning) {
    answer_.is_joined = answer_.is_joined || !answer_.text.empty() || !answer_.calls.empty() ||
                        !answer_.thinking.empty();
    answer_.thinking.append(message::text_of(reasoning.content));
  }
  // Pieces of one message are one text.
  void add_text(std::string_view text, const Message& message) {
    std::string& all = answer_.calls.empty() ? answer_.text : answer_.text_behind;
    const bool goes_on = std::exchange(answer_.speaker, &message) == &message;
    answer_.is_joined = answer_.is_joined || (!goes_on && !all.empty() && !text.empty());
    all.append(text);
  }
  void add_call(const ToolCall& call) {
    answer_.is_joined = answer_.is_joined || !answer_.text_behind.empty();
    answer_.calls.push_back(&call);
  }

  // Ollama's templates join messages of the assistant in a row and take calls and thinking from the
  // first alone: so all of them are there, and what follows is text.
  // Source: https://github.com/ollama/ollama/blob/main/template/template.go, `collate` (2026).
  void close_answer() {
    const OllamaAnswer answer = std::exchange(answer_, {});
    const bool is_empty =
        answer.messages.empty() && answer.thinking.empty() && answer.calls.empty();
    if (is_empty) return;
    if (answer.is_joined) ++joined_;
    begin("assistant", answer.text);
    write_images(out_, answer.messages);
    out_.filled("thinking", answer.thinking);
    write_calls(out_, answer.calls);
    for (const Message* message : answer.messages) {
      const auto* given = message->metadata.find("ollama", tool_name_state);
      if (given == nullptr) continue;
      out_.raw("tool_name", given->json);
      break;
    }
    // Those of several messages have one place.
    for (const Message* message : answer.messages) {
      if (message->metadata.find("ollama", ollama_message_state) == nullptr) continue;
      write_state_members(out_, message->metadata, "ollama", ollama_message_state);
      break;
    }
    out_.close_object();
    if (!answer.text_behind.empty()) {
      begin("assistant", answer.text_behind);
      out_.close_object();
    }
    for (auto call = answer.calls.rbegin(); call != answer.calls.rend(); ++call) {
      names_.insert_or_assign((*call)->id, (*call)->name);
    }
  }

  void write_other(const Message& message) {
    close_answer();
    const bool is_result = message.role == Role::tool;
    const bool is_prompt = message.role == Role::developer;
    begin(
        is_prompt ? "system" : message::name_of(message.role),
        is_result ? result_text(SentResult(message).message()) : message::text_of(message.content));
    const Message* const only = &message;
    write_images(out_, {&only, 1});
    const auto name = is_result ? names_.find(message.tool_call_id) : names_.end();
    if (const auto* given = message.metadata.find("ollama", tool_name_state)) {
      out_.raw("tool_name", given->json);
    } else if (name != names_.end()) {
      out_.filled("tool_name", name->second);
    }
    if (is_result) out_.filled("tool_call_id", message.tool_call_id);
    write_state_members(out_, message.metadata, "ollama", ollama_message_state);
    out_.close_object();
  }

  void begin(std::string_view role, std::string_view content) {
    out_.open_object();
    out_.text("role", role);
    out_.text("content", content);
  }

  JsonBuilder& out_;
  std::span<const Message> messages_;
  message::OrderedAnswers answers_;
  OllamaAnswer answer_;
  // A result names the tool of the call that stands before it.
  std::unordered_map<std::string_view, std::string_view> names_;
  std::size_t joined_ = 0;
};

class OllamaReader {
 public:
  explicit OllamaReader(IdSource& ids) : ids_(ids) {}

  void read(const json::Value& value) {
    const std::string_view role = value["role"].string();
    if (role == "user") {
      add(Role::user, value).content = content_of(value);
    } else if (role == "assistant") {
      read_assistant(value);
    } else if (role == "tool") {
      Message& message = add(Role::tool, value);
      message.tool_call_id = answered_id(value);
      message.content = content_of(value);
    } else if (value.is_object()) {
      add(Role::system, value).content = content_of(value);
    }
    if (value.is_object()) {
      keep_ollama_members(messages_.back().metadata, ollama_message_state, value,
                          {"id", "role", "content", "images", "thinking", "tool_calls", "tool_name",
                           "tool_call_id"});
    }
    const json::Value name = value["tool_name"];
    const bool is_known = role == "tool" && !is_unmatched_;
    if (name.is_string() && !is_known) {
      messages_.back().metadata.add("ollama", tool_name_state, raw(name));
    }
  }

  [[nodiscard]] Messages take() { return std::move(messages_); }

 private:
  Message& add(Role role, const json::Value& value) {
    Message& message = messages_.emplace_back();
    message.role = role;
    message.id = id_of(value, ids_);
    return message;
  }

  static Content content_of(const json::Value& value) {
    const json::Value images = value["images"];
    const std::string_view text = value["content"].string();
    if (images.size() == 0) return Content::of_text(text);
    JsonBuilder out;
    out.open_array();
    if (!text.empty()) message::write_text_part(out, text);
    for (const json::Value image : images.items()) {
      Media media{Media::Kind::image, Media::Source::data, image.string()};
      media.mime_type = message::type_by_base64(media.value);
      message::write_media(out, media);
    }
    out.close_array();
    return Content::of_parts(out.take());
  }

  void read_assistant(const json::Value& value) {
    if (const auto reasoning_part = value["thinking"].filled_string()) {
      add(Role::reasoning, {}).content = Content::of_text(*reasoning_part);
    }
    Message& message = add(Role::assistant, value);
    message.content = Content::of_text(value["content"].string());
    for (const json::Value image : value["images"].items()) {
      message.metadata.add("ollama", image_state, image_json(image.string()));
    }
    for (const json::Value call : value["tool_calls"].items()) {
      const json::Value function = call["function"];
      ToolCall& added = message.tool_calls.emplace_back();
      added.id = call["id"].filled_string() ? std::string(call["id"].string()) : ids_.next_id();
      added.name = function["name"].string();
      added.arguments = read_arguments(function["arguments"]);
      keep_ollama_members(added.metadata, ollama_call_state, call, {"id", "type", "function"});
      keep_ollama_members(added.metadata, ollama_function_state, function, {"name", "arguments"});
      open_.add(added.id, added.name);
    }
  }

  // The call that a result answers: the one it names, else the first of its tool that waits, else
  // the first that waits.
  std::string answered_id(const json::Value& value) {
    if (const auto id = value["tool_call_id"].filled_string()) {
      is_unmatched_ = !open_.take_id(*id);
      return std::string(*id);
    }
    const std::string_view name = value["tool_name"].string();
    auto id = open_.take_name(name);
    if (!id && name.empty()) id = open_.take_first();
    is_unmatched_ = !id;
    return id ? *std::move(id) : ids_.next_id();
  }

  IdSource& ids_;
  Messages messages_;
  OpenCalls open_;             // whose results are to come
  bool is_unmatched_ = false;  // the last result answers no call that is there
};

}  // namespace

void write_ollama(JsonBuilder& out, std::span<const Message> messages) {
  (void)write_joined_ollama(out, messages);
}

std::size_t write_joined_ollama(JsonBuilder& out, std::span<const Message> messages) {
  OllamaWriter writer(out, messages);
  writer.write();
  return writer.joined();
}

Result<Messages> read_ollama(const json::Value& data, IdSource& ids) {
  if (!data.is_array()) return not_a_list("an array of messages", data);
  MILLRACE_TRY(check_shapes(data, shapes::ollama_message, "messages"));
  OllamaReader reader(ids);
  for (const json::Value value : data.items()) reader.read(value);
  return reader.take();
}

}  // namespace millrace::format
