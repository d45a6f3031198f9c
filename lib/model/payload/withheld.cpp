#include "model/payload/withheld.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "event/unsigned_reasoning.hpp"
#include "format/openai_names.hpp"
#include "format/retained.hpp"
#include "format/support.hpp"
#include "format/turn_blocks.hpp"
#include "message/parts.hpp"
#include "model/call/scope.hpp"
#include "model/provider/config.hpp"

namespace millrace::model {
namespace {

using message::Content;
using message::Media;
using message::Message;
using message::Role;

// Whose state each dialect writes into its requests.
struct Reader {
  Dialect dialect;
  std::array<std::string_view, 2> providers;
};
constexpr std::array readers{
    Reader{Dialect::openai_chat, {"openai_chat"}},
    Reader{Dialect::mistral, {"openai_chat", "mistral"}},
    Reader{Dialect::openai_responses, {"openai_responses"}},
    Reader{Dialect::anthropic, {"anthropic"}},
    Reader{Dialect::vertex_anthropic, {"anthropic"}},
    Reader{Dialect::gemini, {"google"}},
    Reader{Dialect::vertex_gemini, {"google"}},
    Reader{Dialect::bedrock_converse, {"bedrock"}},
    Reader{Dialect::cohere, {"cohere"}},
    Reader{Dialect::ollama, {"ollama"}},
};

// Marks and notes of the engine's own, and of servers: no reader misses them.
constexpr std::array<std::string_view, 17> plain_kinds{
    "issuer",    "begun", event::unsigned_kind, "signature_part", "custom",   "reasoning_content",
    "reasoning", "list",  "cache_control",      "cache_blocks",   "refusal",  "tool_name",
    "hosted",    "index", "function_call",      "call_id",        "call_type"};

// Dialects that send reasoning only with their own signature, and have no note of their own.
constexpr std::array signed_dialects{Dialect::anthropic, Dialect::vertex_anthropic, Dialect::gemini,
                                     Dialect::vertex_gemini, Dialect::bedrock_converse};

constexpr std::string_view turn_blocks =
    "A call, a result, reasoning or a change of the tools that stands in a message of the user is "
    "left out.";

constexpr std::string_view citations_left =
    "Citations of earlier answers are left out: the API has no place for them. They stay in the "
    "history.";

constexpr std::string_view blank_texts =
    "Texts of white space alone are left out: the API rejects them. They stay in the history.";
constexpr std::string_view unsigned_left =
    "Reasoning without a signature is left out: the model takes only what it signed itself. It "
    "stays in the history.";
constexpr std::string_view prompt_media =
    "Images and files of a system or developer message are left out: the API takes text there.";

// Whose reasoning an encrypted value belongs to, by its shape.
std::string_view maker_of(const Message& reasoning) {
  const std::string_view value = *reasoning.encrypted_value;
  if (value.starts_with(R"({"bedrock")")) return "bedrock";
  if (value.starts_with(R"({"google")")) return "google";
  if (value.starts_with(R"({"mistral")")) return "mistral";
  if (value.starts_with("[")) return "openai_chat";
  if (value.starts_with("gAAAA") || reasoning.id.starts_with("rs_")) return "openai_responses";
  return "anthropic";
}

class Withheld {
 public:
  Withheld(const ProviderConfig& config, Dialect dialect, bool takes_unsigned)
      : dialect_(dialect),
        takes_unsigned_(takes_unsigned),
        provider_id_(config.id),
        takes_parts_(dialect != Dialect::mistral && is_openai_server(config)),
        takes_images_(config.quirks.has(Quirk::image_config)) {
    const auto* row = std::find_if(readers.begin(), readers.end(),
                                   [&](const Reader& reader) { return reader.dialect == dialect; });
    if (row != readers.end()) own_ = row->providers;
  }

  void add(const Message& message) {
    add(message.metadata, is_issued_elsewhere(message.metadata));
    has_citations_ = has_citations_ || leaves_citations(message.metadata);
    for (const message::ToolCall& call : message.tool_calls) {
      add(call.metadata, is_issued_elsewhere(call.metadata));
    }
    if (message.role == Role::reasoning) add_reasoning(message);
    has_blank_texts_ = has_blank_texts_ || leaves_blank_text(message);
    if (message.role == Role::system || message.role == Role::developer) add_prompt(message);
    // It takes other messages out of a graph's state.
    if (message.activity_type == "langgraph.remove") name("langgraph", "remove");
    if (message.content.kind != Content::Kind::parts) return;
    if (message.content.text.find("providerState") == std::string::npos) return;
    const message::Parts parts(message.content);
    for (const json::Value part : parts.items()) add_part(part);
  }

