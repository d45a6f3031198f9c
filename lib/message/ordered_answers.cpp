#include "message/ordered_answers.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_set>
#include <utility>

#include "message/parts.hpp"

namespace millrace::message {
namespace {

// What ends a turn: a record names nothing beyond it.
bool ends_turn(Role role) {
  return role == Role::user || role == Role::system || role == Role::developer;
}

std::size_t items_of(const Metadata& metadata) {
  return static_cast<std::size_t>(std::count_if(
      metadata.provider_state.begin(), metadata.provider_state.end(),
      [](const ProviderState& state) { return is_item(state.provider, state.kind); }));
}

bool fits(std::string_view text, const json::Value& entry) {
  return PartHash::fits(text, entry["hash"].string());
}

// Empty arguments are completed on the way to a request.
bool fits_call(std::string_view arguments, const json::Value& entry) {
  return fits(arguments, entry) || (arguments == "{}" && fits({}, entry));
}

}  // namespace

// Reads the records of one turn.
class OrderedAnswers::Reader {
 public:
  Reader(OrderedAnswers& out, std::span<const Message> messages) : out_(out), messages_(messages) {}

  void read(std::size_t anchor);

 private:
  struct CallPlace {
    std::size_t message;
    std::size_t call;
  };
  using Places = std::unordered_map<std::string_view, std::size_t>;
  // What a record names of one message.
  struct Named {
    std::size_t text_bytes = 0;
    std::size_t items = 0;
    std::size_t calls = 0;
    bool reasoning = false;
  };
  using Handler = bool (Reader::*)(const json::Value& entry);

  void index(std::size_t anchor);
  bool read_entry(const json::Value& entry);
  bool add_reasoning(const json::Value& entry);
  bool add_item(const json::Value& entry);
  bool add_text(const json::Value& entry);
  bool add_call(const json::Value& entry);
  bool add_result(const json::Value& entry);
  [[nodiscard]] bool is_whole() const;
  std::string_view text_of(std::size_t at);
  void take();

  static std::optional<std::size_t> find(const Places& places, const json::Value& entry) {
    const auto found = places.find(entry["id"].string());
    return found == places.end() ? std::nullopt : std::optional(found->second);
  }

  OrderedAnswers& out_;
  std::span<const Message> messages_;
  std::size_t indexed_end_ = 0;  // of the turn whose places are known
  Places assistants_;
  Places reasoning_;
  Places results_;  // by id of the call
  std::unordered_map<std::string_view, CallPlace> calls_;

