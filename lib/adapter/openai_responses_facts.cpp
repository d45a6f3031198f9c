// What a response reports of itself, and of what is not finished.
#include <algorithm>
#include <array>

#include "adapter/openai_responses.hpp"

namespace millrace::adapter {
namespace {

constexpr std::array responses_fact_names{
    FactName{"id", "id"},
    FactName{"model", "model"},
    FactName{"created_at", "created", true},
    FactName{"status", "status"},
    FactName{"service_tier", "serviceTier"},
};
// What has events of its own, and what the response repeats of its request.
constexpr std::array<std::string_view, 30> responses_left_out{"object",
                                                              "output",
                                                              "output_text",
                                                              "usage",
                                                              "moderation",
                                                              "conversation",
                                                              "background",
                                                              "instructions",
                                                              "max_output_tokens",
                                                              "max_tool_calls",
                                                              "metadata",
                                                              "parallel_tool_calls",
                                                              "previous_response_id",
                                                              "prompt",
                                                              "prompt_cache_key",
                                                              "prompt_cache_options",
                                                              "prompt_cache_retention",
                                                              "reasoning",
                                                              "safety_identifier",
                                                              "store",
                                                              "temperature",
                                                              "text",
                                                              "tool_choice",
                                                              "tools",
                                                              "top_logprobs",
                                                              "top_p",
                                                              "truncation",
                                                              "user",
                                                              "frequency_penalty",
                                                              "presence_penalty"};

}  // namespace

using openai::ItemGroup;

void OpenAiResponses::note_facts(const json::Value& response) {
  if (services_.facts == nullptr) return;
  services_.facts->note(response, responses_fact_names, responses_left_out);
  services_.facts->set("conversationId", response["conversation"]["id"].string());
}

// What gateways add to the event that ends the response.
void OpenAiResponses::note_event(const json::Value& record) {
  constexpr std::array<std::string_view, 3> own{"type", "response", "sequence_number"};
  if (services_.facts != nullptr) services_.facts->note(record, {}, own);
}

void OpenAiResponses::give_logprobs(Item& item, const json::Value& logprobs) {
  if (logprobs.size() == 0) return;
  item.has_logprobs = true;
  services_.parts.pass(event::Logprobs{item.id, logprobs.to_json()});
}

// What of an image there is before it is finished.
void OpenAiResponses::on_partial_image(const json::Value& record, const Row& /*row*/) {
  const Item* item = find(record, ItemGroup::call);
  if (item == nullptr || !services_.gives_all()) return;
  std::string image = "{";
  for (const json::Member& member : record.members()) {
    constexpr std::array<std::string_view, 4> places{"type", "item_id", "output_index",
                                                     "sequence_number"};
    const bool is_place = std::find(places.begin(), places.end(), member.key) != places.end();
    if (!is_place) json::append_member(image, member);
  }
  services_.parts.pass(event::PartialImage{item->call_id, image + "}"});
}

// A spoken answer: its words, and its sound in pieces.
void OpenAiResponses::on_audio(const json::Value& record, const Row& row) {
  const auto piece = record["delta"].filled_string();
  if (!piece || !services_.gives_all()) return;
  const Item& item = find_or_add(record, ItemGroup::message);
  if (row.member == "transcript") return give_text(item, *piece);
  services_.parts.text_open(item.key, item.id);
  std::string state = "{";
  json::append_member(state, row.member, *piece);
  give_state("audio_data", item.id, state + "}");
}

// Queued, or at work.
void OpenAiResponses::on_progress(const json::Value& record, const Row& /*row*/) {
  const json::Value response = record["response"];
  note_facts(response);
  if (services_.background) background_id_ = pending_id_ = response["id"].string();
}

// A response that is queued or at work. Without a caller who waits for it the answer ends here.
bool OpenAiResponses::on_unfinished(const json::Value& response) {
  const std::string_view status = response["status"].string();
  if (status != "queued" && status != "in_progress") return false;
  note_facts(response);
  if (services_.background) {
    pending_id_ = response["id"].string();
    return true;
  }
  give_items(response);
  services_.parts.close_all();
  services_.parts.pass(event::Finish{status, true});
  give_usage(response);
  give_response_id(response);
  complete_ = true;
  return true;
}

void OpenAiResponses::give_response_id(const json::Value& response) {
  const auto id = response["id"].filled_string();
  if (!id) return;
  std::string state = "{";
  json::append_member(state, "id", *id);
  state.push_back('}');
  give_state("response", {}, state);
}

// What was found of the input and the output, where the request asked for it.
void OpenAiResponses::give_moderation(const json::Value& response) {
  const json::Value found = response["moderation"];
  if (found.is_object()) give_state("moderation", {}, found.to_json());
}

}  // namespace millrace::adapter
