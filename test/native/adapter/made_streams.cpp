#include "made_streams.hpp"

#include <array>

namespace millrace::test {
namespace {

constexpr std::array chat_records{
    MadeRecord{"", R"({"id":"cc_1","object":"chat.completion.chunk","created":5,"model":"m",)"
                   R"("system_fingerprint":"fp","service_tier":"default","choices":[{"index":0,)"
                   R"("delta":{"role":"assistant","content":""},"logprobs":null,)"
                   R"("finish_reason":null}]})"},
    MadeRecord{"", R"({"id":"cc_1","object":"chat.completion.chunk","created":5,"model":"m",)"
                   R"("choices":[{"index":0,"delta":{"reasoning_content":"think one"},)"
                   R"("finish_reason":null}]})"},
    MadeRecord{"", R"({"id":"cc_1","object":"chat.completion.chunk","created":5,"model":"m",)"
                   R"("choices":[{"index":0,"delta":{"content":"Text one","annotations":[{"type":)"
                   R"("url_citation","url_citation":{"url":"https://u.example","title":"U"}}]},)"
                   R"("finish_reason":null}]})"},
    MadeRecord{"", R"({"id":"cc_1","object":"chat.completion.chunk","created":5,"model":"m",)"
                   R"("choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1",)"
                   R"("type":"function","function":{"name":"f","arguments":"{\"a\":"}}]},)"
                   R"("finish_reason":null}]})"},
    MadeRecord{"", R"({"id":"cc_1","object":"chat.completion.chunk","created":5,"model":"m",)"
                   R"("choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":)"
                   R"({"arguments":"7}"}},{"index":1,"id":"call_2","type":"function","function":)"
                   R"({"name":"g","arguments":"{}"}}]},"finish_reason":null}]})"},
    MadeRecord{"", R"({"id":"cc_1","object":"chat.completion.chunk","created":5,"model":"m",)"
                   R"("choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]})"},
    MadeRecord{"", R"({"id":"cc_1","object":"chat.completion.chunk","created":5,"model":"m",)"
                   R"("choices":[],"usage":{"prompt_tokens":5,"completion_tokens":6,)"
                   R"("total_tokens":11,"prompt_tokens_details":{"cached_tokens":2}}})"},
};

constexpr std::array mistral_records{
    MadeRecord{"", R"({"id":"mi_1","object":"chat.completion.chunk","created":5,"model":"m",)"
                   R"("choices":[{"index":0,"delta":{"role":"assistant","content":[{"type":)"
                   R"("thinking","thinking":[{"type":"text","text":"think one"}],"closed":true,)"
                   R"("signature":"SIGM"}]},"finish_reason":null}]})"},
    MadeRecord{"", R"({"id":"mi_1","model":"m","choices":[{"index":0,"delta":{"content":[{"type":)"
                   R"("text","text":"Text one"},{"type":"reference","reference_ids":[1,2]}]},)"
                   R"("finish_reason":null}]})"},
    MadeRecord{"", R"({"id":"mi_1","model":"m","choices":[{"index":0,"delta":{"tool_calls":[)"
                   R"({"index":0,"id":"abcdefghi","type":"function","function":{"name":"f",)"
                   R"("arguments":"{\"a\":1}"}}]},"finish_reason":"tool_calls"}],"usage":)"
                   R"({"prompt_tokens":5,"completion_tokens":6,"total_tokens":11}})"},
};