  std::vector<Part> parts_;
  std::unordered_map<std::size_t, Named> named_;
  std::unordered_set<const void*> taken_;  // calls, results and states
  std::unordered_map<std::size_t, std::string_view> texts_;
};

void OrderedAnswers::Reader::index(std::size_t anchor) {
  if (anchor < indexed_end_) return;
  std::size_t begin = anchor;
  while (begin > indexed_end_ && !ends_turn(messages_[begin - 1].role)) --begin;
  assistants_.clear();
  reasoning_.clear();
  results_.clear();
  calls_.clear();
  std::size_t at = begin;
  for (; at < messages_.size() && !ends_turn(messages_[at].role); ++at) {
    const Message& message = messages_[at];
    if (message.role == Role::reasoning) reasoning_.emplace(message.id, at);
    if (message.role == Role::tool) results_.emplace(message.tool_call_id, at);
    if (message.role != Role::assistant) continue;
    assistants_.emplace(message.id, at);
    for (std::size_t i = 0; i < message.tool_calls.size(); ++i) {
      calls_.emplace(message.tool_calls[i].id, CallPlace{at, i});
    }
  }
  indexed_end_ = at;
}

void OrderedAnswers::Reader::read(std::size_t anchor) {
  json::Document document(depth_limit);
  const auto record = document.parse(*messages_[anchor].metadata.order);
  parts_.clear();
  named_.clear();
  taken_.clear();
  texts_.clear();
  bool fit = record && record.value().is_array() && record.value().size() > 0 &&
             messages_[anchor].role == Role::assistant;
  if (fit) {
    index(anchor);
    for (const json::Value entry : record.value().items()) fit = fit && read_entry(entry);
  }
  if (fit && is_whole()) {
    take();
  } else {
    ++out_.unfit_;
  }
}

bool OrderedAnswers::Reader::read_entry(const json::Value& entry) {
  static constexpr std::array<Handler, 5> handlers{&Reader::add_reasoning, &Reader::add_item,
                                                   &Reader::add_text, &Reader::add_call,
                                                   &Reader::add_result};
  for (std::size_t kind = 0; kind < handlers.size(); ++kind) {
    if (entry["type"].string() == name_of(static_cast<PartKind>(kind))) {
      return (this->*handlers.at(kind))(entry);
    }
  }
  return false;
}

bool OrderedAnswers::Reader::add_reasoning(const json::Value& entry) {
  const auto at = find(reasoning_, entry);
  if (!at || std::exchange(named_[*at].reasoning, true)) return false;
  if (!fits(text_of(*at), entry)) return false;
  parts_.push_back({PartKind::reasoning, *at, &messages_[*at]});
  return true;
}

// An item that is not there any more, such as another provider's, shows nothing and leaves no gap.
bool OrderedAnswers::Reader::add_item(const json::Value& entry) {
  auto at = find(assistants_, entry);
  const auto number = static_cast<std::size_t>(entry["at"].integer().value_or(-1));
  const auto has = [&](std::size_t message) {
    const auto& states = messages_[message].metadata.provider_state;
    return number < states.size() && states[number].kind == entry["kind"].string() &&
           is_item(states[number].provider, states[number].kind);
  };
  if (!at || !has(*at)) at = find(reasoning_, entry);
  if (!at || !has(*at)) return true;
  const ProviderState& state = messages_[*at].metadata.provider_state[number];
  if (!taken_.insert(&state).second) return false;
  ++named_[*at].items;
  parts_.push_back({PartKind::item, *at, &messages_[*at], nullptr, &state});
  return true;
}

bool OrderedAnswers::Reader::add_text(const json::Value& entry) {
  const auto at = find(assistants_, entry);
  const auto size = static_cast<std::size_t>(entry["size"].integer().value_or(0));
  if (!at || size == 0) return false;
  const std::string_view whole = text_of(*at);
  std::size_t& begin = named_[*at].text_bytes;
  if (size > whole.size() - begin) return false;
  const std::string_view piece = whole.substr(begin, size);
  if (!fits(piece, entry)) return false;
  begin += size;
  parts_.push_back({PartKind::text, *at, &messages_[*at], nullptr, nullptr, piece});
  return true;
}

bool OrderedAnswers::Reader::add_call(const json::Value& entry) {
  const auto place = calls_.find(entry["id"].string());
  if (place == calls_.end()) return false;
  const auto [at, number] = place->second;
  const ToolCall& call = messages_[at].tool_calls[number];
  if (!taken_.insert(&call).second || !fits_call(call.arguments, entry)) return false;
  ++named_[at].calls;
  parts_.push_back({PartKind::call, at, &messages_[at], &call});
  return true;
}

bool OrderedAnswers::Reader::add_result(const json::Value& entry) {
  const auto place = calls_.find(entry["id"].string());
  const auto at = find(results_, entry);
  if (place == calls_.end() || !at || out_.covered_[*at]) return false;
  if (!taken_.insert(&messages_[*at]).second) return false;
  const ToolCall& call = messages_[place->second.message].tool_calls[place->second.call];
  parts_.push_back({PartKind::result, *at, &messages_[*at], &call});
  return true;
}

// The text of a message; the view is good as long as the answers are.
std::string_view OrderedAnswers::Reader::text_of(std::size_t at) {
  const Content& content = messages_[at].content;
  if (content.kind == Content::Kind::text) return content.text;
  const auto [known, is_new] = texts_.try_emplace(at);
  if (is_new) known->second = out_.texts_.emplace_back(message::text_of(content));
  return known->second;
}

// Each message that is named is named with all its parts.
bool OrderedAnswers::Reader::is_whole() const {
  for (const auto& [at, named] : named_) {
    const Message& message = messages_[at];
    if (out_.covered_[at]) return false;
    if (named.items != items_of(message.metadata)) return false;
    if (message.role == Role::reasoning) {
      if (!named.reasoning) return false;
      continue;
    }
    if (named.calls != message.tool_calls.size()) return false;
    const bool is_text = message.content.kind == Content::Kind::text;
    const std::size_t size =
        is_text ? message.content.text.size() : message::text_of(message.content).size();
    if (named.text_bytes != size) return false;
  }
  return !parts_.empty();
}

void OrderedAnswers::Reader::take() {
  std::size_t first = messages_.size();
  for (const Part& part : parts_) {
    out_.covered_[part.at] = true;
    first = std::min(first, part.at);
  }
  out_.answers_.emplace(first, std::move(parts_));
}

OrderedAnswers::OrderedAnswers(std::span<const Message> messages) {
  std::optional<Reader> reader;
  for (std::size_t at = 0; at < messages.size(); ++at) {
    if (messages[at].metadata.order->empty()) continue;
    if (!reader) {
      reader.emplace(*this, messages);
      covered_.resize(messages.size());
    }
    reader->read(at);
  }
}

std::span<const Part> OrderedAnswers::at(std::size_t message) const {
  const auto found = answers_.find(message);
  if (found == answers_.end()) return {};
  return found->second;
}

}  // namespace millrace::message
