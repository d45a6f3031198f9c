#include "model/usage/context_check.hpp"

#include <algorithm>
#include <string>

#include "base/json.hpp"
#include "message/parts.hpp"
#include "model/body/fields.hpp"
#include "model/usage/cards.hpp"

namespace millrace::model {
namespace {

using message::Message;
using message::Role;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_ascii(char c) {
  return static_cast<unsigned char>(c) < 0x80;
}
// What may stand between two letters of one token: "it's", "na\xC3\xAFve".
bool joins(char c) {
  return is_letter(c) || c == '\'' || !is_ascii(c);
}

// The servers leave parts of such a conversation out by themselves.
bool is_cut_by_server(const ChatPayload& payload) {
  return payload.truncation == "auto" || !extra_of(payload, "context_management").empty();
}

bool is_read(const Message& message) {
  return message.role != Role::reasoning && message.role != Role::activity;
}

// Its detail has the members that LobeHub's clients read of such an error.
// Source: lobehub/lobehub, `packages/model-runtime/src/utils/resolveSafeMaxTokens.ts` (2026).
Error too_long_error(const ContextOverflow& overflow, std::string_view model) {
  std::string facts = R"({"type":"context_exceeded_pre_flight")";
  json::append_member(facts, "model", model);
  json::append_member(facts, "ctx", overflow.window);
  json::append_member(facts, "promptTokens", overflow.prompt);
  json::append_member(facts, "shortBy", overflow.short_by);
  if (overflow.answer) json::append_member(facts, "minOutputTokens", *overflow.answer);
  json::append_raw_member(facts, "suggestions", R"(["fork_topic","switch_to_larger_ctx_model"])");
  return make_error(Errc::context_window_exceeded, overflow.sentence, facts + "}");
}

}  // namespace

// Before they look for tokens the models cut a text where words, numbers of three digits and signs
// meet, and no token reaches over such a cut. Each word is one token at least, and so is each
// number; signs, spaces and what is not ASCII are not counted.
// Source: https://github.com/openai/tiktoken/blob/main/tiktoken_ext/openai_public.py, o200k_base;
// tiktoken/model.py names the models that use it (2026).
std::int64_t fewest_tokens(std::string_view text) {
  constexpr std::size_t digits_of_token = 3;
  std::int64_t count = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t from = at;
    if (joins(text[at])) {
      bool is_word = false;
      for (; at < text.size() && joins(text[at]); ++at) is_word = is_word || is_letter(text[at]);
      count += is_word ? 1 : 0;
    } else if (is_digit(text[at])) {
      while (at < text.size() && is_digit(text[at])) ++at;
      // Digits of another script may belong to the same number.
      const bool alone =
          (from == 0 || is_ascii(text[from - 1])) && (at == text.size() || is_ascii(text[at]));
      if (alone) {
        count += static_cast<std::int64_t>((at - from + digits_of_token - 1) / digits_of_token);
      }
    } else {
      ++at;
    }
  }
  return count;
}

Result<void> check_context(const ProviderConfig& config, const ChatPayload& payload,
                           std::string_view model, const message::Messages& messages) {
  if (config.too_long) return too_long_error(*config.too_long, model);
  const bool is_vendor = config.quirks.has(Quirk::openai_server) && !config.own_base_url;
  if (!is_vendor || is_cut_by_server(payload)) return {};
  const ModelCard* card = find_card(config.id, model);
  if (card == nullptr) return {};
  std::int64_t bytes = 0;
  for (const Message& message : messages) {
    if (is_read(message)) bytes += static_cast<std::int64_t>(message.content.text.size());
  }
  // A token has a byte at least: nearly every conversation ends here.
  if (bytes <= card->context_tokens) return {};
  std::int64_t tokens = 0;
  for (const Message& message : messages) {
    if (is_read(message)) tokens += fewest_tokens(message::text_of(message.content));
  }
  if (tokens <= card->context_tokens) return {};
  ContextOverflow overflow;
  overflow.sentence = "The conversation has more than " + std::to_string(tokens) +
                      " tokens; the window of " + std::string(model) + " has " +
                      std::to_string(card->context_tokens) + ". Shorten it.";
  overflow.window = card->context_tokens;
  overflow.prompt = tokens;
  overflow.short_by = tokens - overflow.window;
  return too_long_error(overflow, model);
}

}  // namespace millrace::model