constexpr std::array anthropic_records{
    MadeRecord{"",
               R"({"type":"message_start","message":{"id":"msg_1","type":"message","role":)"
               R"("assistant","content":[],"model":"c","stop_reason":null,"stop_sequence":null,)"
               R"("usage":{"input_tokens":10,"cache_read_input_tokens":3,"service_tier":)"
               R"("standard","server_tool_use":{"web_search_requests":1}}}})"},
    MadeRecord{"", R"({"type":"content_block_start","index":0,"content_block":{"type":"thinking",)"
                   R"("thinking":"","signature":""}})"},
    MadeRecord{"", R"({"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta",)"
                   R"("thinking":"think one"}})"},
    MadeRecord{"", R"({"type":"content_block_delta","index":0,"delta":{"type":"signature_delta",)"
                   R"("signature":"SIGA"}})"},
    MadeRecord{"", R"({"type":"content_block_stop","index":0})"},
    MadeRecord{"", R"({"type":"content_block_start","index":1,"content_block":{"type":"text",)"
                   R"("text":""}})"},
    MadeRecord{"", R"({"type":"content_block_delta","index":1,"delta":{"type":"text_delta",)"
                   R"("text":"Text one"}})"},
    MadeRecord{"",
               R"({"type":"content_block_delta","index":1,"delta":{"type":"citations_delta",)"
               R"("citation":{"type":"web_search_result_location","url":"https://c.example"}}})"},
    MadeRecord{"", R"({"type":"content_block_stop","index":1})"},
    MadeRecord{"", R"({"type":"content_block_start","index":2,"content_block":{"type":)"
                   R"("server_tool_use","id":"srv_1","name":"web_search","input":{}}})"},
    MadeRecord{"", R"({"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta",)"
                   R"("partial_json":"{\"query\":\"rain\"}"}})"},
    MadeRecord{"", R"({"type":"content_block_stop","index":2})"},
    MadeRecord{"",
               R"({"type":"content_block_start","index":3,"content_block":{"type":)"
               R"("web_search_tool_result","tool_use_id":"srv_1","content":[{"type":)"
               R"("web_search_result","url":"https://w.example","encrypted_content":"ENC"}]}})"},
    MadeRecord{"", R"({"type":"content_block_stop","index":3})"},
    MadeRecord{"", R"({"type":"content_block_start","index":4,"content_block":{"type":"tool_use",)"
                   R"("id":"tu_1","name":"f","input":{}}})"},
    MadeRecord{"", R"({"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta",)"
                   R"("partial_json":"{\"a\":1}"}})"},
    MadeRecord{"", R"({"type":"content_block_stop","index":4})"},
    MadeRecord{"", R"({"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":)"
                   R"(null,"container":{"id":"cont_1"}},"usage":{"output_tokens":7}})"},
    MadeRecord{"", R"({"type":"message_stop"})"},
};

constexpr std::array gemini_records{
    MadeRecord{"", R"({"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":)"
                   R"("think one","thought":true,"thoughtSignature":"U0lHQQ=="}]}}],)"
                   R"("modelVersion":"g","responseId":"resp_1"})"},
    MadeRecord{"", R"({"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":)"
                   R"("Text one"},{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}},)"
                   R"({"executableCode":{"language":"PYTHON","code":"print(1);"}},)"
                   R"({"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"one out"}}]},)"
                   R"("safetyRatings":[{"category":"H","probability":"LOW","blocked":false}]}],)"
                   R"("modelVersion":"g","responseId":"resp_1"})"},
    MadeRecord{"",
               R"({"candidates":[{"index":0,"content":{"role":"model","parts":[)"
               R"({"functionCall":{"id":"fc_1","name":"f","args":{"a":"b"}},)"
               R"("thoughtSignature":"U0lHQg=="}]},"finishReason":"STOP","finishMessage":"end",)"
               R"("groundingMetadata":{"webSearchQueries":["q1"],"groundingChunks":[{"web":)"
               R"({"uri":"https://g.example"}}]}}],"usageMetadata":{"promptTokenCount":3,)"
               R"("candidatesTokenCount":5,"totalTokenCount":8},"modelVersion":"g",)"
               R"("responseId":"resp_1"})"},
};