  // The names of what was added since the last call, and of nothing else.
  [[nodiscard]] std::string take_new() { return std::exchange(new_, {}); }
  [[nodiscard]] const std::string& names() const { return names_; }
  // Whether an answer has citations that are not sent.
  [[nodiscard]] bool has_citations() const { return has_citations_; }
  // Whether a part of a message holds what is of a turn, which is not sent.
  [[nodiscard]] bool has_turn_blocks() const { return has_turn_blocks_; }
  // Whether a prompt has media that are not sent.
  [[nodiscard]] bool has_prompt_media() const { return has_prompt_media_; }
  [[nodiscard]] bool has_unsigned() const { return has_unsigned_; }
  [[nodiscard]] bool has_blank_texts() const { return has_blank_texts_; }

 private:
  [[nodiscard]] bool is_own(std::string_view provider) const {
    return std::find(own_.begin(), own_.end(), provider) != own_.end();
  }
  // Servers of OpenAI's API take its lists and parts from its own wire alone, and images of answers
  // where they made them.
  [[nodiscard]] bool takes(std::string_view provider, std::string_view kind) const {
    if (!is_own(provider)) return false;
    if (provider != format::openai::provider) return true;
    if (kind == format::openai::image_kind) return takes_images_;
    const bool is_list = kind == format::openai::content_kind || kind == format::block_kind;
    return !is_list || takes_parts_;
  }
  // Whether a part of chat completions holds nothing but what both APIs of OpenAI have.
  [[nodiscard]] bool is_cache_mark(std::string_view provider, const json::Value& block) const {
    constexpr std::array<std::string_view, 5> shown{"type", "text", "image_url", "file",
                                                    format::openai::cache_mark};
    const bool is_of_chat =
        dialect_ == Dialect::openai_responses && provider == format::openai::provider;
    if (!is_of_chat || !block[format::openai::cache_mark].exists()) return false;
    for (const auto& [key, value] : block.members()) {
      if (std::find(shown.begin(), shown.end(), key) == shown.end()) return false;
    }
    return true;
  }
  [[nodiscard]] bool is_issued_elsewhere(const message::Metadata& metadata) const {
    const std::string issuer = issuer_of(metadata);
    return !issuer.empty() && issuer != provider_id_;
  }

  // Whether the content is sent as the list that it came as, with the images in it.
  [[nodiscard]] bool sends_list(const message::Metadata& metadata) const {
    return std::any_of(metadata.provider_state.begin(), metadata.provider_state.end(),
                       [&](const message::ProviderState& state) {
                         return state.kind == format::openai::content_kind &&
                                takes(state.provider, state.kind);
                       });
  }

  void add(const message::Metadata& metadata, bool elsewhere) {
    for (const message::ProviderState& state : metadata.provider_state) {
      const bool is_plain =
          std::find(plain_kinds.begin(), plain_kinds.end(), state.kind) != plain_kinds.end();
      const bool is_in_list = state.provider == format::openai::provider &&
                              state.kind == format::openai::image_kind && sends_list(metadata);
      const bool is_sent = is_in_list || takes(state.provider, state.kind);
      if (is_plain || (is_sent && !elsewhere)) continue;
      name(state.provider, state.kind);
    }
  }

  // Whether citations are not sent and nothing else of them is named: few APIs have a place for
  // them, and none for those of another one.
  [[nodiscard]] bool leaves_citations(const message::Metadata& metadata) const {
    if (metadata.citations.empty()) return false;
    if (dialect_ == Dialect::cohere) {
      return !std::all_of(metadata.citations.begin(), metadata.citations.end(), is_of_cohere);
    }
    return std::none_of(metadata.provider_state.begin(), metadata.provider_state.end(),
                        [&](const message::ProviderState& state) {
                          return state.kind == "cited_text" ||
                                 (state.provider == "openai_responses" && is_own(state.provider));
                        });
  }
  static bool is_of_cohere(const std::string& citation) {
    json::Document document(message::depth_limit);
    const auto value = document.parse(citation);
    return value && value.value()["sources"].is_array() && value.value()["text"].is_string();
  }

  void add_prompt(const Message& prompt) {
    if (dialect_ == Dialect::openai_responses) return;
    const message::Parts parts(prompt.content);
    for (const json::Value part : parts.items()) {
      Media media;
      if (!message::read_media(media, part)) continue;
      const bool is_sent = dialect_ == Dialect::ollama && media.kind == Media::Kind::image;
      has_prompt_media_ = has_prompt_media_ || !is_sent;
    }
  }

  // Whether a text, or one of the parts, is left out as blank; blocks that came as they are go
  // back.
  [[nodiscard]] bool leaves_blank_text(const Message& message) const {
    const bool is_claude = dialect_ == Dialect::anthropic || dialect_ == Dialect::vertex_anthropic;
    const bool may_be = message.role == Role::user || message.role == Role::assistant;
    if ((!is_claude && dialect_ != Dialect::bedrock_converse) || !may_be) return false;
    const auto is_blank = [](std::string_view text) {
      return !text.empty() && format::is_blank(text);
    };
    if (message.content.kind == Content::Kind::text) {
      const bool has_blocks = message.metadata.find("anthropic", "text") != nullptr ||
                              message.metadata.find("bedrock", "blocks") != nullptr;
      return !has_blocks && is_blank(message.content.text);
    }
    const message::Parts parts(message.content);
    for (const json::Value part : parts.items()) {
      if (part["type"].string() == "text" && is_blank(part["text"].string())) return true;
    }
    return false;
  }

