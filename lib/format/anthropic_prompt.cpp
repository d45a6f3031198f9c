// The prompts of canonical messages -> Anthropic's `system`.

#include <string>
#include <vector>

#include "format/anthropic.hpp"
#include "format/anthropic_blocks.hpp"
#include "format/support.hpp"

namespace millrace::format {
namespace {

using message::JsonBuilder;
using message::Message;
using message::Role;

// A system message that goes into `system`, and is no turn of the conversation.
bool is_system(const Message& message) {
  const bool is_prompt = message.role == Role::system || message.role == Role::developer;
  return is_prompt && !is_system_turn(message);
}

// The blocks of a prompt as they came, or with the caller's marks; "" for one without either.
std::string prompt_blocks(const Message& message, std::string_view text) {
  if (const auto* state = message.metadata.find(anthropic_provider, "text")) {
    json::Document document(message::depth_limit);
    const auto blocks = document.parse(state->json);
    if (blocks && texts_of(blocks.value()) == text) return state->json;
  }
  return marked_blocks(message, text);
}

}  // namespace

void write_anthropic_system(JsonBuilder& out, std::span<const Message> messages) {
  std::vector<const Message*> prompts;
  bool plain = true;
  for (const Message& message : messages) {
    if (!is_system(message)) continue;
    const std::string text = message::text_of(message.content);
    // A block without a text may say something all the same.
    const bool has_blocks = !prompt_blocks(message, text).empty();
    if (is_blank(text) && !has_blocks) continue;
    prompts.push_back(&message);
    plain = plain && !has_blocks;
  }
  if (prompts.empty()) return;
  if (plain && prompts.size() == 1) {
    out.text("system", message::text_of(prompts.front()->content));
    return;
  }
  out.open_array("system");
  for (const Message* prompt : prompts) {
    const std::string text = message::text_of(prompt->content);
    const std::string marked = prompt_blocks(*prompt, text);
    json::Document document(message::depth_limit);
    const auto blocks = document.parse(marked);
    if (marked.empty() || !blocks) {
      write_text_block(out, text);
      continue;
    }
    for (const json::Value block : blocks.value().items()) out.value(block);
  }
  out.close_array();
}

}  // namespace millrace::format
