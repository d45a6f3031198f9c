#include "adapter/gemini_interactions.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "adapter/usage.hpp"
#include "base/error.hpp"

namespace millrace::adapter {
namespace {

// How an interaction ends: what its status means. Any other status is that of an answer that is
// whole.
struct InteractionEnd {
  std::string_view status;
  std::string_view sentence;  // of an error; "" for an answer that goes on in a further request
};
constexpr std::array interaction_ends{
    InteractionEnd{"incomplete", "The response was cut off because it reached a limit."},
    InteractionEnd{"failed", "The interaction failed."},
    InteractionEnd{"cancelled", "The interaction was cancelled."},
    InteractionEnd{"requires_continuation", {}},
    InteractionEnd{"budget_exceeded", {}},
    InteractionEnd{"queued", {}},
    InteractionEnd{"in_progress", {}},
};
const InteractionEnd* end_of(std::string_view status) {
  const auto* row = std::find_if(interaction_ends.begin(), interaction_ends.end(),
                                 [&](const InteractionEnd& end) { return end.status == status; });
  return row == interaction_ends.end() ? nullptr : row;
}

constexpr std::array interactions_fact_names{
    FactName{"id", "id"},
    FactName{"model", "model"},
    FactName{"status", "status"},
    FactName{"service_tier", "serviceTier"},
};
// What has events of its own, and what the interaction repeats of its request.
constexpr std::array<std::string_view, 24> interactions_left_out{"object",
                                                                 "steps",
                                                                 "outputs",
                                                                 "output_text",
                                                                 "output_image",
                                                                 "output_audio",
                                                                 "output_video",
                                                                 "usage",
                                                                 "input",
                                                                 "agent_config",
                                                                 "background",
                                                                 "cached_content",
                                                                 "environment",
                                                                 "generation_config",
                                                                 "labels",
                                                                 "previous_interaction_id",
                                                                 "response_format",
                                                                 "response_mime_type",
                                                                 "response_modalities",
                                                                 "safety_settings",
                                                                 "store",
                                                                 "stream",
                                                                 "system_instruction",
                                                                 "tools"};

}  // namespace

struct GeminiInteractions::Row {
  std::string_view type;
  Handler handler;
};

bool GeminiInteractions::on_record(std::string_view /*name*/, const json::Value& record) {
  // The names with `content.` are those of the revision before.
  static constexpr std::array<Row, 11> rows{{
      {"step.delta", &GeminiInteractions::on_step_delta},
      {"step.start", &GeminiInteractions::on_step_start},
      {"step.stop", &GeminiInteractions::on_step_stop},
      {"content.delta", &GeminiInteractions::on_step_delta},
      {"content.start", &GeminiInteractions::on_step_start},
      {"content.stop", &GeminiInteractions::on_step_stop},
      {"interaction.created", &GeminiInteractions::on_started},
      {"interaction.start", &GeminiInteractions::on_started},
      {"interaction.status_update", &GeminiInteractions::on_status},
      {"interaction.completed", &GeminiInteractions::on_completed},
      {"interaction.complete", &GeminiInteractions::on_completed},
  }};
  const std::string_view type = record["event_type"].string();
  if (type == "error" || error_of(record)) {
    on_error(record);
    return true;
  }
  const auto* row =
      std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.type == type; });
  if (row != rows.end()) {
    if (const auto id = record["event_id"].filled_string()) event_id_.assign(*id);
    (this->*row->handler)(record);
    return true;
  }
  const bool has_steps = record["steps"].is_array() || record["outputs"].is_array();
  const bool is_interaction = record["object"].string() == "interaction";
  if (!has_steps && !(is_interaction && record["status"].is_string())) return false;
  on_whole(record);
  return true;
}

void GeminiInteractions::on_started(const json::Value& record) {
  answer_.name(record["interaction"]["id"].string());
  note_facts(record["interaction"]);
}

// The status counts where the stream ends without an interaction that is completed.
void GeminiInteractions::on_status(const json::Value& record) {
  update_ = "{";
  json::append_member(update_, "id", record["interaction_id"].string());
  for (const std::string_view key : {"status", "usage", "continuation_token", "error"}) {
    const json::Value value = record[key];
    if (!value.is_nothing()) json::append_raw_member(update_, key, value.to_json());
  }
  update_.push_back('}');
  note_update(record);
}

// What a status reports before the interaction ends.
void GeminiInteractions::note_update(const json::Value& record) {
  if (const json::Value usage = record["usage"]; usage.size() > 0) usage_json_ = usage.to_json();
  if (services_.facts == nullptr) return;
  std::string update = "{";
  for (const std::string_view key : {"usage", "continuation_token"}) {
    const json::Value value = record[key];
    if (!value.is_nothing()) json::append_raw_member(update, key, value.to_json());
  }
  if (update.size() > 1) services_.facts->set_detail_json("status_update", update + "}");
}

// What a step took, and the interaction as far as it went.
void GeminiInteractions::note_step(const json::Value& record) {
  const json::Value total = record["metadata"]["total_usage"];
  const json::Value usage = total.size() > 0 ? total : record["usage"];
  if (usage.size() > 0) usage_json_ = usage.to_json();
  if (services_.facts == nullptr || steps_json_.size() > head_limit_bytes) return;
  std::string step;
  for (const std::string_view key : {"usage", "step_usage", "metadata"}) {
    const json::Value value = record[key];
    if (value.size() == 0) continue;
    if (step.empty()) step = steps_json_.empty() ? "{" : ",{";
    json::append_raw_member(step, key, value.to_json());
  }
  if (step.empty()) return;
  json::append_member(step, "index", record["index"].integer().value_or(-1));
  steps_json_.append(step).push_back('}');
}