  void add_part(const json::Value& part) {
    const json::Value states = part["metadata"]["millrace"]["providerState"];
    for (const json::Value state : states.items()) {
      const std::string_view provider = state["provider"].string();
      const std::string_view kind = state["kind"].string();
      if (!takes(provider, kind)) {
        if (!is_cache_mark(provider, state["state"])) name(provider, kind);
      } else if (kind == format::block_kind && format::is_of_turn(state["state"], provider)) {
        has_turn_blocks_ = true;
      }
    }
  }

  void add_reasoning(const Message& message) {
    const bool has_own_note = dialect_ == Dialect::openai_responses;
    if (has_own_note) return;
    if (message.encrypted_value && !message.encrypted_value->empty()) {
      const std::string_view maker = maker_of(message);
      if (!is_own(maker)) name(maker, "reasoning");
      return;
    }
    const bool is_signed_only = std::find(signed_dialects.begin(), signed_dialects.end(),
                                          dialect_) != signed_dialects.end();
    const bool is_left_out =
        is_signed_only && !is_sent_unsigned(message) && !message::text_of(message.content).empty();
    has_unsigned_ = has_unsigned_ || is_left_out;
  }

  [[nodiscard]] bool is_sent_unsigned(const Message& reasoning) const {
    return takes_unsigned_ && !is_issued_elsewhere(reasoning.metadata) &&
           std::any_of(own_.begin(), own_.end(), [&](std::string_view provider) {
             return format::is_own_unsigned(reasoning, provider);
           });
  }

  void name(std::string_view provider, std::string_view kind) {
    std::string word(provider);
    word.append(" ").append(kind);
    add_word(new_, word);
    add_word(names_, word);
  }
  static void add_word(std::string& list, const std::string& word) {
    constexpr std::size_t most = 512;  // bytes that a note may take
    constexpr std::string_view comma = ", ";
    const std::string all = std::string(comma).append(list).append(comma);
    if (list.size() > most ||
        all.find(std::string(comma).append(word).append(comma)) != std::string::npos)
      return;
    list.append(list.empty() ? "" : comma).append(word);
  }

  Dialect dialect_;
  bool takes_unsigned_;
  std::string_view provider_id_;
  bool takes_parts_;
  bool takes_images_;
  std::array<std::string_view, 2> own_{};
  std::string names_;
  std::string new_;
  bool has_citations_ = false;
  bool has_turn_blocks_ = false;
  bool has_prompt_media_ = false;
  bool has_unsigned_ = false;
  bool has_blank_texts_ = false;
};

// Whether the message shows nothing: no text, no medium, no call.
bool is_silent(const Message& message) {
  const bool may_be =
      message.role == Role::user || message.role == Role::assistant || message.role == Role::tool;
  if (!may_be || !message.tool_calls.empty() || message.error) return false;
  if (!json::trim(message::text_of(message.content)).empty()) return false;
  const message::Parts parts(message.content);
  Media media;
  for (const json::Value part : parts.items()) {
    if (message::read_media(media, part)) return false;
  }
  return true;
}

}  // namespace

bool reads_state_of(Dialect dialect, std::string_view provider) {
  return std::any_of(readers.begin(), readers.end(), [&](const Reader& reader) {
    const auto& own = reader.providers;
    return reader.dialect == dialect && std::find(own.begin(), own.end(), provider) != own.end();
  });
}

void note_withheld(message::SharedMessages& messages, const ProviderConfig& config, Dialect dialect,
                   bool takes_unsigned, std::vector<Note>& notes) {
  Withheld withheld(config, dialect, takes_unsigned);
  for (std::size_t at = 0; at < messages.size(); ++at) {
    withheld.add(messages[at]);
    const std::string names = withheld.take_new();
    if (names.empty() || !is_silent(messages[at])) continue;
    messages.edit()[at].content =
        Content::of_text("(Content that only its own provider reads: " + names + ".)");
  }
  if (withheld.has_turn_blocks()) notes.push_back({"messages", std::string(turn_blocks), false});
  if (withheld.has_prompt_media()) notes.push_back({"messages", std::string(prompt_media), false});
  if (withheld.has_blank_texts()) notes.push_back({"messages", std::string(blank_texts), false});
  if (withheld.has_unsigned()) notes.push_back({"messages", std::string(unsigned_left), false});
  if (withheld.has_citations()) notes.push_back({"messages", std::string(citations_left), false});
  if (withheld.names().empty()) return;
  notes.push_back({"messages",
                   "The API does not read what other providers made: " + withheld.names() +
                       ". It stays in the history.",
                   false});
}

}  // namespace millrace::model