constexpr std::array interactions_records{
    MadeRecord{"", R"({"event_type":"interaction.created","event_id":"e1","interaction":{"id":)"
                   R"("in_1","object":"interaction","model":"g","status":"in_progress"}})"},
    MadeRecord{"", R"({"event_type":"step.start","index":0,"event_id":"e2","step":{"type":)"
                   R"("thought"}})"},
    MadeRecord{"", R"({"event_type":"step.delta","index":0,"event_id":"e3","delta":{"type":)"
                   R"("thought_summary","content":{"type":"text","text":"think one"}}})"},
    MadeRecord{"", R"({"event_type":"step.delta","index":0,"event_id":"e4","delta":{"type":)"
                   R"("thought_signature","signature":"SIGI"}})"},
    MadeRecord{"", R"({"event_type":"step.stop","index":0,"event_id":"e5"})"},
    MadeRecord{"", R"({"event_type":"step.start","index":1,"event_id":"e6","step":{"type":)"
                   R"("model_output"}})"},
    MadeRecord{"", R"({"event_type":"step.delta","index":1,"event_id":"e7","delta":{"type":"text",)"
                   R"("text":"Text one"}})"},
    MadeRecord{"", R"({"event_type":"step.delta","index":1,"event_id":"e8","delta":{"type":)"
                   R"("text_annotation_delta","annotations":[{"url":"https://a.example"}]}})"},
    MadeRecord{"", R"({"event_type":"step.stop","index":1,"event_id":"e9"})"},
    MadeRecord{"", R"({"event_type":"step.start","index":2,"event_id":"e10","step":{"type":)"
                   R"("google_search_call","id":"gs_1","arguments":{"queries":["q1"]},)"
                   R"("signature":"SIGS"}})"},
    MadeRecord{"", R"({"event_type":"step.stop","index":2,"event_id":"e11"})"},
    MadeRecord{"", R"({"event_type":"step.start","index":3,"event_id":"e12","step":{"type":)"
                   R"("google_search_result","call_id":"gs_1","result":[{"url":"u"}],)"
                   R"("is_error":false}})"},
    MadeRecord{"", R"({"event_type":"step.stop","index":3,"event_id":"e13"})"},
    MadeRecord{"", R"({"event_type":"step.start","index":4,"event_id":"e14","step":{"type":)"
                   R"("function_call","id":"fc_1","name":"f","arguments":{}}})"},
    MadeRecord{"", R"({"event_type":"step.delta","index":4,"event_id":"e15","delta":{"type":)"
                   R"("arguments_delta","arguments":"{\"a\":1}"}})"},
    MadeRecord{"", R"({"event_type":"step.stop","index":4,"event_id":"e16","usage":)"
                   R"({"total_tokens":4}})"},
    MadeRecord{"", R"({"event_type":"interaction.completed","event_id":"e17","interaction":{"id":)"
                   R"("in_1","object":"interaction","model":"g","status":"requires_action",)"
                   R"("service_tier":"standard","usage":{"total_input_tokens":1,)"
                   R"("total_output_tokens":2,"total_tokens":3}}})"},
};

constexpr std::array bedrock_records{
    MadeRecord{"", R"({"messageStart":{"role":"assistant","p":"ab"}})"},
    MadeRecord{"", R"({"contentBlockDelta":{"contentBlockIndex":0,"delta":{"reasoningContent":)"
                   R"({"text":"think one"}},"p":"ab"}})"},
    MadeRecord{"", R"({"contentBlockDelta":{"contentBlockIndex":0,"delta":{"reasoningContent":)"
                   R"({"signature":"SIGB"}}}})"},
    MadeRecord{"", R"({"contentBlockStop":{"contentBlockIndex":0,"p":"ab"}})"},
    MadeRecord{"", R"({"contentBlockDelta":{"contentBlockIndex":1,"delta":{"text":"Text one"}}})"},
    MadeRecord{"", R"({"contentBlockDelta":{"contentBlockIndex":1,"delta":{"citation":{"title":)"
                   R"("T","source":"S"}}}})"},
    MadeRecord{"", R"({"contentBlockStop":{"contentBlockIndex":1}})"},
    MadeRecord{"", R"({"contentBlockStart":{"contentBlockIndex":2,"start":{"toolUse":{"toolUseId":)"
                   R"("tu_1","name":"f"}}}})"},
    MadeRecord{"", R"({"contentBlockDelta":{"contentBlockIndex":2,"delta":{"toolUse":{"input":)"
                   R"("{\"a\":1}"}}}})"},
    MadeRecord{"", R"({"contentBlockStop":{"contentBlockIndex":2}})"},
    MadeRecord{"", R"({"messageStop":{"stopReason":"tool_use","p":"ab",)"
                   R"("additionalModelResponseFields":{"x":1}}})"},
    MadeRecord{"", R"({"metadata":{"usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3},)"
                   R"("metrics":{"latencyMs":9},"p":"ab"}})"},
};

