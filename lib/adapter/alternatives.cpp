#include "adapter/alternatives.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "adapter/chat_choice.hpp"

namespace millrace::adapter {
namespace {

using json::Tree;

// Texts that come in pieces; others come whole.
constexpr std::array<std::string_view, 8> texts_in_pieces{
    "content", "refusal", "reasoning_content", "reasoning", "arguments",
    "input",   "data",    "transcript"};

void add_members(Tree& all, const json::Value& more);

// Pieces of a call have its number; anything else is a further element.
void add_elements(Tree& all, const json::Value& more) {
  for (const json::Value element : more.items()) {
    const auto number = element["index"].integer();
    Tree* known = nullptr;
    if (number) {
      for (Tree& one : all.items()) {
        if (one["index"].integer_or(-1) == *number) known = &one;
      }
    }
    if (known != nullptr) {
      add_members(*known, element);
    } else {
      all.push(Tree(element));
    }
  }
}

void add_members(Tree& all, const json::Value& more) {
  for (const json::Member& member : more.members()) {
    if (member.value.is_nothing()) continue;
    Tree* const known = all.find(member.key);
    const bool is_piece = std::find(texts_in_pieces.begin(), texts_in_pieces.end(), member.key) !=
                          texts_in_pieces.end();
    if (known == nullptr || known->is_null()) {
      all.set(member.key, Tree(member.value));
    } else if (known->is_array() && member.value.is_array()) {
      add_elements(*known, member.value);
    } else if (known->is_object() && member.value.is_object()) {
      add_members(*known, member.value);
    } else if (is_piece && known->is_string() && member.value.is_string()) {
      std::string text(known->string());
      text.append(member.value.string());
      *known = Tree::text(text);
    } else {
      *known = Tree(member.value);
    }
  }
}

// The members of an answer besides its number, its content and its end.
void add_others(Tree& answer, const json::Value& given,
                std::initializer_list<std::string_view> handled) {
  for (const json::Member& member : given.members()) {
    const bool is_handled = std::find(handled.begin(), handled.end(), member.key) != handled.end();
    if (is_handled || member.value.is_nothing()) continue;
    Tree* const known = answer.find(member.key);
    if (known != nullptr && known->is_object() && member.value.is_object()) {
      add_members(*known, member.value);
    } else {
      answer.set(member.key, Tree(member.value));
    }
  }
}

void set_end(Tree& answer, const json::Value& reason) {
  if (const auto word = reason.filled_string()) answer.set("finishReason", *word);
}

}  // namespace

Tree* Alternatives::find(std::int64_t index) {
  const auto known = answers_.find(index);
  if (known != answers_.end()) return &known->second;
  if (answers_.size() >= ChatChoice::most_others) return nullptr;
  return &answers_.emplace(index, Tree::object()).first->second;
}

void Alternatives::add_choice(const json::Value& choice) {
  const auto index = choice["index"].integer();
  Tree* const answer = index ? find(*index) : nullptr;
  if (answer == nullptr) return;
  const json::Value message = choice["message"];
  if (message.is_object()) {
    answer->set("message", Tree(message));
  } else {
    add_members(answer->at("message"), choice["delta"]);
  }
  add_others(*answer, choice, {"index", "message", "delta", "finish_reason"});
  set_end(*answer, choice["finish_reason"]);
}

void Alternatives::add_candidate(const json::Value& candidate) {
  Tree* const answer = find(candidate["index"].integer().value_or(0));
  if (answer == nullptr) return;
  add_members(answer->at("message"), candidate["content"]);
  add_others(*answer, candidate, {"index", "content", "finishReason"});
  set_end(*answer, candidate["finishReason"]);
}

void Alternatives::give(event::PartTracker& parts) {
  for (const auto& [index, answer] : answers_) {
    const std::string json = answer.to_json();
    parts.pass(event::Alternative{index, json});
  }
  answers_.clear();
}

}  // namespace millrace::adapter
