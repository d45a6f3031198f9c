// What vendors say, told apart.
#include "model/failure/response_error.hpp"

#include <gtest/gtest.h>

#include <array>
#include <utility>

#include "base/json.hpp"

namespace millrace::model {
namespace {

struct Case {
  std::string_view provider;
  int status;
  std::string_view body;
  Errc code;
};

constexpr std::string_view openai_quota =
    R"({"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}})";
constexpr std::string_view openai_rate =
    R"({"error":{"message":"Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000. Please try again in 1.2s.","type":"tokens","param":null,"code":"rate_limit_exceeded"}})";
constexpr std::string_view openai_context =
    R"({"error":{"message":"This model's maximum context length is 128000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}})";
constexpr std::string_view anthropic_context =
    R"({"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}})";
constexpr std::string_view anthropic_credit =
    R"({"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}})";
constexpr std::string_view google_rate =
    R"([{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]}}])";
constexpr std::string_view google_key =
    R"({"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}})";

constexpr Case cases[] = {
    {"openai", 401,
     R"({"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}})",
     Errc::authentication_failed},
    {"openai", 401, R"({"error":{"message":"gone","code":"account_deactivated"}})",
     Errc::account_deactivated},
    {"openai", 403,
     R"({"error":{"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported"}})",
     Errc::location_not_supported},
    {"openai", 403, R"({"error":{"message":"Project does not have access to model"}})",
     Errc::permission_denied},
    {"openai", 404,
     R"({"error":{"message":"The model `x` does not exist","code":"model_not_found"}})",
     Errc::model_not_found},
    {"openai", 429, openai_quota, Errc::insufficient_quota},
    {"qwen", 403,
     R"({"error":{"code":"AllocationQuota.FreeTierOnly","message":"The free tier of the model has been exhausted."}})",
     Errc::insufficient_quota},
    {"openai", 400,
     R"({"error":{"message":"prompt token count of 200000 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}})",
     Errc::context_window_exceeded},
    {"openai", 429, openai_rate, Errc::rate_limited},
    {"openai", 429, "", Errc::rate_limited},
    {"openai", 400, openai_context, Errc::context_window_exceeded},
    {"openai", 400,
     R"({"error":{"message":"Invalid 'tools': array too long. Expected an array with maximum length 128"}})",
     Errc::tool_limit_exceeded},
    {"openai", 500, R"({"error":{"message":"The server had an error","type":"server_error"}})",
     Errc::provider_error},
    {"openai", 503, "<html>busy</html>", Errc::provider_overloaded},
    {"openai", 408, "", Errc::first_byte_timeout},
    {"openai", 502, "<html>Bad gateway</html>", Errc::connection_lost},
    {"openai", 502, R"({"error":{"message":"Overloaded","type":"overloaded_error"}})",
     Errc::provider_overloaded},
    {"openai", 504, "", Errc::first_byte_timeout},
    {"openai", 520, "", Errc::connection_lost},
    {"openai", 524, "", Errc::first_byte_timeout},
    {"openai", 418, "", Errc::provider_bad_request},
    {"azure", 400,
     R"({"error":{"code":"content_filter","message":"The response was filtered","innererror":{"code":"ResponsibleAIPolicyViolation"}}})",
     Errc::content_filtered},
    {"azure", 404, R"({"error":{"code":"DeploymentNotFound","message":"no"}})",
     Errc::model_not_found},
    {"anthropic", 400, anthropic_context, Errc::context_window_exceeded},
    {"anthropic", 400, anthropic_credit, Errc::insufficient_quota},
    {"anthropic", 403, R"({"error":{"type":"forbidden","message":"Request not allowed"}})",
     Errc::location_not_supported},
    {"anthropic", 403, R"({"type":"error","error":{"type":"permission_error","message":"no"}})",
     Errc::permission_denied},
    {"anthropic", 529,
     R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})",
     Errc::provider_overloaded},
    {"groq", 403, "", Errc::location_not_supported},
    {"google", 400, google_key, Errc::authentication_failed},
    {"google", 429, google_rate, Errc::rate_limited},
    {"google", 400,
     R"({"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}})",
     Errc::location_not_supported},
    {"bedrock", 403,
     R"({"__type":"UnrecognizedClientException","message":"The security token included in the request is invalid."})",
     Errc::invalid_bedrock_credentials},
    {"bedrock", 429, R"({"__type":"ThrottlingException","message":"Too many requests"})",
     Errc::rate_limited},
    {"vertexai", 401, R"({"error":{"code":401,"status":"UNAUTHENTICATED"}})",
     Errc::invalid_vertex_credentials},
    {"github", 401, "", Errc::invalid_github_token},
    {"githubcopilot", 401, "", Errc::invalid_copilot_token},
    {"deepseek", 402, R"({"error":{"message":"Insufficient Balance"}})", Errc::insufficient_quota},
    {"zhipu", 429, R"({"error":{"code":"1113","message":"..."}})", Errc::insufficient_quota},
    {"zhipu", 429, R"({"error":{"code":"1302","message":"..."}})", Errc::rate_limited},
    {"minimax", 200, R"({"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}})",
     Errc::insufficient_quota},
    {"qwen", 400,
     R"({"code":"data_inspection_failed","message":"Input data may contain inappropriate content."})",
     Errc::content_filtered},
    {"ollama", 404, R"({"error":"model 'x' not found, try pulling it first"})",
     Errc::model_not_found},
    {"ollama", 400, R"({"error":"registry.ollama.ai/library/x does not support tools"})",
     Errc::capability_not_supported},
    {"newapi", 503, R"({"error":{"message":"No available channel for model x"}})",
     Errc::no_available_channel},
    {"openrouter", 402, R"({"error":{"code":402,"message":"This request requires more credits"}})",
     Errc::insufficient_quota},
    {"mistral", 422, R"({"detail":[{"msg":"field required"}]})", Errc::provider_bad_request},
    {"anthropic", 400,
     R"({"error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}})",
     Errc::content_filtered},
    {"openai", 400,
     R"({"error":{"code":"invalid_prompt","message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy."}})",
     Errc::content_filtered},
    {"xai", 403,
     R"({"code":"permission-denied","error":"Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO"})",
     Errc::content_filtered},
    {"xai", 403, R"({"error":"Your newly created team doesn't have any credits or licenses yet."})",
     Errc::insufficient_quota},
    {"xai", 429,
     R"({"error":"Your team x has either used all available credits or reached its monthly spending limit."})",
     Errc::insufficient_quota},
    {"fireworksai", 412,
     R"({"error":{"message":"Account x is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices."}})",
     Errc::insufficient_quota},
    {"openrouter", 403, R"({"error":{"message":"Key limit exceeded (total limit).","code":403}})",
     Errc::insufficient_quota},
    {"openrouter", 429, R"({"error":{"message":"Key limit exceeded for a minute.","code":429}})",
     Errc::rate_limited},
    {"cloudflare", 429,
     R"({"errors":[{"message":"AiError: you have used up your daily free allocation of 10,000 neurons","code":4006}],"success":false})",
     Errc::insufficient_quota},
    {"volcengine", 403, R"({"error":{"code":"AccountOverdueError","message":"?"}})",
     Errc::insufficient_quota},
    {"volcengine", 429, R"({"error":{"code":"SetLimitExceeded","message":"?"}})",
     Errc::insufficient_quota},
    {"volcengine", 400, R"({"error":{"code":"SensitiveContentDetected.Violence","message":"?"}})",
     Errc::content_filtered},
    {"volcengine", 400, R"({"error":{"code":"InputTextSensitiveContentDetected","message":"?"}})",
     Errc::content_filtered},
    {"volcengine", 400, R"({"error":{"code":"OutputTextRiskDetection","message":"?"}})",
     Errc::content_filtered},
    {"zhipu", 400, R"({"error":{"code":"1211","message":"?"}})", Errc::model_not_found},
    {"zai", 429, R"({"error":{"code":"1305","message":"?"}})", Errc::provider_overloaded},
    {"spark", 200, R"({"error":{"code":"11202","message":"AppIdQpsOverFlowError"}})",
     Errc::rate_limited},
    {"spark", 200, R"({"error":{"code":"11200","message":"AppIdNoAuthError"}})",
     Errc::permission_denied},
    {"togetherai", 404, R"({"error":{"code":"model_not_available","message":"?"}})",
     Errc::model_not_found},
    {"groq", 400,
     R"({"error":{"type":"invalid_request_error","message":"The model `a b` does not exist."}})",
     Errc::model_not_found},
    {"vllm", 400, R"({"object":"error","message":"Model with id 'x' doesn't exist","code":400})",
     Errc::model_not_found},
    {"openai", 400,
     R"({"error":{"type":"invalid_request_error","message":"The model failed. The file 'f' does not exist."}})",
     Errc::provider_bad_request},
    {"openai", 400,
     R"({"error":{"message":"A tool that an earlier answer of this model named in its list does not exist."}})",
     Errc::provider_bad_request},
    {"openrouter", 404,
     R"({"error":{"message":"All providers have been ignored. To change your default ignored providers, visit x","code":404}})",
     Errc::invalid_option},
    {"openai", 400, R"({"error":{"message":"endpoint 'v1/responses' not provided"}})",
     Errc::invalid_option},
    {"bedrock", 424, R"({"message":"The model failed."})", Errc::provider_error},
    {"bedrock", 400, R"({"__type":"ModelErrorException","message":"The model failed."})",
     Errc::provider_error},
};