constexpr std::array cohere_records{
    MadeRecord{"", R"({"type":"message-start","id":"co_1","delta":{"message":{"role":)"
                   R"("assistant"}}})"},
    MadeRecord{"", R"({"type":"tool-plan-delta","delta":{"message":{"tool_plan":"plan one"}}})"},
    MadeRecord{"", R"({"type":"content-start","index":0,"delta":{"message":{"content":{"type":)"
                   R"("thinking","thinking":""}}}})"},
    MadeRecord{"", R"({"type":"content-delta","index":0,"delta":{"message":{"content":{"thinking":)"
                   R"("think one"}}}})"},
    MadeRecord{"", R"({"type":"content-end","index":0})"},
    MadeRecord{"", R"({"type":"content-start","index":1,"delta":{"message":{"content":{"type":)"
                   R"("text","text":""}}}})"},
    MadeRecord{"", R"({"type":"content-delta","index":1,"delta":{"message":{"content":{"text":)"
                   R"("Text one"}}}})"},
    MadeRecord{"", R"({"type":"citation-start","index":0,"delta":{"message":{"citations":{"start":)"
                   R"(0,"end":4,"text":"Text","sources":[{"type":"document","id":"d1","document":)"
                   R"({"snippet":"sn"}}]}}}})"},
    MadeRecord{"", R"({"type":"citation-end","index":0})"},
    MadeRecord{"", R"({"type":"content-end","index":1})"},
    MadeRecord{"", R"({"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":)"
                   R"("tc_1","type":"function","function":{"name":"f","arguments":""}}}}})"},
    MadeRecord{"", R"({"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":)"
                   R"({"function":{"arguments":"{\"a\":1}"}}}}})"},
    MadeRecord{"", R"({"type":"tool-call-end","index":0})"},
    MadeRecord{"", R"({"type":"message-end","id":"co_1","delta":{"finish_reason":"TOOL_CALL",)"
                   R"("usage":{"billed_units":{"input_tokens":1},"tokens":{"input_tokens":3,)"
                   R"("output_tokens":4}}}})"},
};

constexpr std::array ollama_records{
    MadeRecord{"", R"({"model":"l","created_at":"2026-01-01T00:00:00Z","message":{"role":)"
                   R"("assistant","content":"","thinking":"think one"},"done":false})"},
    MadeRecord{"", R"({"model":"l","created_at":"2026-01-01T00:00:00Z","message":{"role":)"
                   R"("assistant","content":"Text one"},"done":false})"},
    MadeRecord{"", R"({"model":"l","created_at":"2026-01-01T00:00:00Z","message":{"role":)"
                   R"("assistant","content":"","tool_calls":[{"id":"c1","function":{"index":0,)"
                   R"("name":"f","arguments":{"a":"b"}}}]},"done":false})"},
    MadeRecord{"",
               R"({"model":"l","created_at":"2026-01-01T00:00:00Z","message":{"role":)"
               R"("assistant","content":""},"done":true,"done_reason":"stop","total_duration":5,)"
               R"("load_duration":1,"prompt_eval_count":3,"eval_count":4,"eval_duration":2})"},
};

constexpr std::array langgraph_records{
    MadeRecord{"metadata", R"({"run_id":"run_1","attempt":1})"},
    MadeRecord{"messages", R"([{"type":"AIMessageChunk","id":"lg_1","content":"Text one",)"
                           R"("additional_kwargs":{},"response_metadata":{},"tool_calls":[],)"
                           R"("tool_call_chunks":[]},{"langgraph_step":1,"langgraph_node":"agent",)"
                           R"("langgraph_checkpoint_ns":"agent:1","tags":["t"]}])"},
    MadeRecord{"messages", R"([{"type":"AIMessageChunk","id":"lg_1","content":"",)"
                           R"("additional_kwargs":{},"response_metadata":{},"tool_call_chunks":[)"
                           R"({"name":"f","args":"{\"a\":1}","id":"call_1","index":0,"type":)"
                           R"("tool_call_chunk"}]},{"langgraph_step":1}])"},
    MadeRecord{"messages", R"([{"type":"AIMessageChunk","id":"lg_1","content":"",)"
                           R"("response_metadata":{"finish_reason":"tool_calls"},"usage_metadata":)"
                           R"({"input_tokens":1,"output_tokens":2,"total_tokens":3}},)"
                           R"({"langgraph_step":1}])"},
    MadeRecord{"messages", R"([{"type":"tool","id":"t_1","tool_call_id":"call_1","content":"R",)"
                           R"("name":"f","status":"success"},{"langgraph_step":2}])"},
    MadeRecord{"end", R"({"status":"success"})"},
};

