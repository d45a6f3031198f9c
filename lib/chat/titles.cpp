#include "chat/titles.hpp"

#include <algorithm>
#include <array>

#include "base/json.hpp"
#include "base/sha256.hpp"
#include "chat/text.hpp"

namespace millrace::chat {
namespace {

using json::Tree;

// Of a question and an answer in a prompt.
constexpr std::size_t prompt_limit = 2000;

struct QuotePair {
  std::string_view open;
  std::string_view close;
};
constexpr auto quote_pairs = std::to_array<QuotePair>({{"\"", "\""},
                                                       {"'", "'"},
                                                       {"`", "`"},
                                                       {"“", "”"},
                                                       {"‘", "’"},
                                                       {"「", "」"},
                                                       {"『", "』"},
                                                       {"《", "》"},
                                                       {"«", "»"}});

bool has_status(const Tree& conversation, std::string_view status) {
  return conversation["title_status"].string() == status;
}

void set_state(Tree& conversation, std::string_view source, std::string_view status,
               std::int64_t now_ms) {
  conversation.set("title_source", source);
  conversation.set("title_status", status);
  conversation.set("title_updated_at", Tree::integer(now_ms));
}

void forget_requests(Tree& conversation) {
  for (const std::string_view key : {"title_basis_hash", "title_requested_at", "title_failed_at",
                                     "title_attempts", "title_retry_at"}) {
    conversation.erase(key);
  }
}

std::string basis_of(std::string_view question, std::string_view answer) {
  return sha256_hex(std::string(question) + "\n\n" + std::string(answer));
}

std::int64_t wait_after(std::int64_t attempts, const TitlePolicy& policy) {
  std::int64_t wait = policy.first_wait_ms;
  for (std::int64_t count = 1; count < attempts && wait < policy.longest_wait_ms; ++count)
    wait *= 2;
  return std::min(wait, policy.longest_wait_ms);
}

}  // namespace

std::string clean_title(std::string_view text) {
  const std::string line = collapsed(text);
  // Views only: a text may be nothing but quotation marks.
  std::string_view title = line;
  for (std::size_t before = 0; before != title.size();) {
    before = title.size();
    for (const QuotePair& pair : quote_pairs) {
      if (title.starts_with(pair.open)) title.remove_prefix(pair.open.size());
      if (title.ends_with(pair.close)) title.remove_suffix(pair.close.size());
      title = json::trim(title);
    }
  }
  return collapsed(first_characters(title, title_limit));
}

void begin_title(Tree& conversation, std::string_view given, std::int64_t now_ms) {
  if (set_title(conversation, given, now_ms)) return;
  conversation.set("title", default_title);
  set_state(conversation, "temporary", "temporary", now_ms);
}

bool set_title(Tree& conversation, std::string_view given, std::int64_t now_ms) {
  const std::string title = clean_title(given);
  if (title.empty()) return false;
  conversation.set("title", title);
  forget_requests(conversation);
  set_state(conversation, "manual", "manual", now_ms);
  return true;
}

void clear_title(Tree& conversation, std::int64_t now_ms) {
  conversation.set("title", default_title);
  forget_requests(conversation);
  set_state(conversation, "temporary", "temporary", now_ms);
}

void title_from_message(Tree& conversation, std::string_view text, std::int64_t now_ms) {
  const bool is_open = has_status(conversation, "temporary") || has_status(conversation, "failed");
  const std::string_view current = conversation["title"].string();
  if (!is_open || !(current.empty() || current == default_title)) return;
  const std::string line = collapsed(text);
  const std::string title(json::trim(first_characters(line, first_title_limit)));
  if (title.empty()) return;
  conversation.set("title", title);
  set_state(conversation, "temporary", conversation["title_status"].string(), now_ms);
}

bool wants_title(const Tree& conversation, std::string_view question, std::string_view answer,
                 std::int64_t now_ms, const TitlePolicy& policy) {
  if (json::trim(question).empty() || json::trim(answer).empty()) return false;
  if (has_status(conversation, "temporary")) return true;
  const auto at = next_title_at(conversation, policy);
  return at && now_ms >= *at;
}

std::optional<std::int64_t> next_title_at(const Tree& conversation, const TitlePolicy& policy) {
  if (conversation["title_attempts"].integer_or(0) >= policy.most_attempts) return std::nullopt;
  // The process that requested it may be gone.
  if (has_status(conversation, "pending")) {
    return conversation["title_requested_at"].integer_or(0) + policy.pending_ms;
  }
  if (has_status(conversation, "failed")) return conversation["title_retry_at"].integer_or(0);
  return std::nullopt;
}

std::string request_title(Tree& conversation, std::string_view question, std::string_view answer,
                          std::int64_t now_ms) {
  std::string basis = basis_of(question, answer);
  conversation.set("title_status", "pending");
  conversation.set("title_basis_hash", basis);
  conversation.set("title_requested_at", Tree::integer(now_ms));
  const std::int64_t attempts = conversation["title_attempts"].integer_or(0) + 1;
  conversation.set("title_attempts", Tree::integer(attempts));
  return basis;
}

bool end_title(Tree& conversation, std::string_view basis, std::string_view generated,
               std::int64_t now_ms, const TitlePolicy& policy) {
  const bool is_current =
      has_status(conversation, "pending") && conversation["title_basis_hash"].string() == basis;
  if (!is_current) return false;
  const std::string title = clean_title(generated);
  if (title.empty()) {
    const std::int64_t attempts = conversation["title_attempts"].integer_or(1);
    conversation.set("title_status", "failed");
    conversation.set("title_failed_at", Tree::integer(now_ms));
    conversation.set("title_retry_at", Tree::integer(now_ms + wait_after(attempts, policy)));
    return true;
  }
  conversation.set("title", title);
  for (const std::string_view key : {"title_failed_at", "title_attempts", "title_retry_at"}) {
    conversation.erase(key);
  }
  set_state(conversation, "model", "generated", now_ms);
  return true;
}

std::string title_prompt(std::string_view question, std::string_view answer) {
  std::string prompt =
      "Write a title for the conversation that begins with the question and the answer below, in "
      "their language. At most 18 Chinese, Japanese or Korean characters, or 6 words of another "
      "language. Reply with the title alone: no quotation marks, no explanation, no full stop.\n\n";
  prompt.append("<question>\n").append(cut(question, prompt_limit)).append("\n</question>\n");
  prompt.append("<answer>\n").append(cut(answer, prompt_limit)).append("\n</answer>");
  return prompt;
}

}  // namespace millrace::chat