TEST(ResponseError, TellsWhatVendorsSayApart) {
  for (const Case& one : cases) {
    net::ResponseHead head;
    head.status = one.status;
    const Error error = error_from_response(head, one.body, one.provider, {});
    EXPECT_EQ(error.code_name(), row_of(one.code).code) << one.provider << ' ' << one.body;
  }
}

// Gateways answer 400 to much that is no fault of the request.
TEST(ResponseError, KnowsTheSentencesOfGateways) {
  constexpr std::pair<std::string_view, Errc> sentences[] = {
      {"Billing hard limit has been reached", Errc::insufficient_quota},
      {"The free tier of the model has been exhausted.", Errc::insufficient_quota},
      {"You exceeded your current token quota: 5", Errc::insufficient_quota},
      {"Your account does not have a valid coding plan subscription", Errc::insufficient_quota},
      {"You have exceeded the 5-hour usage quota. It resets at 9.", Errc::insufficient_quota},
      {"this model requires a subscription", Errc::insufficient_quota},
      {"[sk-x] token quota is not enough, token remain quota: 1", Errc::insufficient_quota},
      {"Prompt tokens limit exceeded: 9 > 8", Errc::insufficient_quota},
      {"\xE7\x94\xA8\xE6\x88\xB7\xE9\xA2\x9D\xE5\xBA\xA6\xE4\xB8\x8D\xE8\xB6\xB3",
       Errc::insufficient_quota},
      {"\xE8\xAF\xB7\xE6\xA3\x80\xE6\x9F\xA5 API Key "
       "\xE4\xBD\x99\xE9\xA2\x9D\xE6\x98\xAF\xE5\x90\xA6\xE5\x85\x85\xE8\xB6\xB3",
       Errc::insufficient_quota},
      {"Resource exhausted, try again", Errc::rate_limited},
      {"Quota exceeded for metric: requests", Errc::rate_limited},
      {"Concurrency limit exceeded", Errc::rate_limited},
      {"\xE6\x82\xA8\xE7\x9A\x84\xE8\xB4\xA6\xE6\x88\xB7\xE5\xB7\xB2\xE8\xBE\xBE\xE5\x88\xB0\xE9"
       "\x80\x9F\xE7\x8E\x87\xE9\x99\x90\xE5\x88\xB6",
       Errc::rate_limited},
      {"This model is currently experiencing high demand", Errc::provider_overloaded},
      {"Service temporarily unavailable", Errc::provider_overloaded},
      {"System is too busy now. Please try again later.", Errc::provider_overloaded},
      {"\xE8\xAF\xA5\xE6\xA8\xA1\xE5\x9E\x8B\xE5\xBD\x93\xE5\x89\x8D\xE8\xAE\xBF\xE9\x97\xAE\xE9"
       "\x87\x8F\xE8\xBF\x87\xE5\xA4\xA7",
       Errc::provider_overloaded},
      {"No available accounts", Errc::no_available_channel},
      {"No allowed providers are available for the selected model", Errc::no_available_channel},
      {"\xE6\xA8\xA1\xE5\x9E\x8B\xE5\x80\x8D\xE7\x8E\x87\xE6\x88\x96\xE4\xBB\xB7\xE6\xA0\xBC\xE6"
       "\x9C\xAA\xE9\x85\x8D\xE7\xBD\xAE",
       Errc::no_available_channel},
      {"The model `x` does not exist or you do not have access to it.", Errc::model_not_found},
      {"Not found the model x", Errc::model_not_found},
      {"x reached its end of life on 2026-01-01", Errc::model_not_found},
      {"Invalid token (request id: 1)", Errc::authentication_failed},
      {"Your API key was reported as leaked.", Errc::authentication_failed},
      {"This token has no access to model x", Errc::permission_denied},
      {"\xE8\xAF\xA5\xE4\xBB\xA4\xE7\x89\x8C\xE6\x97\xA0\xE6\x9D\x83\xE8\xAE\xBF\xE9\x97\xAE\xE6"
       "\xA8\xA1\xE5\x9E\x8B x",
       Errc::permission_denied},
      {"Your account has been disabled", Errc::account_deactivated},
      {"The account is disabled", Errc::account_deactivated},
      {"The model is not a VLM", Errc::capability_not_supported},
      {"Function call is not supported for this model", Errc::capability_not_supported},
      {"Your request contains prohibited content", Errc::content_filtered},
      {"output new_sensitive (1027)", Errc::content_filtered},
      {"\xE6\x8A\xB1\xE6\xAD\x89\xEF\xBC\x8C\xE6\x82\xA8\xE6\x89\x80\xE8\xBE\x93\xE5\x85\xA5\xE7"
       "\x9A\x84\xE5\x86\x85\xE5\xAE\xB9\xE5\x90\xAB\xE6\x9C\x89\xE8\xBF\x9D\xE8\xA7\x84\xE4\xBF"
       "\xA1\xE6\x81\xAF",
       Errc::content_filtered},
  };
  for (const auto& [sentence, code] : sentences) {
    std::string error = R"({"type":"invalid_request_error")";
    json::append_member(error, "message", sentence);
    net::ResponseHead head;
    head.status = 400;
    const Error read = error_from_response(head, R"({"error":)" + error + "}}", "openai", {});
    EXPECT_EQ(read.code_name(), row_of(code).code) << sentence;
  }
}