constexpr std::array responses_records{
    MadeRecord{"", R"({"type":"response.created","sequence_number":0,"response":{"id":"resp_1",)"
                   R"("object":"response","status":"in_progress","model":"g","output":[]}})"},
    MadeRecord{"", R"({"type":"response.output_item.added","output_index":0,"item":{"type":)"
                   R"("reasoning","id":"rs_1","summary":[]}})"},
    MadeRecord{"",
               R"({"type":"response.reasoning_summary_part.added","item_id":"rs_1",)"
               R"("output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}})"},
    MadeRecord{"", R"({"type":"response.reasoning_summary_text.delta","item_id":"rs_1",)"
                   R"("output_index":0,"summary_index":0,"delta":"think one"})"},
    MadeRecord{"", R"({"type":"response.reasoning_summary_text.done","item_id":"rs_1",)"
                   R"("output_index":0,"summary_index":0,"text":"think one"})"},
    MadeRecord{"", R"({"type":"response.output_item.done","output_index":0,"item":{"type":)"
                   R"("reasoning","id":"rs_1","summary":[{"type":"summary_text","text":)"
                   R"("think one"}],"encrypted_content":"ENC1","status":"completed"}})"},
    MadeRecord{"", R"({"type":"response.output_item.added","output_index":1,"item":{"type":)"
                   R"("message","id":"msg_1","role":"assistant","status":"in_progress",)"
                   R"("content":[]}})"},
    MadeRecord{"",
               R"({"type":"response.content_part.added","item_id":"msg_1","output_index":1,)"
               R"("content_index":0,"part":{"type":"output_text","text":"","annotations":[]}})"},
    MadeRecord{"", R"({"type":"response.output_text.delta","item_id":"msg_1","output_index":1,)"
                   R"("content_index":0,"delta":"Text one"})"},
    MadeRecord{"",
               R"({"type":"response.output_text.annotation.added","item_id":"msg_1",)"
               R"("output_index":1,"content_index":0,"annotation_index":0,"annotation":{"type":)"
               R"("url_citation","url":"https://u.example"}})"},
    MadeRecord{"", R"({"type":"response.output_text.done","item_id":"msg_1","output_index":1,)"
                   R"("content_index":0,"text":"Text one"})"},
    MadeRecord{"", R"({"type":"response.output_item.done","output_index":1,"item":{"type":)"
                   R"("message","id":"msg_1","role":"assistant","status":"completed","content":[)"
                   R"({"type":"output_text","text":"Text one","annotations":[{"type":)"
                   R"("url_citation","url":"https://u.example"}]}]}})"},
    MadeRecord{"", R"({"type":"response.web_search_call.searching","output_index":2,"item_id":)"
                   R"("ws_1"})"},
    MadeRecord{"",
               R"({"type":"response.output_item.done","output_index":2,"item":{"type":)"
               R"("web_search_call","id":"ws_1","status":"completed","action":{"type":"search",)"
               R"("query":"q1","sources":[{"type":"url","url":"https://s.example"}]}}})"},
    MadeRecord{"", R"({"type":"response.output_item.added","output_index":3,"item":{"type":)"
                   R"("function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"",)"
                   R"("status":"in_progress"}})"},
    MadeRecord{"", R"({"type":"response.function_call_arguments.delta","item_id":"fc_1",)"
                   R"("output_index":3,"delta":"{\"a\":1}"})"},
    MadeRecord{"", R"({"type":"response.function_call_arguments.done","item_id":"fc_1",)"
                   R"("output_index":3,"arguments":"{\"a\":1}"})"},
    MadeRecord{"", R"({"type":"response.output_item.done","output_index":3,"item":{"type":)"
                   R"("function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":)"
                   R"("{\"a\":1}","status":"completed"}})"},
    MadeRecord{"", R"({"type":"response.completed","response":{"id":"resp_1","object":"response",)"
                   R"("created_at":1,"status":"completed","model":"g","service_tier":"default",)"
                   R"("output":[],"usage":{"input_tokens":5,"output_tokens":6,"total_tokens":11,)"
                   R"("output_tokens_details":{"reasoning_tokens":1}}}})"},
};

constexpr std::array streams{MadeStream{"openai_chat", chat_records},
                             MadeStream{"mistral", mistral_records},
                             MadeStream{"anthropic", anthropic_records},
                             MadeStream{"gemini", gemini_records},
                             MadeStream{"gemini_interactions", interactions_records},
                             MadeStream{"bedrock_converse", bedrock_records},
                             MadeStream{"cohere", cohere_records},
                             MadeStream{"ollama", ollama_records},
                             MadeStream{"langgraph", langgraph_records},
                             MadeStream{"openai_responses", responses_records}};

}  // namespace

std::span<const MadeStream> made_streams() {
  return streams;
}

std::string made_body(const MadeStream& stream, std::span<const std::string> records) {
  std::string body;
  const bool is_bare = stream.wire == "ollama" || stream.wire == "bedrock_converse";
  for (std::size_t at = 0; at < records.size(); ++at) {
    const std::string_view event = stream.records[at].event;
    if (!event.empty()) body.append("event: ").append(event).append("\n");
    body.append(is_bare ? "" : "data: ").append(records[at]).append(is_bare ? "\n" : "\n\n");
  }
  return body;
}

}  // namespace millrace::test