// What is known at the end of the stream only.
void GeminiInteractions::note_end() {
  if (services_.facts == nullptr) return;
  if (!event_id_.empty()) {
    std::string id;
    json::append_string(id, event_id_);
    services_.facts->set_detail_json("event_id", std::move(id));
  }
  if (steps_json_.empty()) return;
  services_.facts->set_detail_json("steps", "[" + std::exchange(steps_json_, {}) + "]");
}

void GeminiInteractions::note_facts(const json::Value& interaction) {
  if (const auto model = interaction["model"].filled_string()) model_ = *model;
  if (services_.facts == nullptr) return;
  services_.facts->note(interaction, interactions_fact_names, interactions_left_out);
}

void GeminiInteractions::keep_state(std::string_view kind, std::string_view entity_id,
                                    const std::string& json) {
  if (!json.empty()) services_.parts.pass(event::ProviderState{provider, kind, entity_id, json});
}

// What a step could not do, while the interaction goes on.
void GeminiInteractions::warn_of(const json::Value& error) {
  constexpr std::size_t shown_bytes = 256;
  const ErrorRecord read = read_error(error, "A step of the interaction failed.");
  const std::string payload = redacted(error.to_json(), shown_bytes);
  services_.parts.pass(event::Warning{row_of(Errc::provider_error).code, read.message, payload});
  if (services_.facts != nullptr) services_.facts->set_detail("step_error", error);
}

void GeminiInteractions::on_completed(const json::Value& record) {
  const json::Value interaction = record["interaction"];
  if (!has_steps_) give_steps(interaction);
  finish(interaction);
}

void GeminiInteractions::on_whole(const json::Value& interaction) {
  answer_.name(interaction["id"].string());
  give_steps(interaction);
  finish(interaction);
}

void GeminiInteractions::give_steps(const json::Value& interaction) {
  is_whole_ = true;
  for (const std::string_view list : {"steps", "outputs"}) {
    for (const json::Value step : interaction[list].items()) {
      open_step(add_step(-1, step["type"].string()), step);
      close_steps();
    }
  }
}

void GeminiInteractions::finish(const json::Value& interaction) {
  close_steps();
  event::PartTracker& parts = services_.parts;
  parts.close_all();
  status_ = interaction["status"].filled_string().value_or("completed");
  note_facts(interaction);
  note_end();
  const InteractionEnd* const end = end_of(status_);
  const bool goes_on = end != nullptr && end->sentence.empty();
  const std::string members = goes_on ? members_to_go_on(interaction) : std::string();
  parts.pass(event::Finish{status_, goes_on, members});
  give_usage(interaction);
  if (const auto id = interaction["id"].filled_string()) {
    std::string state = "{";
    json::append_member(state, "id", *id);
    keep_state("interaction", {}, state + "}");
  }
  const Error cut = make_error(Errc::stream_truncated);
  if (is_cut_ && end == nullptr) return parts.fail(cut.code_name(), cut.message);
  if (end == nullptr || goes_on) return;
  const json::Value errors = interaction["errors"];
  const json::Value first = errors.size() > 0 ? *errors.items().begin() : interaction["error"];
  parts.fail(status_, read_error(first, end->sentence).message);
}

// That of the whole interaction, else the latest that a step or a status reported.
void GeminiInteractions::give_usage(const json::Value& interaction) {
  json::Document document;
  const auto latest = document.parse(std::exchange(usage_json_, {}));
  json::Value usage = interaction["usage"];
  if (!usage.is_object() && latest) usage = latest.value();
  if (!usage.is_object()) return;
  const std::string reported = usage.to_json();
  services_.parts.pass(
      read_usage(UsageDialect::gemini_interactions, provider, model_, usage, reported));
}

// Without the input, which the provider has: a request that stores nothing adds it as it was.
std::string GeminiInteractions::members_to_go_on(const json::Value& interaction) {
  const auto token = interaction["continuation_token"].filled_string();
  if (!token) return {};
  std::string members = "{";
  json::append_member(members, "continuation_token", *token);
  if (const auto id = interaction["id"].filled_string()) {
    json::append_member(members, "previous_interaction_id", *id);
  }
  members.push_back('}');
  return members;
}

void GeminiInteractions::on_error(const json::Value& record) {
  const ErrorRecord error = read_error(record["error"], "Stream error");
  const std::string_view status = record["error"]["status"].string();
  services_.parts.fail(status.empty() ? std::string_view(error.code) : status, error.message);
}

void GeminiInteractions::on_end() {
  if (is_complete()) return close_steps();
  if (update_.empty()) return end_cut();
  json::Document document;
  const auto update = document.parse(std::exchange(update_, {}));
  if (!update) return;
  const std::string_view status = update.value()["status"].string();
  // An interaction that is at work was cut, unless it says how it goes on.
  const bool is_at_work = status.empty() || status == "in_progress" || status == "queued";
  if (!is_at_work || update.value()["continuation_token"].filled_string()) {
    finish(update.value());
  } else {
    end_cut();
  }
}

// What was read of an interaction whose end did not come was paid for.
void GeminiInteractions::end_cut() {
  note_end();
  give_usage({});
}

}  // namespace millrace::adapter