TEST(ResponseError, KeepsMessageRequestIdAndWait) {
  net::ResponseHead head;
  head.status = 429;
  head.headers = {{"X-Request-Id", "req_123"}};
  const Error rate = error_from_response(head, openai_rate, "openai", {});
  EXPECT_EQ(rate.request_id, "req_123");
  EXPECT_EQ(rate.upstream_status, 429);
  EXPECT_EQ(rate.retry_after, std::chrono::milliseconds(1200));
  EXPECT_NE(rate.message.find("Rate limit reached for gpt-4o"), std::string::npos);
  EXPECT_EQ(rate.type_name(), "RateLimitExceeded");
  EXPECT_EQ(error_from_response(head, google_rate, "google", {}).retry_after,
            std::chrono::seconds(34));
}

TEST(ResponseError, DescribesAPageInsteadOfCopyingIt) {
  const auto message_of = [](int status, std::string_view body) {
    net::ResponseHead head;
    head.status = status;
    return error_from_response(head, body, "openai", {}).message;
  };
  const std::string page =
      "\xEF\xBB\xBF\n<!-- edge -->\n<!DOCTYPE html>\n<html><head><TITLE lang=en>502 Bad\n  Gateway"
      "</TITLE></head><body><h1>nginx</h1></body></html>";
  EXPECT_EQ(message_of(502, page).find(
                R"(The provider answered 502 with an HTML page titled "502 Bad Gateway". )"),
            0U)
      << message_of(502, page);
  EXPECT_EQ(message_of(502, page).find("nginx"), std::string::npos);
  // Where no API is, the address is more likely wrong than the model.
  const std::string missing = message_of(404, "<!doctype html><title>Not here</title>");
  EXPECT_EQ(missing.find("The provider answered 404 with an HTML page titled \"Not here\". Check "
                         "`baseURL`: there are web pages at this address, and no API. "),
            0U)
      << missing;
  EXPECT_EQ(message_of(500, "<html>sk-0123456789</html>")
                .find("The provider answered 500 with an HTML page. "),
            0U);
  // A gateway may put another one's page into its own JSON, or into an answer's stream.
  const std::string inner =
      R"({"error":{"message":"<html><title>Oops</title><p>gone</p></html>"}})";
  EXPECT_NE(message_of(500, inner).find(R"(500 with an HTML page titled "Oops".)"),
            std::string::npos);
  const Error reported = error_from_stream("502", "<html><title>Oops</title></html>", "openai");
  EXPECT_NE(reported.message.find(R"(an HTML page titled "Oops".)"), std::string::npos);
  EXPECT_EQ(reported.message.find('<'), std::string::npos);
  // Others may speak of tags.
  const std::string other = R"({"error":{"message":"<tool> is no tag that is known"}})";
  EXPECT_NE(message_of(400, other).find("<tool> is no tag"), std::string::npos);
  EXPECT_EQ(message_of(500, "<header-x> is none").find("an HTML page"), std::string::npos);
  EXPECT_EQ(message_of(500, "<body_error>bad</body_error>").find("an HTML page"),
            std::string::npos);
  EXPECT_NE(message_of(500, "<title>never ends").find("an HTML page. "), std::string::npos);
  std::string notes;
  for (int i = 0; i < 100'000; ++i) notes += "<!---->";
  EXPECT_NE(message_of(500, notes + "<html/>").find("an HTML page. "), std::string::npos);
}

TEST(ResponseError, KnowsTheCodesOfFailedResponses) {
  constexpr std::array<std::pair<std::string_view, Errc>, 8> codes{{
      {"bio_policy", Errc::content_filtered},
      {"misalignment_policy_violation", Errc::content_filtered},
      {"image_content_policy_violation", Errc::content_filtered},
      {"invalid_image_url", Errc::provider_bad_request},
      {"image_too_large", Errc::provider_bad_request},
      {"empty_image_file", Errc::provider_bad_request},
      {"data_residency_mismatch", Errc::provider_bad_request},
      {"server_error", Errc::provider_error},
  }};
  for (const auto& [code, expected] : codes) {
    EXPECT_EQ(error_from_stream(code, "It failed.", "openai").code, expected) << code;
  }
}

std::string relayed(std::string_view raw, std::string_view name = "OpenAI") {
  std::string metadata = "{";
  json::append_member(metadata, "raw", raw);
  json::append_member(metadata, "provider_name", name);
  return R"({"error":{"message":"Provider returned error","code":400,"metadata":)" + metadata +
         "}}}";
}

TEST(ResponseError, TellsWhatTheVendorBehindAGatewaySaid) {
  const auto read = [](int status, const std::string& body) {
    net::ResponseHead head;
    head.status = status;
    return error_from_response(head, body, "openrouter", {});
  };
  const Error context = read(
      400, relayed(R"({"error":{"message":"It is too much.","code":"context_length_exceeded"}})"));
  EXPECT_EQ(context.code, Errc::context_window_exceeded);
  EXPECT_EQ(context.message, "The provider answered 400: OpenAI: It is too much.");
  const Error order = read(
      400,
      relayed(R"({"object":"error","message":"Unexpected role 'user'","code":"3230"})", "Mistral"));
  EXPECT_EQ(order.code, Errc::provider_bad_request);
  EXPECT_EQ(order.message, "The provider answered 400: Mistral: Unexpected role 'user'");
  EXPECT_EQ(read(400, relayed(R"([{"error":{"message":"It is too much."}}])", "")).message,
            "The provider answered 400: It is too much.");
  const Error busy = read(429, relayed("x is temporarily rate-limited upstream.", "Venice"));
  EXPECT_EQ(busy.code, Errc::rate_limited);
  EXPECT_EQ(busy.message,
            "The provider answered 429: Venice: x is temporarily rate-limited upstream.");
  // Secrets and pages of the vendor's are not shown.
  const std::string key = "sk-proj-" + std::string(40, 'a');
  const Error reported = read(400, relayed(R"({"error":{"message":"bad key )" + key + R"("}})"));
  EXPECT_EQ(reported.message.find(key), std::string::npos) << reported.message;
  EXPECT_NE(read(502, relayed("<html><title>Oops</title></html>"))
                .message.find(R"(an HTML page titled "Oops".)"),
            std::string::npos);
  // The account of a gateway that fails is not the user's.
  EXPECT_EQ(read(502, relayed(R"({"error":{"message":"No.","code":"invalid_api_key"}})")).code,
            Errc::connection_lost);
  // What the gateway itself says stays.
  EXPECT_EQ(read(400, R"({"error":{"message":"No route.","metadata":{"raw":"gone"}}})").message,
            "The provider answered 400: No route. (gone)");
}

TEST(ResponseError, ReadsErrorsInsideAnswers) {
  EXPECT_EQ(error_from_stream("overloaded_error", "Overloaded", "anthropic").code,
            Errc::provider_overloaded);
  EXPECT_EQ(error_from_stream("", "Rate limit reached", "openai").code, Errc::rate_limited);
  EXPECT_EQ(error_from_stream("502", "Upstream failed", "openrouter").code, Errc::connection_lost);
  EXPECT_EQ(error_from_stream("429", "slow down", "openrouter").code, Errc::rate_limited);
  EXPECT_EQ(error_from_stream("stream_truncated", "cut", "openai").code, Errc::stream_truncated);
  EXPECT_EQ(error_from_stream("content_filter", "stopped", "openai").code, Errc::content_filtered);
  EXPECT_EQ(error_from_stream("", "something odd", "openai").code, Errc::provider_error);
  EXPECT_EQ(error_from_stream("1004", "login fail", "minimax").code, Errc::authentication_failed);
  EXPECT_EQ(error_from_stream("2049", "invalid key", "minimax").code, Errc::authentication_failed);
  EXPECT_EQ(error_from_stream("1008", "no money", "minimax").code, Errc::insufficient_quota);
  EXPECT_EQ(error_from_stream("1039", "token limit", "minimax").code,
            Errc::context_window_exceeded);
  EXPECT_EQ(error_from_stream("1002", "wait", "minimax").code, Errc::rate_limited);
  EXPECT_EQ(error_from_stream("1027", "output", "minimax").code, Errc::content_filtered);
  EXPECT_EQ(error_from_stream("30001", "Sorry.", "siliconcloud").code, Errc::insufficient_quota);
  EXPECT_EQ(error_from_stream("50505", "Later.", "siliconcloud").code, Errc::provider_overloaded);
  EXPECT_EQ(error_from_stream("", "No available keys in pool.", "newapi").code,
            Errc::no_available_channel);
  EXPECT_EQ(error_from_stream("20012", "Model does not exist.", "siliconcloud").code,
            Errc::model_not_found);
}

TEST(ResponseError, TellsReasonsToFinishApart) {
  struct Row {
    std::string_view reason;
    Errc code;
  };
  constexpr Row rows[] = {
      {"length", Errc::output_limit_reached},
      {"MAX_TOKENS", Errc::output_limit_reached},
      {"max_output_tokens", Errc::output_limit_reached},
      {"model_length", Errc::context_window_exceeded},
      {"model_context_window_exceeded", Errc::context_window_exceeded},
      {"ERROR_LIMIT", Errc::context_window_exceeded},
      {"content_filter", Errc::content_filtered},
      {"content-filter", Errc::content_filtered},
      {"SAFETY", Errc::content_filtered},
      {"RECITATION", Errc::content_filtered},
      {"BLOCKLIST", Errc::content_filtered},
      {"SPII", Errc::content_filtered},
      {"IMAGE_SAFETY", Errc::content_filtered},
      {"MODEL_ARMOR", Errc::content_filtered},
      {"ERROR_TOXIC", Errc::content_filtered},
      {"guardrail_intervened", Errc::content_filtered},
      {"content_filtered", Errc::content_filtered},
      {"refusal", Errc::content_filtered},
      {"sensitive", Errc::content_filtered},
      {"LANGUAGE", Errc::capability_not_supported},
      {"NO_IMAGE", Errc::no_image_generated},
      {"MALFORMED_FUNCTION_CALL", Errc::provider_error},
      {"malformed_tool_use", Errc::provider_error},
      {"repetition_truncation", Errc::provider_error},
      {"OTHER", Errc::provider_error},
      {"SOMETHING_NEW", Errc::provider_error},
  };
  for (const Row& row : rows) {
    const Error error = error_from_finish(row.reason, "The answer is not whole.");
    EXPECT_EQ(error.code, row.code) << row.reason << ": " << error.code_name();
    const bool is_known = row.code != Errc::provider_error;
    EXPECT_EQ(error.retry() == RetryClass::no, is_known) << row.reason;
  }
  for (const std::string_view reason :
       {"error", "ERROR", "TIMEOUT", "network_error", "abort", "insufficient_system_resource"}) {
    EXPECT_EQ(error_from_finish(reason, "It failed.").code, Errc::provider_overloaded) << reason;
  }
  // The words are no codes: a refused request may have them, too.
  EXPECT_EQ(error_from_stream("refusal", "boom").code, Errc::provider_error);
  EXPECT_EQ(error_from_stream("invalid_prompt", "boom").code, Errc::provider_bad_request);
  EXPECT_EQ(error_from_stream("tool_use_failed", "boom").code, Errc::provider_bad_request);
  EXPECT_EQ(error_from_stream("overloaded", "Model too busy").code, Errc::provider_overloaded);
  // A code that stands for none leaves the sentence to be read.
  EXPECT_EQ(error_from_stream("provider_error", "model not found").code, Errc::model_not_found);
}

TEST(ResponseError, EveryClassOfAProvidersErrorHasACode) {
  for (const std::string_view type :
       {"InvalidProviderAPIKey", "InsufficientQuota", "RateLimitExceeded", "ModelNotFound",
        "ExceededContextWindow", "ProviderBizError"}) {
    const auto code = code_of_type(type);
    ASSERT_TRUE(code) << type;
    EXPECT_EQ(row_of(row_of(*code).type).name, type);
  }
  EXPECT_EQ(code_of_type("QuotaLimitReached"), Errc::rate_limited);
  EXPECT_FALSE(code_of_type("Nonsense"));
}

TEST(ResponseError, ARejectedCopilotTokenHasItsOwnCode) {
  const Error error =
      error_of_provider(make_error(Errc::authentication_failed, "bad token t9"), "githubcopilot");
  EXPECT_EQ(error.code_name(), "invalid_copilot_token");
  EXPECT_NE(error.message.find("bad token t9"), std::string::npos);
}

}  // namespace
}  // namespace millrace::model
