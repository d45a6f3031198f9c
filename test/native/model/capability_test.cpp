// Requests and answers of the capabilities, for each vendor's spelling.
#include "model/capability/capability.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "base/json.hpp"
#include "model/provider/secrets.hpp"
#include "support/source_folder.hpp"

namespace millrace::model {
namespace {

ProviderConfig config_with_key(const std::string& provider, const std::string& more = {}) {
  auto config = read_config(R"({"provider":")" + provider + R"(","apiKey":"key")" + more + "}");
  EXPECT_TRUE(config) << provider;
  return config ? std::move(config).value() : ProviderConfig{};
}

const Credential now{std::chrono::system_clock::time_point{std::chrono::seconds{1'700'000'000}}, 0,
                     "token"};

// "METHOD url\nbody", or the error's code.
std::string built(const std::string& provider, Capability capability, std::string_view options,
                  const std::string& more = {}) {
  auto request = build_capability(config_with_key(provider, more), capability, options, now);
  if (!request) return std::string(request.error().code_name());
  std::string out = request.value().method + " " + request.value().url;
  if (!request.value().body.empty()) out += "\n" + request.value().body;
  return out;
}

std::string read(const std::string& provider, Capability capability, std::string_view options,
                 std::string_view body, std::string_view type = "application/json") {
  auto result = read_capability(config_with_key(provider), capability, options, {type, body});
  if (!result) return std::string(result.error().code_name());
  return result.value().json;
}

bool in_table(const std::string& provider) {
  return find_provider(provider) != nullptr;
}

TEST(Capability, ListsModelsWhereEachVendorKeepsThem) {
  EXPECT_EQ(built("openai", Capability::models, "{}"), "GET https://api.openai.com/v1/models");
  EXPECT_EQ(built("anthropic", Capability::models, "{}"),
            "GET https://api.anthropic.com/v1/models?limit=1000");
  EXPECT_EQ(built("google", Capability::models, "{}"),
            "GET https://generativelanguage.googleapis.com/v1beta/models?pageSize=1000");
  EXPECT_EQ(built("ollama", Capability::models, "{}"), "GET http://127.0.0.1:11434/api/tags");
  EXPECT_EQ(built("ollama", Capability::models, "{}", R"(,"baseURL":"http://gpu:1/api/")"),
            "GET http://gpu:1/api/tags");
  EXPECT_EQ(built("bedrock", Capability::models, "{}", R"(,"region":"eu-west-1")"),
            "GET https://bedrock.eu-west-1.amazonaws.com/foundation-models");
}

TEST(Capability, GoesOnOnlyWhereAPageCanBeAskedFor) {
  const auto next_page = [](const std::string& provider, std::string_view body) {
    const auto result = read_capability(config_with_key(provider), Capability::models, "{}",
                                        {"application/json", body});
    EXPECT_TRUE(result.ok()) << provider;
    return result ? result.value().next_page : std::string();
  };
  constexpr std::string_view more = R"({"data":[{"id":"a"}],"has_more":true,"last_id":"a"})";
  EXPECT_EQ(next_page("anthropic", more), "a");
  EXPECT_EQ(next_page("openai", more), "");
  EXPECT_EQ(next_page("mistral", more), "");
  constexpr std::string_view token = R"({"models":[{"name":"a"}],"nextPageToken":"t"})";
  EXPECT_EQ(next_page("google", token), "t");
  EXPECT_EQ(next_page("ollama", token), "");
}

TEST(Capability, ReadsModelCardsOfManyDialects) {
  EXPECT_EQ(read("openai", Capability::models, "{}",
                 R"({"data":[{"id":"gpt-5","created":1754425777,"owned_by":"system"},)"
                 R"({"id":"text-embedding-3-small"}]})"),
            R"([{"id":"gpt-5","type":"chat","releasedAt":"2025-08-05"},)"
            R"({"id":"text-embedding-3-small","type":"embedding"}])");
  EXPECT_EQ(read("anthropic", Capability::models, "{}",
                 R"({"data":[{"type":"model","id":"claude-sonnet-4-5","display_name":)"
                 R"("Claude Sonnet 4.5","created_at":"2025-09-29T00:00:00Z"}],"has_more":false})"),
            R"([{"id":"claude-sonnet-4-5","displayName":"Claude Sonnet 4.5","type":"chat",)"
            R"("releasedAt":"2025-09-29"}])");
  EXPECT_EQ(read("google", Capability::models, "{}",
                 R"({"models":[{"name":"models/gemini-2.5-flash","displayName":"Gemini 2.5 Flash",)"
                 R"("inputTokenLimit":1048576,"outputTokenLimit":65536,)"
                 R"("supportedGenerationMethods":["generateContent"],"thinking":true}]})"),
            R"([{"id":"gemini-2.5-flash","displayName":"Gemini 2.5 Flash",)"
            R"("contextWindowTokens":1048576,"maxOutput":65536,"reasoning":true,"type":"chat"}])");
  EXPECT_EQ(read("ollama", Capability::models, "{}",
                 R"({"models":[{"name":"llama3.2:latest","model":"llama3.2:latest"}]})"),
            R"([{"id":"llama3.2:latest","type":"chat"}])");
  // OpenRouter's, Mistral's, Groq's and Together's members.
  EXPECT_EQ(read("openai", Capability::models, "{}",
                 R"({"data":[{"id":"a/b","name":"B","context_length":8,"architecture":)"
                 R"({"input_modalities":["text","image"]},"supported_parameters":["tools"]}]})"),
            R"([{"id":"a/b","displayName":"B","contextWindowTokens":8,"functionCall":true,)"
            R"("vision":true,"type":"chat"}])");
  EXPECT_EQ(read("openai", Capability::models, "{}",
                 R"({"data":[{"id":"m","max_context_length":9,"capabilities":)"
                 R"({"function_calling":true,"vision":false}}]})"),
            R"([{"id":"m","contextWindowTokens":9,"functionCall":true,"vision":false,)"
            R"("type":"chat"}])");
  EXPECT_EQ(read("openai", Capability::models, "{}",
                 R"([{"id":"t","display_name":"T","type":"image","context_length":0}])"),
            R"([{"id":"t","displayName":"T","type":"image"}])");
  EXPECT_EQ(read("openai", Capability::models, "{}",
                 R"({"data":[{"id":"g","active":false,"context_window":7}]})"),
            R"([{"id":"g","contextWindowTokens":7,"enabled":false,"type":"chat"}])");
  EXPECT_EQ(read("openai", Capability::models, "{}", "<html>"), "provider_error");
  EXPECT_EQ(read("openai", Capability::models, "{}", R"({"error":"no"})"), "provider_error");
}

TEST(Capability, SpellsSizesAndNamesAsTheVendorsDo) {
  EXPECT_EQ(built("togetherai", Capability::image,
                  R"({"model":"m","params":{"prompt":"a","size":"1024x768"}})"),
            "POST https://api.together.ai/v1/images/generations\n"
            R"({"model":"m","prompt":"a","width":1024,"height":768})");
  const auto fireworks = [](std::string_view model) {
    const std::string options =
        R"({"model":")" + std::string(model) + R"(","params":{"prompt":"a"}})";
    const std::string sent = built("fireworksai", Capability::image, options);
    return sent.substr(0, sent.find('\n'));
  };
  constexpr std::string_view workflow =
      "POST https://api.fireworks.ai/inference/v1/workflows/accounts/fireworks/models/flux/"
      "text_to_image";
  EXPECT_EQ(fireworks("flux"), workflow);
  EXPECT_EQ(fireworks("accounts/fireworks/models/flux"), workflow);
  EXPECT_EQ(built("openai", Capability::image,
                  R"({"model":"gpt-image-1","params":{"prompt":"a","seed":3}})"),
            "POST https://api.openai.com/v1/images/generations\n"
            R"({"model":"gpt-image-1","prompt":"a"})");
  EXPECT_EQ(built("openai", Capability::speech,
                  R"({"model":"m","input":"a","voice":"v","response_format":"opus"})"),
            "POST https://api.openai.com/v1/audio/speech\n"
            R"({"model":"m","input":"a","voice":"v","response_format":"opus"})");
}

constexpr std::string_view two_texts = R"({"model":"m","input":["a","b"],"dimensions":2})";

TEST(Capability, EmbedsTextsInEachVendorsSpelling) {
  EXPECT_EQ(built("openai", Capability::embeddings, two_texts),
            "POST https://api.openai.com/v1/embeddings\n"
            R"({"model":"m","input":["a","b"],"dimensions":2,"encoding_format":"float"})");
  EXPECT_EQ(built("google", Capability::embeddings, R"({"model":"m","input":"a","dimensions":2})"),
            "POST https://generativelanguage.googleapis.com/v1beta/models/m:batchEmbedContents\n"
            R"({"requests":[{"model":"models/m","content":{"parts":[{"text":"a"}]},)"
            R"("outputDimensionality":2}]})");
  EXPECT_EQ(built("ollama", Capability::embeddings, two_texts),
            "POST http://127.0.0.1:11434/api/embed\n"
            R"({"model":"m","input":["a","b"],"dimensions":2})");
  EXPECT_EQ(built("bedrock", Capability::embeddings,
                  R"({"model":"amazon.titan-embed-text-v2:0","input":"a"})"),
            "POST https://bedrock-runtime.us-east-1.amazonaws.com/model/"
            "amazon.titan-embed-text-v2%3A0/invoke\n"
            R"({"inputText":"a"})");
  EXPECT_EQ(built("azure", Capability::embeddings, two_texts, R"(,"baseURL":"https://x.example")"),
            "POST https://x.example/openai/deployments/m/embeddings?api-version=2024-10-21\n"
            R"({"model":"m","input":["a","b"],"dimensions":2,"encoding_format":"float"})");
  EXPECT_EQ(built("azureai", Capability::embeddings, R"({"model":"m","input":"a"})",
                  R"(,"baseURL":"https://x.example/models")"),
            "POST https://x.example/models/embeddings?api-version=2024-05-01-preview\n"
            R"({"model":"m","input":["a"],"encoding_format":"float"})");
  EXPECT_EQ(built("huggingface", Capability::embeddings, R"({"model":"a/b","input":["a","b"]})"),
            "POST https://router.huggingface.co/hf-inference/models/a/b/pipeline/"
            "feature-extraction\n"
            R"({"inputs":["a","b"]})");
  if (in_table("cohere")) {
    EXPECT_EQ(built("cohere", Capability::embeddings, two_texts),
              "POST https://api.cohere.com/v2/embed\n"
              R"({"model":"m","texts":["a","b"],"output_dimension":2,)"
              R"("input_type":"search_document","embedding_types":["float"]})");
  }
  if (in_table("mistral")) {
    EXPECT_EQ(built("mistral", Capability::embeddings, two_texts),
              "POST https://api.mistral.ai/v1/embeddings\n"
              R"({"model":"m","input":["a","b"],"output_dimension":2})");
  }
  EXPECT_EQ(built("openai", Capability::embeddings, R"({"model":"m"})"), "invalid_body");
  EXPECT_EQ(built("openai", Capability::embeddings, R"({"input":"a"})"), "invalid_body");
}

TEST(Capability, ReadsEmbeddingsInTheOrderOfTheTexts) {
  EXPECT_EQ(read("openai", Capability::embeddings, two_texts,
                 R"({"data":[{"index":1,"embedding":[3,4]},{"index":0,"embedding":[1,2]}],)"
                 R"("usage":{"prompt_tokens":5,"total_tokens":5}})"),
            R"({"embeddings":[[1,2],[3,4]],"usage":{"totalInputTokens":5,"totalTokens":5}})");
  EXPECT_EQ(read("google", Capability::embeddings, two_texts,
                 R"({"embeddings":[{"values":[1]},{"values":[2]}]})"),
            R"({"embeddings":[[1],[2]]})");
  EXPECT_EQ(read("huggingface", Capability::embeddings, two_texts, "[[1],[2]]"),
            R"({"embeddings":[[1],[2]]})");
  EXPECT_EQ(read("ollama", Capability::embeddings, two_texts,
                 R"({"embeddings":[[1],[2]],"prompt_eval_count":4})"),
            R"({"embeddings":[[1],[2]],"usage":{"totalInputTokens":4,"totalTokens":4}})");
  EXPECT_EQ(
      read("openai", Capability::embeddings, two_texts,
           R"({"embeddings":{"float":[[1],[2]]},"meta":{"billed_units":{"input_tokens":3}}})"),
      R"({"embeddings":[[1],[2]],"usage":{"totalInputTokens":3,"totalTokens":3}})");
  EXPECT_EQ(read("bedrock", Capability::embeddings, R"({"model":"m","input":"a"})",
                 R"({"embedding":[1],"inputTextTokenCount":2})"),
            R"({"embeddings":[[1]],"usage":{"totalInputTokens":2,"totalTokens":2}})");
  EXPECT_EQ(read("openai", Capability::embeddings, two_texts, R"({"data":[{"embedding":[1]}]})"),
            "provider_error");
}

constexpr std::string_view image_data =
    R"({"model":"m","params":{"prompt":"a cat","width":512,"height":256,"seed":7}})";

TEST(Capability, AsksForImagesInEachVendorsSpelling) {
  EXPECT_EQ(built("openai", Capability::image, image_data),
            "POST https://api.openai.com/v1/images/generations\n"
            R"({"model":"m","prompt":"a cat","size":"512x256","seed":7})");
  EXPECT_EQ(built("google", Capability::image,
                  R"({"model":"g","params":{"prompt":"a cat","aspectRatio":"1:1",)"
                  R"("imageUrl":"data:image/png;base64,AAAA"}})"),
            "POST https://generativelanguage.googleapis.com/v1beta/models/g:generateContent\n"
            R"({"contents":[{"role":"user","parts":[{"text":"a cat"},{"inlineData":)"
            R"({"mimeType":"image/png","data":"AAAA"}}]}],"generationConfig":)"
            R"({"responseModalities":["TEXT","IMAGE"],"imageConfig":{"aspectRatio":"1:1"}}})");
  EXPECT_EQ(built("google", Capability::image,
                  R"({"model":"imagen-4","params":{"prompt":"a cat","aspectRatio":"1:1"}})"),
            "POST https://generativelanguage.googleapis.com/v1beta/models/imagen-4:predict\n"
            R"({"instances":[{"prompt":"a cat"}],"parameters":{"sampleCount":1,)"
            R"("aspectRatio":"1:1"}})");
  if (in_table("togetherai")) {
    EXPECT_EQ(built("togetherai", Capability::image, image_data),
              "POST https://api.together.ai/v1/images/generations\n"
              R"({"model":"m","prompt":"a cat","width":512,"height":256,"seed":7})");
  }
  if (in_table("bfl")) {
    EXPECT_EQ(built("bfl", Capability::image, image_data),
              "POST https://api.bfl.ai/v1/m\n"
              R"({"prompt":"a cat","width":512,"height":256,"seed":7})");
  }
  EXPECT_EQ(built("openai", Capability::image, R"({"model":"m","params":{}})"), "invalid_body");
}

TEST(Capability, AsksVendorsWhoseModelsHaveInputsOfTheirOwn) {
  constexpr std::string_view wish =
      R"({"model":"fal-ai/flux/schnell","params":{"prompt":"a cat","width":512,"height":256,)"
      R"("seed":7,"enable_safety_checker":false}})";
  EXPECT_EQ(built("fal", Capability::image, wish),
            "POST https://queue.fal.run/fal-ai/flux/schnell\n"
            R"({"prompt":"a cat","seed":7,"enable_safety_checker":false,"image_size":)"
            R"({"width":512,"height":256}})");
  constexpr std::string_view official =
      R"({"model":"black-forest-labs/flux-schnell","params":{"prompt":"a cat","n":1}})";
  EXPECT_EQ(built("replicate", Capability::image, official),
            "POST https://api.replicate.com/v1/models/black-forest-labs/flux-schnell/predictions\n"
            R"({"input":{"prompt":"a cat","num_outputs":1}})");
  EXPECT_EQ(built("replicate", Capability::image,
                  R"({"model":"me/mine:abc","params":{"prompt":"a cat"}})"),
            "POST https://api.replicate.com/v1/predictions\n"
            R"({"version":"abc","input":{"prompt":"a cat"}})");
  const std::string comfy = built("comfyui", Capability::image, image_data);
  EXPECT_TRUE(comfy.starts_with("POST http://127.0.0.1:8188/prompt\n{\"prompt\":{\"1\":")) << comfy;
  EXPECT_NE(comfy.find(R"("ckpt_name":"m")"), std::string::npos) << comfy;
  EXPECT_NE(comfy.find(R"("text":"a cat")"), std::string::npos) << comfy;
  EXPECT_EQ(built("comfyui", Capability::image,
                  R"({"model":"m","params":{"prompt":"a cat","workflow":{"9":{}}}})"),
            "POST http://127.0.0.1:8188/prompt\n"
            R"({"prompt":{"9":{}}})");
}

TEST(Capability, FollowsWorkToItsImage) {
  const auto step = [](const std::string& provider, std::string_view body) {
    auto result = read_capability(config_with_key(provider), Capability::image, image_data,
                                  {"application/json", body});
    if (!result) return std::string(result.error().code_name());
    const CapabilityResult& one = result.value();
    return one.poll_after_ms > 0 ? one.poll_url : one.json;
  };
  EXPECT_EQ(step("fal", R"({"status":"IN_QUEUE","status_url":"https://queue.fal.run/s"})"),
            "https://queue.fal.run/s");
  EXPECT_EQ(step("fal", R"({"status":"COMPLETED","response_url":"https://queue.fal.run/r"})"),
            "https://queue.fal.run/r");
  EXPECT_EQ(step("fal", R"({"images":[{"url":"https://i","width":8,"height":4}]})"),
            R"({"imageUrl":"https://i","width":8,"height":4})");
  EXPECT_EQ(step("fal", R"({"status":"COMPLETED","error":"no"})"), "provider_error");
  EXPECT_EQ(step("replicate", R"({"status":"starting","urls":{"get":"https://a/1"}})"),
            "https://a/1");
  EXPECT_EQ(step("replicate", R"({"status":"succeeded","output":["https://i"]})"),
            R"({"imageUrl":"https://i","width":512,"height":256})");
  EXPECT_EQ(step("replicate", R"({"status":"failed","error":"no"})"), "provider_error");
  EXPECT_EQ(step("comfyui", R"({"prompt_id":"p/1"})"), "/history/p%2F1");
  EXPECT_EQ(step("comfyui", "{}"), "");
  EXPECT_EQ(step("comfyui", R"({"p":{"outputs":{"7":{"images":[{"filename":"a b.png",)"
                            R"("subfolder":"","type":"output"}]}}}})"),
            "/view?filename=a%20b.png&subfolder=&type=output");
  EXPECT_EQ(step("comfyui", R"({"p":{"status":{"status_str":"error","messages":[]}}})"),
            "provider_error");
  auto poll = build_poll(config_with_key("comfyui"), "/history/p", now);
  ASSERT_TRUE(poll);
  EXPECT_EQ(poll.value().url, "http://127.0.0.1:8188/history/p");
}

TEST(Capability, SendsImagesToEditAsFiles) {
  auto request = build_capability(
      config_with_key("openai"), Capability::image,
      R"({"model":"m","params":{"prompt":"hat","imageUrl":"data:image/png;base64,iVBORw=="}})",
      now);
  ASSERT_TRUE(request);
  EXPECT_EQ(request.value().url, "https://api.openai.com/v1/images/edits");
  EXPECT_NE(request.value().body.find("filename=\"image-0.png\"\r\nContent-Type: image/png\r\n\r\n"
                                      "\x89PNG\r\n"),
            std::string::npos);
  EXPECT_EQ(
      built("openai", Capability::image,
            R"({"model":"m","params":{"prompt":"hat","imageUrl":"https://a.example/b.png"}})"),
      "invalid_body");
}

TEST(Capability, SendsWhatOpenAiKnowsOfImages) {
  constexpr std::string_view params =
      R"("prompt":"hat","n":2,"quality":"high","moderation":"low","background":"opaque",)"
      R"("output_format":"webp","outputCompression":50,"inputFidelity":"high","style":"vivid")";
  const std::string made =
      built("openai", Capability::image, R"({"model":"m","params":{)" + std::string(params) + "}}");
  EXPECT_NE(made.find(R"({"model":"m","prompt":"hat","quality":"high","n":2,"style":"vivid",)"
                      R"("background":"opaque","output_format":"webp","output_compression":50,)"
                      R"("moderation":"low"})"),
            std::string::npos)
      << made;
  auto edit = build_capability(config_with_key("openai"), Capability::image,
                               R"({"model":"m","params":{"imageUrl":"data:image/png;base64,AAAA",)"
                               R"("mask":"data:image/png;base64,AQAA",)" +
                                   std::string(params) + "}}",
                               now);
  ASSERT_TRUE(edit);
  for (const std::string_view field :
       {"name=\"n\"\r\n\r\n2\r\n", "name=\"quality\"\r\n\r\nhigh\r\n",
        "name=\"background\"\r\n\r\nopaque\r\n", "name=\"output_format\"\r\n\r\nwebp\r\n",
        "name=\"output_compression\"\r\n\r\n50\r\n", "name=\"input_fidelity\"\r\n\r\nhigh\r\n",
        "name=\"mask\"; filename=\"mask.png\"\r\nContent-Type: image/png\r\n\r\n\x01"}) {
    EXPECT_NE(edit.value().body.find(field), std::string::npos) << field;
  }
  for (const std::string_view field : {"name=\"style\"", "name=\"moderation\""}) {
    EXPECT_EQ(edit.value().body.find(field), std::string::npos) << field;
  }
}

// What the options say, as JSON, and how it would be seen in a request.
struct Wish {
  std::string_view member;
  std::string_view mark;
};

// Each wish goes along or is told to be left out.
void expect_reported(const std::string& provider, Capability capability, const Wish& wish,
                     const std::string& options, std::string_view answer) {
  const std::string sent = built(provider, capability, options);
  ASSERT_NE(sent.find('\n'), std::string::npos) << provider << " " << options << " " << sent;
  const bool goes = sent.find(wish.mark) != std::string::npos;
  const std::string_view type =
      capability == Capability::speech && provider != "google" ? "audio/mpeg" : "application/json";
  auto result = read_capability(config_with_key(provider), capability, options, {type, answer});
  ASSERT_TRUE(result.ok()) << provider << " " << result.error().message;
  const std::string name(wish.member.substr(1, wish.member.find('"', 1) - 1));
  const auto& notes = result.value().notes;
  const bool is_reported = std::any_of(notes.begin(), notes.end(), [&](const std::string& note) {
    return note.starts_with("`" + name + "`: ");
  });
  EXPECT_NE(goes, is_reported) << provider << " " << options << "\n" << sent;
}

constexpr std::array<Wish, 22> image_options = {{
    {R"("width":511,"height":513)", "511"},
    {R"("height":513,"width":511)", "513"},
    {R"("width":511)", "511"},
    {R"("height":513)", "513"},
    {R"("size":"701x702")", "701"},
    {R"("size":"marked")", "marked"},
    {R"("aspectRatio":"21:9")", "21:9"},
    {R"("seed":123457)", "123457"},
    {R"("steps":771)", "771"},
    {R"("cfg":772)", "772"},
    {R"("n":773)", "773"},
    {R"("quality":"marked")", "marked"},
    {R"("style":"marked")", "marked"},
    {R"("background":"marked")", "marked"},
    {R"("outputFormat":"marked")", "marked"},
    {R"("moderation":"marked")", "marked"},
    {R"("inputFidelity":"marked")", "marked"},
    {R"("negativePrompt":"marked")", "marked"},
    {R"("resolution":"marked")", "marked"},
    {R"("watermark":"marked")", "marked"},
    {R"("user":"marked")", "marked"},
    {R"("ownOfSome":"marked")", "marked"},
}};

constexpr std::string_view any_image =
    R"({"data":[{"b64_json":"AAAA"}],"output":"https://i","status":"succeeded","prompt_id":"p"})";

TEST(Capability, TellsWhatOfAnImageItLeavesOut) {
  for (const std::string_view provider :
       {"openai", "ai302", "togetherai", "siliconcloud", "fireworksai", "xai", "zhipu",
        "volcengine", "minimax", "replicate", "comfyui"}) {
    for (const Wish& wish : image_options) {
      for (const std::string_view model : {"m", "gpt-image-1"}) {
        const std::string options = R"({"model":")" + std::string(model) +
                                    R"(","params":{"prompt":"a",)" + std::string(wish.member) +
                                    "}}";
        expect_reported(std::string(provider), Capability::image, wish, options, any_image);
      }
    }
  }
  for (const Wish& wish : image_options) {
    const std::string params = R"("params":{"prompt":"a",)" + std::string(wish.member) + "}}";
    expect_reported("bfl", Capability::image, wish, R"({"model":"m",)" + params,
                    R"({"status":"Ready","result":{"sample":"https://i"}})");
    expect_reported("fal", Capability::image, wish, R"({"model":"m",)" + params,
                    R"({"images":["https://i"]})");
    expect_reported("google", Capability::image, wish, R"({"model":"imagen-4",)" + params,
                    any_image);
    expect_reported("google", Capability::image, wish, R"({"model":"gemini",)" + params,
                    R"({"candidates":[{"content":{"parts":[{"inlineData":{"data":"AAAA"}}]}}]})");
    const std::string edit =
        params.substr(0, params.size() - 2) + R"(,"imageUrl":"data:image/png;base64,AAAA"}})";
    expect_reported("openai", Capability::image, wish, R"({"model":"m",)" + edit, any_image);
  }
}

TEST(Capability, SaysWhatToGiveInstead) {
  const auto reported = [](const std::string& provider, std::string_view params) {
    auto result = read_capability(
        config_with_key(provider), Capability::image,
        R"({"model":"gpt-image-1","params":{"prompt":"a",)" + std::string(params) + "}}",
        {"application/json", any_image});
    return result && !result.value().notes.empty() ? result.value().notes.front() : "";
  };
  EXPECT_EQ(reported("zhipu", R"("aspectRatio":"16:9")"),
            "`aspectRatio`: The API has no such setting: give it a `size`.");
  EXPECT_EQ(reported("xai", R"("size":"1x1")"),
            "`size`: The API has no such setting: give it an `aspectRatio`.");
  EXPECT_EQ(reported("openai", R"("width":9)"),
            "`width`: The API takes `width` and `height` only together.");
  EXPECT_EQ(reported("togetherai", R"("imageUrls":["https://a","https://b"])"),
            "`imageUrls`: The API takes one image to start from, the first.");
  EXPECT_EQ(reported("openai", R"("n":1,"seed":null)"), "");
}

TEST(Capability, MakesASizeOfTheRatiosThatOpenAiHas) {
  const auto sent = [](std::string_view model, std::string_view params) {
    const std::string made = built("openai", Capability::image,
                                   R"({"model":")" + std::string(model) +
                                       R"(","params":{"prompt":"a",)" + std::string(params) + "}}");
    return made.substr(made.find('\n') + 1);
  };
  EXPECT_EQ(sent("gpt-image-1", R"("aspectRatio":"3:2")"),
            R"({"model":"gpt-image-1","prompt":"a","size":"1536x1024"})");
  EXPECT_EQ(sent("dall-e-3", R"("aspectRatio":"7:4")"),
            R"({"model":"dall-e-3","prompt":"a","size":"1792x1024","response_format":"b64_json"})");
  EXPECT_EQ(sent("gpt-image-1", R"("aspectRatio":"16:9")"),
            R"({"model":"gpt-image-1","prompt":"a"})");
  EXPECT_EQ(sent("gpt-image-1", R"("aspectRatio":"3:2","size":"auto")"),
            R"({"model":"gpt-image-1","prompt":"a","size":"auto"})");
  EXPECT_EQ(sent("other", R"("aspectRatio":"1:1")"), R"({"model":"other","prompt":"a"})");
}

TEST(Capability, SendsAllImagesToStartFromOrRefusesThem) {
  constexpr std::string_view two = R"("imageUrls":["https://a/1","https://a/2"]}})";
  const auto with = [&](std::string_view model) {
    return R"({"model":")" + std::string(model) + R"(","params":{"prompt":"a",)" + std::string(two);
  };
  EXPECT_NE(built("volcengine", Capability::image, with("m"))
                .find(R"("image":["https://a/1","https://a/2"])"),
            std::string::npos);
  EXPECT_EQ(built("google", Capability::image, with("imagen-4")), "invalid_body");
  EXPECT_EQ(built("openai", Capability::image,
                  R"({"model":"m","params":{"prompt":"a","imageUrl":"data:image/png;base64,AAAA",)"
                  R"("mask":"data:image/png,no"}})"),
            "invalid_body");
}

TEST(Capability, TellsWhatOfSpeechAndTextsItLeavesOut) {
  constexpr std::array<Wish, 6> speech = {{{R"("voice":"marked")", "marked"},
                                           {R"("speed":1.125)", "1.125"},
                                           {R"("format":"marked")", "marked"},
                                           {R"("instructions":"marked")", "marked"},
                                           {R"("user":"marked")", "marked"},
                                           {R"("ownOfSome":"marked")", "marked"}}};
  constexpr std::string_view spoken =
      R"({"data":{"audio":"00"},"candidates":[{"content":{"parts":)"
      R"([{"inlineData":{"mimeType":"audio/mpeg","data":"AAAA"}}]}}]})";
  for (const Wish& wish : speech) {
    const std::string options = R"({"model":"m","input":"a",)" + std::string(wish.member) + "}";
    for (const std::string_view provider :
         {"openai", "groq", "siliconcloud", "google", "minimax", "elevenlabs"}) {
      expect_reported(std::string(provider), Capability::speech, wish, options, spoken);
    }
  }
  constexpr std::array<Wish, 4> texts = {{{R"("dimensions":771)", "771"},
                                          {R"("inputType":"marked")", "marked"},
                                          {R"("user":"marked")", "marked"},
                                          {R"("ownOfSome":"marked")", "marked"}}};
  constexpr std::string_view embedded = R"({"data":[{"index":0,"embedding":[1]}]})";
  for (const Wish& wish : texts) {
    const std::string rest = R"(","input":"a",)" + std::string(wish.member) + "}";
    for (const std::string_view provider : {"openai", "mistral", "voyageai", "jina", "nvidia",
                                            "google", "cohere", "ollama", "huggingface"}) {
      expect_reported(std::string(provider), Capability::embeddings, wish, R"({"model":"m)" + rest,
                      embedded);
    }
    for (const std::string_view model : {"amazon.titan", "cohere.embed"}) {
      expect_reported("bedrock", Capability::embeddings, wish,
                      R"({"model":")" + std::string(model) + rest, embedded);
    }
  }
}

TEST(Capability, GivesAllImagesThatWereMade) {
  EXPECT_EQ(read("openai", Capability::image, R"({"model":"m"})",
                 R"({"data":[{"b64_json":"AAAA"},{"b64_json":"BBBB"}],"output_format":"webp"})"),
            R"({"imageUrl":"data:image/webp;base64,AAAA","imageUrls":)"
            R"(["data:image/webp;base64,AAAA","data:image/webp;base64,BBBB"]})");
  EXPECT_NE(
      built("google", Capability::image, R"({"model":"imagen-4","params":{"prompt":"hat","n":3}})")
          .find(R"("parameters":{"sampleCount":3})"),
      std::string::npos);
}

TEST(Capability, ReadsImagesWhereverTheyStand) {
  EXPECT_EQ(
      read("openai", Capability::image, image_data,
           R"({"data":[{"b64_json":"AAAA"}],"output_format":"webp","usage":)"
           R"({"input_tokens":1,"output_tokens":2,"total_tokens":3}})"),
      R"({"imageUrl":"data:image/webp;base64,AAAA","width":512,"height":256,"modelUsage":)"
      R"({"totalInputTokens":1,"totalOutputTokens":2,"totalTokens":3,"outputImageTokens":2}})");
  EXPECT_EQ(read("openai", Capability::image, R"({"model":"m"})",
                 R"({"images":[{"url":"https://a.example/x.png"}],"seed":1})"),
            R"({"imageUrl":"https://a.example/x.png"})");
  EXPECT_EQ(read("openai", Capability::image, R"({"model":"m"})", R"({"base64":["AAAA"]})"),
            R"({"imageUrl":"data:image/png;base64,AAAA"})");
  EXPECT_EQ(read("openai", Capability::image, R"({"model":"m"})",
                 R"({"data":{"image_base64":["AAAA"]},"base_resp":{"status_code":0}})"),
            R"({"imageUrl":"data:image/png;base64,AAAA"})");
  EXPECT_EQ(read("openai", Capability::image, R"({"model":"m"})",
                 R"({"base_resp":{"status_code":1008,"status_msg":"no balance"}})"),
            "provider_error");
  EXPECT_EQ(read("minimax", Capability::image, R"({"model":"m"})",
                 R"({"data":{"image_base64":["AAAA"]},"base_resp":{"status_code":1008}})"),
            "insufficient_quota");
  EXPECT_EQ(read("openai", Capability::image, R"({"model":"m"})",
                 R"({"data":[],"base_resp":{"status_code":0,"status_msg":"success"}})"),
            "no_image_generated");
  EXPECT_EQ(read("openai", Capability::image, R"({"model":"m"})", R"({"data":[]})"),
            "no_image_generated");
  constexpr std::string_view gemini = R"({"model":"g"})";
  EXPECT_EQ(read("google", Capability::image, gemini,
                 R"({"candidates":[{"content":{"parts":[{"text":"Here"},{"inlineData":)"
                 R"({"mimeType":"image/jpeg","data":"AAAA"}}]}}]})"),
            R"({"imageUrl":"data:image/jpeg;base64,AAAA"})");
  EXPECT_EQ(read("google", Capability::image, gemini,
                 R"({"candidates":[{"finishReason":"IMAGE_SAFETY"}]})"),
            "content_filtered");
  EXPECT_EQ(
      read("google", Capability::image, gemini, R"({"candidates":[{"finishReason":"STOP"}]})"),
      "no_image_generated");
}

TEST(Capability, AsksAgainWhileAnImageIsMade) {
  if (!in_table("bfl")) GTEST_SKIP() << "The provider bfl is not in the table.";
  const ProviderConfig config = config_with_key("bfl");
  auto first = read_capability(
      config, Capability::image, image_data,
      {"application/json", R"({"id":"1","polling_url":"https://eu.api.bfl.ai/r?id=1"})"});
  ASSERT_TRUE(first);
  EXPECT_EQ(first.value().poll_url, "https://eu.api.bfl.ai/r?id=1");
  EXPECT_GT(first.value().poll_after_ms, 0);
  auto poll = build_poll(config, first.value().poll_url, now);
  ASSERT_TRUE(poll);
  EXPECT_TRUE(std::any_of(poll.value().headers.begin(), poll.value().headers.end(),
                          [](const net::Header& header) { return header.value == "key"; }));
  auto elsewhere = build_poll(config, "https://evil.example/r?id=1", now);
  ASSERT_TRUE(elsewhere);
  for (const net::Header& header : elsewhere.value().headers) EXPECT_NE(header.value, "key");
  EXPECT_EQ(read("bfl", Capability::image, image_data,
                 R"({"status":"Ready","result":{"sample":"https://d.example/i.png"}})"),
            R"({"imageUrl":"https://d.example/i.png","width":512,"height":256})");
  EXPECT_EQ(read("bfl", Capability::image, image_data, R"({"status":"Content Moderated"})"),
            "content_filtered");
}

constexpr std::string_view speech = R"({"model":"m","input":"Hello","voice":"v"})";

TEST(Capability, SpeaksInEachVendorsSpelling) {
  EXPECT_EQ(built("openai", Capability::speech, speech),
            "POST https://api.openai.com/v1/audio/speech\n"
            R"({"model":"m","input":"Hello","voice":"v","response_format":"mp3"})");
  EXPECT_EQ(built("google", Capability::speech, speech),
            "POST https://generativelanguage.googleapis.com/v1beta/models/m:generateContent\n"
            R"({"contents":[{"role":"user","parts":[{"text":"Hello"}]}],"generationConfig":)"
            R"({"responseModalities":["AUDIO"],"speechConfig":{"voiceConfig":)"
            R"({"prebuiltVoiceConfig":{"voiceName":"v"}}}}})");
  EXPECT_EQ(built("elevenlabs", Capability::speech, speech),
            "POST https://api.elevenlabs.io/v1/text-to-speech/v?output_format=mp3_44100_128\n"
            R"({"text":"Hello","model_id":"m"})");
  EXPECT_EQ(built("openai", Capability::speech, R"({"model":"m"})"), "invalid_body");
}

TEST(Capability, GivesSamplesTheHeadThatPlayersAskFor) {
  auto result = read_capability(
      config_with_key("google"), Capability::speech, speech,
      {"application/json", R"({"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":)"
                           R"("audio/L16;codec=pcm;rate=16000","data":"AAECAw=="}}]}}]})"});
  ASSERT_TRUE(result);
  ASSERT_TRUE(result.value().bytes);
  const std::string& wave = *result.value().bytes;
  EXPECT_EQ(wave.size(), 48U);
  EXPECT_EQ(wave.substr(0, 4), "RIFF");
  EXPECT_EQ(wave.substr(8, 8), "WAVEfmt ");
  EXPECT_EQ(static_cast<unsigned char>(wave[24]) + 256 * static_cast<unsigned char>(wave[25]),
            16'000);
  EXPECT_EQ(wave.substr(44), std::string("\0\1\2\3", 4));
  EXPECT_EQ(result.value().json, R"({"contentType":"audio/wav"})");
}

TEST(Capability, TakesAudioButNoPageForSpeech) {
  EXPECT_EQ(read("openai", Capability::speech, speech, "ID3...", "audio/mpeg"),
            R"({"contentType":"audio/mpeg"})");
  EXPECT_EQ(read("openai", Capability::speech, speech, "<html>", "text/html; charset=utf-8"),
            "provider_error");
}

TEST(Capability, PullsModelsOfOllamaAlone) {
  EXPECT_EQ(built("ollama", Capability::pull, R"({"model":"llama3.2"})"),
            "POST http://127.0.0.1:11434/api/pull\n"
            R"({"model":"llama3.2","stream":true})");
  EXPECT_EQ(built("openai", Capability::pull, R"({"model":"m"})"), "capability_not_supported");
}

// A vendor of a factory.
TEST(Capability, AsksForeignVendorsAsOpenAI) {
  const auto config =
      read_config(R"({"provider":"acme","apiKey":"k","baseURL":"https://acme.test/v1",)"
                  R"("custom":{"dialect":"openai_chat","auth":"bearer"}})");
  ASSERT_TRUE(config.ok());
  struct Row {
    Capability capability;
    std::string_view options;
    std::string_view path;
  };
  for (const Row& row :
       {Row{Capability::embeddings, R"({"model":"e","input":"a"})", "/embeddings"},
        Row{Capability::image, R"({"model":"i","params":{"prompt":"p"}})", "/images/generations"},
        Row{Capability::speech, R"({"model":"s","input":"a","voice":"v"})", "/audio/speech"},
        Row{Capability::models, "{}", "/models"}}) {
    const auto request = build_capability(config.value(), row.capability, row.options, now);
    ASSERT_TRUE(request.ok()) << row.path << ": " << request.error().message;
    EXPECT_EQ(request.value().url, "https://acme.test/v1" + std::string(row.path));
  }
}

TEST(Capability, NamesProvidersThatCan) {
  auto request = build_capability(config_with_key("anthropic"), Capability::embeddings,
                                  R"({"model":"m","input":"a"})", now);
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().code, Errc::capability_not_supported);
  EXPECT_NE(request.error().message.find("openai"), std::string::npos) << request.error().message;
}

// What the documentation's matrix is made from.
TEST(Capability, IsListedForTheDocumentation) {
  const std::string path = test::source_folder().string() + "/test/golden/model/capabilities.json";
  std::string lines;
  json::Document document;
  auto parsed = document.parse(capabilities_json());
  ASSERT_TRUE(parsed);
  for (const auto& [provider, list] : parsed.value().members()) {
    lines.append(lines.empty() ? "{\n" : ",\n").append("  \"").append(provider).append("\": ");
    lines.append(list.to_json());
  }
  lines.append("\n}\n");
  if (std::getenv("MILLRACE_WRITE_GOLDEN") != nullptr) std::ofstream(path) << lines;
  std::ifstream file(path);
  const std::string golden{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(lines, golden) << "MILLRACE_WRITE_GOLDEN=1 writes the file anew.";
}

TEST(Capability, KeepsKeysOutOfErrors) {
  ProviderConfig config = config_with_key("openai");
  config.api_keys = {"my-key"};
  const Error error = without_secrets(
      make_error(Errc::provider_error, "You sent my-key.", "my-key my-key"), secrets_of(config));
  EXPECT_EQ(error.message, "You sent [redacted].");
  EXPECT_EQ(error.detail, "[redacted] [redacted]");
}

}  // namespace
}  // namespace millrace::model
