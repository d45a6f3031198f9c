// Embeddings: texts in, one vector each out, in the order they were given.
#include <algorithm>
#include <array>
#include <vector>

#include "model/capability/rows.hpp"

namespace millrace::model {
namespace {

using json::Value;
using message::JsonBuilder;

// The texts to embed: one string or a list of them.
Result<std::vector<std::string_view>> texts_of(const Value& options) {
  std::vector<std::string_view> texts;
  const Value input = options["input"];
  if (input.is_string()) texts.push_back(input.string());
  for (const Value item : input.items()) {
    if (!item.is_string()) return missing_member("input", "a text or a list of texts");
    texts.push_back(item.string());
  }
  if (texts.empty()) return missing_member("input", "a text or a list of texts");
  return texts;
}

// How one family spells a request whose texts are a list under one name.
struct ListSpelling {
  std::string_view texts;
  std::span<const Rename> renames;
  std::string_view always;      // members as JSON
  std::string_view input_type;  // name of the member
  std::string_view default_type;
};

Result<CapabilityBody> list_body(const Value& options, const ListSpelling& spelling) {
  auto texts = texts_of(options);
  if (!texts) return std::move(texts).error();
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  out.value("model", options["model"]);
  out.open_array(spelling.texts);
  for (const std::string_view text : texts.value()) out.text(text);
  out.close_array();
  copy_members(out, options, spelling.renames);
  const std::string_view type = options["inputType"].string();
  if (!spelling.input_type.empty()) {
    out.filled(spelling.input_type, type.empty() ? spelling.default_type : type);
  }
  if (!spelling.always.empty()) out.members(spelling.always);
  out.close_object();
  return CapabilityBody{out.take()};
}

constexpr std::array<Rename, 2> openai_names = {{{"dimensions", "dimensions"}, {"user", "user"}}};
constexpr std::array<Rename, 1> dimension_name = {{{"dimensions", "dimensions"}}};
constexpr std::array<Rename, 1> output_dimension = {{{"dimensions", "output_dimension"}}};

Result<CapabilityBody> openai_body(const Value& options) {
  return list_body(options, {"input", openai_names, R"("encoding_format":"float")", "", ""});
}
Result<CapabilityBody> mistral_body(const Value& options) {
  return list_body(options, {"input", output_dimension, "", "", ""});
}
Result<CapabilityBody> voyage_body(const Value& options) {
  return list_body(options, {"input", output_dimension, "", "input_type", ""});
}
Result<CapabilityBody> jina_body(const Value& options) {
  return list_body(options, {"input", dimension_name, R"("embedding_type":"float")", "task", ""});
}
Result<CapabilityBody> nvidia_body(const Value& options) {
  return list_body(
      options, {"input", dimension_name, R"("encoding_format":"float")", "input_type", "passage"});
}
Result<CapabilityBody> cohere_body(const Value& options) {
  return list_body(options, {"texts", output_dimension, R"("embedding_types":["float"])",
                             "input_type", "search_document"});
}
Result<CapabilityBody> ollama_body(const Value& options) {
  return list_body(options, {"input", dimension_name, "", "", ""});
}

// Hugging Face's pipelines take the texts alone: the model is in the path.
Result<CapabilityBody> inputs_body(const Value& options) {
  auto texts = texts_of(options);
  if (!texts) return std::move(texts).error();
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  out.open_array("inputs");
  for (const std::string_view text : texts.value()) out.text(text);
  out.close_array();
  out.close_object();
  return CapabilityBody{out.take()};
}
std::string huggingface_path(const Value& options) {
  return "/hf-inference/models/" + segments_of(options["model"].string()) +
         "/pipeline/feature-extraction";
}

Result<CapabilityBody> gemini_body(const Value& options) {
  auto texts = texts_of(options);
  if (!texts) return std::move(texts).error();
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  out.open_array("requests");
  for (const std::string_view text : texts.value()) {
    out.open_object();
    out.joined("model", "models/", options["model"].string());
    out.open_object("content");
    out.open_array("parts");
    out.open_object();
    out.text("text", text);
    out.close_object();
    out.close_array();
    out.close_object();
    out.filled("taskType", options["inputType"].string());
    if (!options["dimensions"].is_nothing()) {
      out.value("outputDimensionality", options["dimensions"]);
    }
    out.close_object();
  }
  out.close_array();
  out.close_object();
  return CapabilityBody{out.take()};
}

Result<CapabilityBody> vertex_body(const Value& options) {
  auto texts = texts_of(options);
  if (!texts) return std::move(texts).error();
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  out.open_array("instances");
  for (const std::string_view text : texts.value()) {
    out.open_object();
    out.text("content", text);
    out.filled("task_type", options["inputType"].string());
    out.close_object();
  }
  out.close_array();
  if (!options["dimensions"].is_nothing()) {
    out.open_object("parameters");
    out.value("outputDimensionality", options["dimensions"]);
    out.close_object();
  }
  out.close_object();
  return CapabilityBody{out.take()};
}

Result<CapabilityBody> titan_body(const Value& options) {
  auto texts = texts_of(options);
  if (!texts) return std::move(texts).error();
  if (texts.value().size() > 1) return missing_member("input", "one text for this model");
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  out.text("inputText", texts.value().front());
  copy_members(out, options, dimension_name);
  out.close_object();
  return CapabilityBody{out.take()};
}

Result<CapabilityBody> bedrock_cohere_body(const Value& options) {
  auto texts = texts_of(options);
  if (!texts) return std::move(texts).error();
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  out.open_array("texts");
  for (const std::string_view text : texts.value()) out.text(text);
  out.close_array();
  const std::string_view type = options["inputType"].string();
  out.text("input_type", type.empty() ? "search_document" : type);
  out.close_object();
  return CapabilityBody{out.take()};
}

// Where vectors stand: a list of vectors, or of objects that hold one.
struct VectorPath {
  std::string_view list;   // "a.b"
  std::string_view inner;  // in each item, or "" when the item is the vector
};
constexpr std::array<VectorPath, 7> vector_paths = {{
    {"data", "embedding"},
    {"embeddings.float", ""},
    {"embeddings", "values"},
    {"embeddings", ""},
    {"predictions", "embeddings.values"},
    {"result.data", ""},
    {"", ""},
}};

// The vectors in the order of the texts: OpenAI's family numbers them.
std::vector<Value> vectors_of(const Value& answer) {
  std::vector<Value> vectors;
  if (answer["embedding"].is_array()) return {answer["embedding"]};
  for (const VectorPath& path : vector_paths) {
    const Value list = at_path(answer, path.list);
    if (!list.is_array() || list.size() == 0) continue;
    vectors.assign(list.size(), {});
    std::size_t place = 0;
    for (const Value item : list.items()) {
      const Value vector = path.inner.empty() ? item : at_path(item, path.inner);
      const auto index = item["index"].integer();
      const bool numbered =
          index && *index >= 0 && static_cast<std::size_t>(*index) < vectors.size();
      vectors[numbered ? static_cast<std::size_t>(*index) : place] = vector;
      ++place;
    }
    const bool whole = std::all_of(vectors.begin(), vectors.end(),
                                   [](const Value& vector) { return vector.is_array(); });
    if (whole) return vectors;
  }
  return {};
}

bool is_vector(const Value& vector) {
  bool numbers = vector.size() > 0;
  for (const Value item : vector.items()) numbers = numbers && item.is_number();
  return numbers;
}

void write_usage(JsonBuilder& out, const Value& answer) {
  constexpr std::array<std::string_view, 6> paths = {
      "usage.prompt_tokens", "usage.total_tokens",  "meta.billed_units.input_tokens",
      "prompt_eval_count",   "inputTextTokenCount", "usageMetadata.promptTokenCount"};
  for (const std::string_view path : paths) {
    const Value tokens = at_path(answer, path);
    if (!tokens.integer()) continue;
    out.open_object("usage");
    out.value("totalInputTokens", tokens);
    out.value("totalTokens", tokens);
    out.close_object();
    return;
  }
}

Result<CapabilityResult> read_embeddings(const Value& options, const CapabilityAnswer& answer) {
  json::Document document(message::depth_limit);
  auto parsed = parse_answer(document, answer);
  if (!parsed) return std::move(parsed).error();
  const auto vectors = vectors_of(parsed.value());
  auto texts = texts_of(options);
  if (!texts) return std::move(texts).error();
  if (vectors.size() != texts.value().size()) {
    return make_error(Errc::provider_error,
                      "The provider answered with " + std::to_string(vectors.size()) +
                          " embeddings for " + std::to_string(texts.value().size()) + " texts.",
                      answer.body.substr(0, 200));
  }
  if (!std::all_of(vectors.begin(), vectors.end(), is_vector)) {
    return make_error(Errc::provider_error,
                      "The embeddings that the provider returned are not lists of numbers.",
                      answer.body.substr(0, 200));
  }
  JsonBuilder out;
  out.open_object();
  out.open_array("embeddings");
  for (const Value& vector : vectors) out.value(vector);
  out.close_array();
  write_usage(out, parsed.value());
  out.close_object();
  return CapabilityResult{.json = out.take()};
}

// What of the options each body has a place for.
struct Takes {
  BuildBody body;
  std::string_view names;
};
constexpr std::array<Takes, 11> takes = {{{openai_body, "dimensions,user"},
                                          {mistral_body, "dimensions"},
                                          {voyage_body, "dimensions,inputType"},
                                          {jina_body, "dimensions,inputType"},
                                          {nvidia_body, "dimensions,inputType"},
                                          {cohere_body, "dimensions,inputType"},
                                          {ollama_body, "dimensions"},
                                          {gemini_body, "dimensions,inputType"},
                                          {vertex_body, "dimensions,inputType"},
                                          {titan_body, "dimensions"},
                                          {bedrock_cohere_body, "inputType"}}};

constexpr std::string_view takes_of(BuildBody body) {
  for (const Takes& one : takes) {
    if (one.body == body) return one.names;
  }
  return {};
}

constexpr CapabilityRow row(std::string_view providers, std::string_view path, BuildBody body,
                            std::string_view tails = {}, std::string_view base_url = {}) {
  return {.capability = Capability::embeddings,
          .providers = providers,
          .base_url = base_url,
          .tails = tails,
          .path = path,
          .body = body,
          .read = read_embeddings,
          .takes = takes_of(body)};
}

constexpr CapabilityRow bedrock_row(std::string_view models, BuildBody body, std::size_t texts) {
  CapabilityRow made = row("bedrock", "/model/{model}/invoke", body);
  made.models = models;
  made.texts = texts;
  return made;
}

constexpr CapabilityRow huggingface_row() {
  CapabilityRow made = row("huggingface", "", inputs_body, "/v1");
  made.path_of = huggingface_path;
  return made;
}

// With so many texts in one request at most. Fewer than the vendor takes are only more requests.
// Sources: platform.openai.com/docs/api-reference/embeddings (2048), ai.google.dev (100),
// cloud.google.com/vertex-ai text-embeddings-api (1 for gemini-embedding-001), docs.cohere.com
// (96), docs.qwencloud.com (10), docs.siliconflow.cn (32), 2026. Those of Mistral, Zhipu, Baichuan,
// Wenxin and of Vertex's other models are what clients of theirs ask for at most; unverified.
constexpr CapabilityRow limited(std::size_t texts, CapabilityRow made) {
  made.texts = texts;
  return made;
}

constexpr CapabilityRow vertex_row(std::string_view models, std::size_t texts) {
  CapabilityRow made = row("vertexai", "/models/{model}:predict", vertex_body);
  made.models = models;
  made.texts = texts;
  return made;
}

// OpenAI's shape at other vendors.
constexpr std::string_view openai_family =
    "openai,togetherai,fireworksai,volcengine,github,lmstudio,"
    "vllm,xinference,novita,openrouter,vercelaigateway,upstage,hunyuan,ai302,aihubmix,"
    "cometapi,ppio,giteeai,infiniai,modelscope,nebius,newapi,sambanova,higress";

constexpr CapabilityRow openai_row() {
  CapabilityRow made = limited(2048, row(openai_family, "/embeddings", openai_body));
  made.unknown_vendors = Dialect::openai_chat;
  return made;
}

constexpr std::array<CapabilityRow, 19> rows = {{
    openai_row(),
    limited(10, row("qwen", "/embeddings", openai_body)),
    limited(64, row("zhipu", "/embeddings", openai_body)),
    limited(32, row("siliconcloud", "/embeddings", openai_body)),
    limited(16, row("baichuan,wenxin", "/embeddings", openai_body)),
    limited(2048,
            row("azure",
                "/openai/deployments/{deployment}/embeddings?api-version={api_version:2024-10-21}",
                openai_body)),
    row("azureai", "/models/embeddings?api-version={api_version:2024-05-01-preview}", openai_body,
        "/models"),
    huggingface_row(),
    limited(32, row("mistral", "/embeddings", mistral_body)),
    limited(128, row("voyageai", "/embeddings", voyage_body)),
    row("jina", "/embeddings", jina_body, "", "https://api.jina.ai/v1"),
    row("nvidia", "/embeddings", nvidia_body),
    limited(100,
            row("google", "/v1beta/models/{model}:batchEmbedContents", gemini_body, "/v1beta,/v1")),
    vertex_row("gemini-embedding", 1),
    vertex_row("", 250),
    limited(96, row("cohere", "/v2/embed", cohere_body, "/compatibility/v1,/v2,/v1",
                    "https://api.cohere.com")),
    row("ollama,ollamacloud", "/api/embed", ollama_body, "/v1,/api"),
    bedrock_row("cohere.", bedrock_cohere_body, 96),
    bedrock_row("", titan_body, 1),
}};

}  // namespace

std::span<const CapabilityRow> embeddings_rows() {
  return rows;
}

}  // namespace millrace::model
