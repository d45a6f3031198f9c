// The list of a provider's models. Vendors tell much the same under many names: one reader looks
// for each fact wherever any of them puts it.
#include <array>
#include <charconv>

#include "model/capability/rows.hpp"

namespace millrace::model {
namespace {

using json::Value;
using message::JsonBuilder;

template <std::size_t n>
Value first_of(const Value& model, const std::array<std::string_view, n>& paths) {
  for (const std::string_view path : paths) {
    const Value value = at_path(model, path);
    if (!value.is_nothing()) return value;
  }
  return {};
}

// Whether `list` of a model holds one of the words.
bool list_contains(const Value& model, std::string_view path,
                   std::initializer_list<std::string_view> words) {
  for (const Value item : at_path(model, path).items()) {
    for (const std::string_view word : words) {
      if (item.string() == word) return true;
    }
  }
  return false;
}

constexpr std::array<std::string_view, 5> id_paths = {"id", "modelId", "model", "name",
                                                      "model_name"};
constexpr std::array<std::string_view, 6> name_paths = {"display_name",  "displayName", "modelName",
                                                        "friendly_name", "name",        "title"};
constexpr std::array<std::string_view, 11> context_paths = {
    "context_length",
    "contextWindowTokens",
    "context_window",
    "max_context_length",
    "max_model_len",
    "inputTokenLimit",
    "max_input_tokens",
    "limits.max_input_tokens",
    "token_limits.context_window",
    "max_context_tokens",
    "capabilities.limits.max_context_window_tokens"};
constexpr std::array<std::string_view, 7> output_paths = {"outputTokenLimit",
                                                          "max_completion_tokens",
                                                          "max_output_tokens",
                                                          "limits.max_output_tokens",
                                                          "max_tokens",
                                                          "top_provider.max_completion_tokens",
                                                          "capabilities.limits.max_output_tokens"};
constexpr std::array<std::string_view, 5> tool_paths = {
    "capabilities.function_calling", "supports_tools", "capabilities.supports.tool_calls",
    "features.function_calling", "functionCall"};
constexpr std::array<std::string_view, 6> vision_paths = {"capabilities.vision",
                                                          "supports_image_input",
                                                          "supports_vision",
                                                          "capabilities.supports.vision",
                                                          "capabilities.image_input.supported",
                                                          "supports_image_in"};
constexpr std::array<std::string_view, 4> reasoning_paths = {
    "capabilities.reasoning", "supports_reasoning", "capabilities.thinking.supported", "thinking"};

// What lists say where a vendor has no flag for it.
struct WordRow {
  std::string_view card;
  std::string_view path;
  std::string_view word;
};
constexpr std::array<WordRow, 17> words = {{
    {"functionCall", "supported_parameters", "tools"},
    {"functionCall", "capabilities", "tool-calling"},
    {"functionCall", "capabilities", "tools"},
    {"functionCall", "features", "tools"},
    {"functionCall", "features", "function-calling"},
    {"vision", "architecture.input_modalities", "image"},
    {"vision", "supported_input_modalities", "image"},
    {"vision", "inputModalities", "IMAGE"},
    {"vision", "input_modalities", "image"},
    {"vision", "features", "vision"},
    {"vision", "capabilities", "vision"},
    {"vision", "modalities.input", "image"},
    {"reasoning", "supported_parameters", "reasoning"},
    {"reasoning", "capabilities", "reasoning"},
    {"reasoning", "capabilities", "thinking"},
    {"reasoning", "features", "reasoning"},
    {"functionCall", "supported_features", "tools"},
}};

// What kind of model it is, by what vendors say and else by its name.
struct TypeRow {
  std::string_view path;
  std::string_view word;
  std::string_view type;
};
constexpr std::array<TypeRow, 17> types = {{
    {"type", "embedding", "embedding"},
    {"type", "embeddings", "embedding"},
    {"type", "image", "image"},
    {"type", "audio", "tts"},
    {"type", "chat", "chat"},
    {"type", "llm", "chat"},
    {"type", "language", "chat"},
    {"type", "vlm", "chat"},
    {"type", "rerank", "rerank"},
    {"supportedGenerationMethods", "generateContent", "chat"},
    {"supportedGenerationMethods", "embedContent", "embedding"},
    {"supportedGenerationMethods", "predict", "image"},
    {"endpoints", "chat", "chat"},
    {"endpoints", "embed", "embedding"},
    {"endpoints", "rerank", "rerank"},
    {"outputModalities", "EMBEDDING", "embedding"},
    {"outputModalities", "IMAGE", "image"},
}};
struct NameRow {
  std::string_view part;
  std::string_view type;
};
constexpr std::array<NameRow, 16> type_names = {{
    {"embed", "embedding"},
    {"bge-", "embedding"},
    {"rerank", "rerank"},
    {"tts", "tts"},
    {"whisper", "stt"},
    {"transcribe", "stt"},
    {"dall-e", "image"},
    {"gpt-image", "image"},
    {"imagen", "image"},
    {"stable-diffusion", "image"},
    {"flux", "image"},
    {"sora", "video"},
    {"veo-", "video"},
    {"moderation", "moderation"},
    {"realtime", "realtime"},
    {"-image", "image"},
}};

std::string_view type_of(const Value& model, std::string_view id) {
  for (const TypeRow& row : types) {
    const Value value = at_path(model, row.path);
    if (value.string() == row.word || list_contains(model, row.path, {row.word})) return row.type;
  }
  for (const NameRow& row : type_names) {
    if (id.find(row.part) != std::string_view::npos) return row.type;
  }
  return "chat";
}

void write_flag(JsonBuilder& out, const Value& model, std::string_view card, const Value& flag) {
  bool yes = flag.is_true();
  for (const WordRow& row : words) {
    if (row.card == card && list_contains(model, row.path, {row.word})) yes = true;
  }
  const bool is_flag = flag.is_true() || flag.is(json::Type::boolean_false);
  if (yes || is_flag) out.flag(card, yes);
}

std::string date_of(std::int64_t seconds) {
  // Civil date from days since 1970-01-01 (Howard Hinnant's algorithm).
  const std::int64_t days = seconds / 86'400 + 719'468;
  const std::int64_t era = days / 146'097;
  const std::int64_t day_of_era = days - era * 146'097;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const std::int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t shifted = (5 * day_of_year + 2) / 153;
  const std::int64_t day = day_of_year - (153 * shifted + 2) / 5 + 1;
  const std::int64_t month = shifted < 10 ? shifted + 3 : shifted - 9;
  const std::int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
  const auto two = [](std::int64_t number) {
    return (number < 10 ? "0" : "") + std::to_string(number);
  };
  return std::to_string(year) + "-" + two(month) + "-" + two(day);
}

void write_date(JsonBuilder& out, const Value& model) {
  const auto created = first_of(model, std::array<std::string_view, 2>{"created", "released"});
  const std::string_view text = model["created_at"].string();
  if (const auto seconds = created.integer(); seconds && *seconds > 0) {
    out.text("releasedAt", date_of(*seconds));
  } else if (text.size() >= 10) {
    out.text("releasedAt", text.substr(0, 10));
  }
}

void write_number(JsonBuilder& out, std::string_view card, const Value& value) {
  if (const auto number = value.integer(); number && *number > 0) out.value(card, value);
}

void write_card(JsonBuilder& out, const Value& model) {
  const Value id_value = first_of(model, id_paths);
  std::string_view id = id_value.string();
  // GitHub's catalogue and Gemini write a path before the name.
  if (id.starts_with("models/")) id.remove_prefix(7);
  if (id.empty()) return;
  out.open_object();
  out.text("id", id);
  const std::string_view name = first_of(model, name_paths).string();
  if (!name.empty() && name != id && !name.starts_with("models/")) out.text("displayName", name);
  write_number(out, "contextWindowTokens", first_of(model, context_paths));
  write_number(out, "maxOutput", first_of(model, output_paths));
  write_flag(out, model, "functionCall", first_of(model, tool_paths));
  write_flag(out, model, "vision", first_of(model, vision_paths));
  write_flag(out, model, "reasoning", first_of(model, reasoning_paths));
  const Value active = first_of(model, std::array<std::string_view, 2>{"active", "enabled"});
  if (active.is(json::Type::boolean_false)) out.flag("enabled", false);
  out.text("type", type_of(model, id));
  write_date(out, model);
  out.close_object();
}

// Where the list goes on, in each vendor's words; "" at its end.
std::string next_page_of(const Value& answer) {
  for (const std::string_view name : {"nextPageToken", "next_page_token"}) {
    if (const auto token = answer[name].filled_string()) return std::string(*token);
  }
  return answer["has_more"].is_true() ? std::string(answer["last_id"].string()) : std::string();
}

Result<CapabilityResult> read_models(const Value&, const CapabilityAnswer& answer) {
  json::Document document(message::depth_limit);
  auto parsed = parse_answer(document, answer);
  if (!parsed) return std::move(parsed).error();
  Value list = parsed.value();
  for (const std::string_view key : {"data", "models", "modelSummaries", "result"}) {
    if (!list.is_array() && parsed.value()[key].is_array()) list = parsed.value()[key];
  }
  if (!list.is_array()) {
    return make_error(Errc::provider_error,
                      "The provider's answer has no list of models. Check `baseURL`.",
                      answer.body.substr(0, 200));
  }
  JsonBuilder out;
  out.open_array();
  for (const Value model : list.items()) write_card(out, model);
  out.close_array();
  return CapabilityResult{.json = out.take(), .next_page = next_page_of(parsed.value())};
}

constexpr CapabilityRow list_row(std::string_view providers, std::string_view path,
                                 std::string_view tails = {}, std::string_view base_url = {}) {
  return {.capability = Capability::models,
          .providers = providers,
          .base_url = base_url,
          .tails = tails,
          .method = "GET",
          .path = path,
          .read = read_models};
}

constexpr CapabilityRow vendor_row(Dialect dialect, CapabilityRow made) {
  made.unknown_vendors = dialect;
  return made;
}

constexpr CapabilityRow paged_row(std::string_view page, CapabilityRow made) {
  made.page = page;
  return made;
}

constexpr std::array<CapabilityRow, 10> rows = {{
    vendor_row(
        Dialect::anthropic,
        paged_row("after_id", list_row("anthropic", "/v1/models?limit=1000", "/v1/messages,/v1"))),
    paged_row("pageToken", list_row("google", "/v1beta/models?pageSize=1000", "/v1beta,/v1")),
    list_row("ollama,ollamacloud", "/api/tags", "/v1,/api"),
    list_row("mistral", "/models"),
    paged_row("page_token", list_row("cohere", "/v1/models?page_size=1000",
                                     "/compatibility/v1,/v2,/v1", "https://api.cohere.com")),
    list_row("github", "/catalog/models", "/inference", "https://models.github.ai"),
    list_row("azure", "/openai/models?api-version={api_version:2024-10-21}", "/openai/v1,/openai"),
    list_row("bedrock", "/foundation-models", "",
             "https://bedrock.{region:us-east-1}.amazonaws.com"),
    list_row("aihubmix", "/api/v1/models", "/v1"),
    {.capability = Capability::models,
     .providers = "",
     .dialect = Dialect::openai_chat,
     .except = "azureai,cloudflare,demo,githubcopilot,perplexity",
     .method = "GET",
     .path = "/models",
     .read = read_models},
}};

}  // namespace

std::span<const CapabilityRow> models_rows() {
  return rows;
}

}  // namespace millrace::model
