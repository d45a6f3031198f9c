// Requests that are too long for the model, told from what sounds like them.
#include <gtest/gtest.h>

#include "model/failure/response_error.hpp"

namespace millrace::model {
namespace {

struct Overflow {
  std::string_view provider;
  int status;
  std::string_view body;
};

Errc code_of_refusal(const Overflow& one) {
  net::ResponseHead head;
  head.status = one.status;
  return error_from_response(head, one.body, one.provider, {}).code;
}

// Sources: the sentences that badlogic/pi-mono (packages/ai/src/utils/overflow.ts), sst/opencode
// and BerriAI/litellm match, with their vendors; ggml-org/llama.cpp, pull request 15780;
// continuedev/continue, issue 9971; Volcengine's error codes (document 82379/1299023), 2026.
constexpr Overflow too_long[] = {
    {"lmstudio", 400,
     R"({"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error","n_prompt_tokens":1407,"n_ctx":256}})"},
    {"newapi", 500, R"({"error":{"code":500,"message":"?","type":"exceed_context_size_error"}})"},
    {"ollama", 400,
     R"({"error":"request (13392 tokens) exceeds the available context size (8192 tokens), try increasing it"})"},
    {"xai", 400,
     R"({"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."})"},
    {"cohere", 400,
     R"({"message":"too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer inputs. The limit for this model is 128000 tokens."})"},
    {"cohere", 400,
     R"({"message":"too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4105."})"},
    {"huggingface", 422,
     R"({"error":"Input validation error: `inputs` must have less than 4096 tokens. Given: 5000","error_type":"validation"})"},
    {"togetherai", 422,
     R"({"error":{"message":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 4100 `inputs` tokens and 512 `max_new_tokens`","type":"invalid_request_error"}})"},
    {"zhipu", 400, R"({"error":{"code":"1261","message":"?"}})"},
    {"zai", 400, R"({"error":{"code":"1261","message":"?"}})"},
    {"glmcodingplan", 400, R"({"error":{"code":"1261","message":"?"}})"},
    {"newapi", 400, R"({"error":{"message":"Prompt exceeds max length"}})"},
    {"vllm", 400,
     R"({"error":{"message":"The decoder prompt (length 9000) is longer than the maximum model length of 8192. Make sure that `max_model_len` is no smaller than the number of text tokens.","code":400}})"},
    {"vllm", 400,
     R"({"error":{"message":"Input prompt (9000 tokens) is too long and exceeds limit of 8192","code":400}})"},
    {"openrouter", 400,
     R"({"error":{"message":"Input length 5000 exceeds the maximum allowed input length of 4096 tokens.","code":400}})"},
    {"newapi", 400,
     R"({"error":{"message":"Requested input length 40000 exceeds maximum input length 32768"}})"},
    {"siliconcloud", 413,
     R"({"code":20015,"message":"length of prompt_tokens (140000) must be less than max_seq_len (131072).","data":null})"},
    {"siliconcloud", 400,
     R"({"code":20015,"message":"number of input tokens (83121) have exceeded max_prompt_tokens (65536) limit.","data":null})"},
    {"volcengine", 400,
     R"({"error":{"code":"InvalidParameter","message":"Total tokens of image and text exceed max message tokens. Request id: x","type":"BadRequest"}})"},
    {"volcengine", 400, R"({"error":{"code":"OutofContextError","message":"?"}})"},
    {"newapi", 400,
     R"({"error":{"message":"prompt token count of 9000 exceeds the limit of 8192"}})"},
    {"bedrock", 400,
     R"({"message":"The model returned the following errors: Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again."})"},
    {"github", 413,
     R"({"error":{"code":"tokens_limit_reached","message":"Request body too large for gpt-4o model. Max size: 8000 tokens."}})"},
    {"newapi", 400,
     R"({"error":{"message":"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.","code":null}})"},
    {"wenxin", 400, R"({"error":{"code":"tokens_too_long","message":"?"}})"},
};

TEST(ContextOverflow, IsRecognisedInTheWordsOfItsVendor) {
  for (const Overflow& one : too_long) {
    EXPECT_EQ(row_of(code_of_refusal(one)).code, row_of(Errc::context_window_exceeded).code)
        << one.provider << ' ' << one.body;
  }
  EXPECT_EQ(error_from_stream("500", "Context size has been exceeded.").code,
            Errc::context_window_exceeded);
  EXPECT_EQ(error_from_stream("1039", "?", "minimaxcodingplan").code,
            Errc::context_window_exceeded);
}

struct OtherLimit {
  Overflow received;
  Errc code;
};

// Sources: the rate limits of Anthropic, OpenAI, Google, Bedrock, Groq and Cerebras in their
// documentation; OpenAI's refusal of a `max_tokens` that is too large, and TGI's (2026).
constexpr OtherLimit other_limits[] = {
    {{"anthropic", 429,
      R"({"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 40,000 input tokens per minute."}})"},
     Errc::rate_limited},
    {{"openai", 429,
      R"({"error":{"message":"Request too large for gpt-4o in organization org on tokens per min (TPM): Limit 30000, Requested 40000.","type":"tokens","code":"rate_limit_exceeded"}})"},
     Errc::rate_limited},
    {{"groq", 413,
      R"({"error":{"message":"Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}})"},
     Errc::rate_limited},
    {{"google", 429,
      R"({"error":{"code":429,"message":"Quota exceeded for quota metric 'Generate Content input token count' and limit 'input token count per minute'.","status":"RESOURCE_EXHAUSTED"}})"},
     Errc::rate_limited},
    {{"bedrock", 429,
      R"({"__type":"ThrottlingException","message":"Too many tokens, please wait before trying again."})"},
     Errc::rate_limited},
    {{"cerebras", 429,
      R"({"message":"Tokens per day limit exceeded - too many tokens processed.","type":"too_many_tokens_error","code":"token_quota_exceeded"})"},
     Errc::rate_limited},
    {{"newapi", 429,
      R"({"error":{"message":"prompt token count of 9000 exceeds the limit of 8192 a minute"}})"},
     Errc::rate_limited},
    {{"openai", 400,
      R"({"error":{"message":"max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.","type":"invalid_request_error","param":"max_tokens","code":"invalid_value"}})"},
     Errc::provider_bad_request},
    {{"huggingface", 422,
      R"({"error":"Input validation error: `max_new_tokens` must be <= 4096. Given: 5000","error_type":"validation"})"},
     Errc::provider_bad_request},
    {{"bedrock", 400,
      R"({"message":"The model returned the following errors: Malformed input request: expected maxLength: 2500, actual: 3000, please reformat your input and try again."})"},
     Errc::provider_bad_request},
    {{"google", 400,
      R"({"error":{"code":400,"message":"The request payload size exceeds the limit: 20971520 bytes.","status":"INVALID_ARGUMENT"}})"},
     Errc::provider_bad_request},
    {{"openai", 400, R"({"error":{"code":"1261","message":"?"}})"}, Errc::provider_bad_request},
};

TEST(ContextOverflow, IsNotReadIntoOtherLimits) {
  for (const OtherLimit& one : other_limits) {
    EXPECT_EQ(row_of(code_of_refusal(one.received)).code, row_of(one.code).code)
        << one.received.provider << ' ' << one.received.body;
  }
}

}  // namespace
}  // namespace millrace::model
