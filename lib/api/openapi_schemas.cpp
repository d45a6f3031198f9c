// The schemas of the OpenAPI document: what the resources read and answer.
#include <array>
#include <utility>

#include "api/openapi.hpp"

namespace millrace::api {
namespace {

using SchemaRow = std::pair<std::string_view, std::string_view>;

constexpr auto schemas = std::to_array<SchemaRow>({
    {"ActionRequest",
     R"({"type":"object","properties":{"status":{"type":"string"},"payload":{}}})"},
    {"Actions", R"({"type":"object","required":["actions"],"properties":{"actions":{"type":"array",
      "items":{"type":"object","required":["action_id","kind"],"properties":{
      "action_id":{"type":"string"},"kind":{"type":"string"},
      "reason":{"type":"string","nullable":true},"tool_call_id":{"type":"string","nullable":true},
      "name":{"type":"string","nullable":true},"message":{"type":"string","nullable":true},
      "arguments":{},"hash":{"type":"string","nullable":true},"options":{},"schema":{},
      "of_function":{"type":"boolean"},"expires_at":{"type":"number","nullable":true}}}}}})"},
    {"ActiveJobs", R"({"type":"object","required":["job","jobs"],"properties":{
      "job":{"type":"object","nullable":true,"allOf":[{"$ref":"#/components/schemas/Job"}]},
      "jobs":{"type":"array","items":{"$ref":"#/components/schemas/Job"}}}})"},
    {"AgentInput", R"({"type":"object","required":["threadId","runId","messages"],"properties":{
      "threadId":{"type":"string"},"runId":{"type":"string"},
      "messages":{"type":"array","items":{"type":"object"}},
      "tools":{"type":"array","items":{"type":"object"}},
      "context":{"type":"array","items":{"type":"object"}},"state":{},"forwardedProps":{},
      "resume":{"type":"array","items":{"type":"object"}}}})"},
    {"AgentRefusal", R"({"type":"object","required":["error"],"properties":{"error":{
      "type":"object","required":["code","message"],"properties":{"code":{"type":"string"},
      "message":{"type":"string"},"type":{"type":"string"}}}}})"},
    {"Any", R"({})"},
    {"Attachment", R"({"type":"object","required":["id","name","size","media_type","kind","sha256"],
      "properties":{"id":{"type":"string"},"uid":{"type":"string"},"name":{"type":"string"},
      "display_name":{"type":"string"},"size":{"type":"integer"},"media_type":{"type":"string"},
      "kind":{"type":"string","enum":["image","file"]},"sha256":{"type":"string"},
      "created_at":{"type":"string"},"download_url":{"type":"string"},
      "preview_url":{"type":"string"},"discarded":{"type":"boolean"},
      "source_kind":{"type":"string"},"source_ref":{"type":"string"}}})"},
    {"AttachmentAnswer", R"({"type":"object","required":["attachment"],"properties":{
      "attachment":{"$ref":"#/components/schemas/Attachment"}}})"},
    {"AttachmentCapabilities", R"({"type":"object","required":["max_upload_size_bytes",
      "multipart_field"],"properties":{"max_upload_size_bytes":{"type":"integer"},
      "multipart_field":{"type":"string"}}})"},
    {"AttachmentUpload", R"({"type":"object","required":["file"],"properties":{
      "file":{"type":"string","format":"binary"}}})"},
    {"Binary", R"({"type":"string","format":"binary"})"},
    {"ChatAnswer", R"({"type":"object","required":["mode","messages","reply","conversation_id",
      "job_id","duration_ms"],"properties":{"mode":{"type":"string","enum":["chat","command"]},
      "virtual_user_id":{"type":"integer"},"permission":{"type":"string"},
      "messages":{"type":"array","items":{"type":"string"}},"reply":{"type":"string"},
      "conversation_id":{"type":"string"},"job_id":{"type":"string"},
      "duration_ms":{"type":"integer"}}})"},
    {"ChatRequest", R"({"type":"object","required":["message"],"properties":{
      "message":{"$ref":"#/components/schemas/Message"},"conversation_id":{"type":"string"},
      "stream":{"type":"boolean"}}})"},
    {"Cleared",
     R"({"type":"object","required":["success","conversation_id","cleared"],"properties":{
      "success":{"type":"boolean"},"conversation_id":{"type":"string"},
      "virtual_user_id":{"type":"integer"},"cleared":{"type":"integer"}}})"},
    {"Commands", R"({"type":"object","required":["scope","commands","count","total"],"properties":{
      "scope":{"type":"string"},"execution_scope":{"type":"string"},
      "sender_id":{"type":"integer"},"user_id":{"type":"integer","nullable":true},
      "group_id":{"type":"integer"},"commands":{"type":"array","items":{"type":"object"}},
      "command":{"type":"object"},"requested_name":{"type":"string"},
      "count":{"type":"integer"},"total":{"type":"integer"},"aliases":{"type":"integer"},
      "subcommands":{"type":"integer"}}})"},
    {"Conversation", R"({"type":"object","required":["id","title","title_source","title_status",
      "created_at","updated_at"],"properties":{"id":{"type":"string"},"title":{"type":"string"},
      "title_source":{"type":"string"},"title_status":{"type":"string"},
      "created_at":{"type":"string"},"updated_at":{"type":"string"},
      "virtual_user_id":{"type":"integer"},"message_count":{"type":"integer"},
      "is_running":{"type":"boolean"},"messages":{"type":"array","items":{"type":"object"}}}})"},
    {"ConversationAnswer", R"({"type":"object","required":["conversation"],"properties":{
      "conversation":{"$ref":"#/components/schemas/Conversation"}}})"},
    {"ConversationRequest", R"({"type":"object","properties":{"title":{"type":"string"}}})"},
    {"Conversations", R"({"type":"object","required":["conversations","default_conversation_id"],
      "properties":{"conversations":{"type":"array","items":{
      "$ref":"#/components/schemas/Conversation"}},"active_job":{"type":"object","nullable":true,
      "allOf":[{"$ref":"#/components/schemas/Job"}]},"default_conversation_id":{"type":"string"},
      "virtual_user_id":{"type":"integer"},"next_cursor":{"type":"string"}}})"},
    {"Document", R"({"type":"object"})"},
    {"ExternalProbe", R"({"type":"object","required":["ok","timestamp","results"],"properties":{
      "ok":{"type":"boolean"},"timestamp":{"type":"string"},"results":{"type":"array","items":{
      "type":"object","required":["name","status"],"properties":{"name":{"type":"string"},
      "status":{"type":"string","enum":["ok","error","skipped"]},"model_name":{"type":"string"},
      "url":{"type":"string"},"http_status":{"type":"integer"},"latency_ms":{"type":"integer"},
      "error":{"type":"string"},"reason":{"type":"string"}}}}}})"},
    {"Fact", R"({"type":"object","required":["uuid","fact","created_at"],"properties":{
      "uuid":{"type":"string"},"fact":{"type":"string"},"created_at":{"type":"string"}}})"},
    {"FactChange", R"({"type":"object","required":["uuid"],"properties":{"uuid":{"type":"string"},
      "fact":{"type":"string"},"updated":{"type":"boolean"},"deleted":{"type":"boolean"}}})"},
    {"FactRequest", R"({"type":"object","required":["fact"],"properties":{
      "fact":{"type":"string"}}})"},
    {"Facts", R"({"type":"object","required":["total","items","query"],"properties":{
      "total":{"type":"integer"},"items":{"type":"array","items":{
      "$ref":"#/components/schemas/Fact"}},"query":{"type":"object"}}})"},
    {"GapEvent", R"({"type":"object",
      "description":"Stands for the events before `first_seq`, which are no longer in the log.",
      "required":["seq","event","payload"],
      "properties":{"seq":{"type":"integer"},"id":{"type":"string"},
      "event":{"type":"string","enum":["gap"]},"payload":{"type":"object","required":["job_id",
      "conversation_id","after","first_seq"],"properties":{"job_id":{"type":"string"},
      "conversation_id":{"type":"string"},"after":{"type":"integer"},
      "first_seq":{"type":"integer"}}}}})"},
    {"Health", R"({"type":"object","required":["ok","service","version","timestamp"],"properties":{
      "ok":{"type":"boolean"},"service":{"type":"string"},"version":{"type":"string"},
      "timestamp":{"type":"string"}}})"},
    {"History", R"({"type":"object","required":["conversation_id","count","items","limit","before",
      "has_more","next_before","total"],"properties":{"conversation_id":{"type":"string"},
      "virtual_user_id":{"type":"integer"},"permission":{"type":"string"},
      "count":{"type":"integer"},"items":{"type":"array","items":{"type":"object",
      "required":["message_id","role","content","timestamp"],"properties":{
      "message_id":{"type":"string"},"role":{"type":"string","enum":["user","bot"]},
      "content":{"type":"string"},"timestamp":{"type":"string"},
      "attachments":{"type":"array","items":{"type":"object"}},
      "references":{"type":"array","items":{"type":"object"}},"pending":{"type":"boolean"},
      "webchat":{"type":"object"}}}},
      "limit":{"type":"integer"},"before":{"type":"integer","nullable":true},
      "has_more":{"type":"boolean"},"next_before":{"type":"integer","nullable":true},
      "next_before_id":{"type":"string","nullable":true},
      "total":{"type":"integer"}}})"},
    {"InternalProbe",
     R"({"type":"object","required":["timestamp","version","api","skills","models"],
      "properties":{"timestamp":{"type":"string"},"version":{"type":"string"},
      "platform":{"type":"string"},"uptime_seconds":{"type":"number"},"api":{"type":"object"},
      "skills":{"type":"object"},"models":{"type":"object"}}})"},
    {"Job", R"({"type":"object","required":["job_id","conversation_id","status","mode","last_seq"],
      "properties":{"job_id":{"type":"string"},"conversation_id":{"type":"string"},
      "status":{"type":"string","enum":["queued","running","done","error","cancelled"]},
      "mode":{"type":"string","enum":["chat","command"]},"created_at":{"type":"number"},
      "updated_at":{"type":"number"},"finished_at":{"type":"number","nullable":true},
      "elapsed_ms":{"type":"integer"},"duration_ms":{"type":"integer","nullable":true},
      "current_stage":{"type":"string"},"current_stage_detail":{"type":"string","nullable":true},
      "current_stage_started_at":{"type":"number","nullable":true},
      "current_stage_elapsed_ms":{"type":"integer"},"last_seq":{"type":"integer"},
      "first_seq":{"type":"integer"},"error":{"type":"string","nullable":true},
      "messages":{"type":"array","items":{"type":"string"}},"reply":{"type":"string"},
      "current_agent_stages":{"type":"array","items":{"type":"object"}},
      "current_tool_calls":{"type":"array","items":{"type":"object"}},
      "history_finalized":{"type":"boolean"},"waiting_input":{"type":"object","nullable":true},
      "queue_position":{"type":"integer","nullable":true},
      "queued_message":{"type":"object","nullable":true,"properties":{
      "message_id":{"type":"string"},"content":{"type":"string"},
      "attachments":{"type":"array","items":{"type":"object"}}}},
      "sent_messages":{"type":"array","items":{"type":"object","properties":{
      "message_id":{"type":"string"},"content":{"type":"string"},
      "attachments":{"type":"array","items":{"type":"object"}}}}},
      "usage":{"type":"object","nullable":true,"properties":{"input_tokens":{"type":"integer"},
      "output_tokens":{"type":"integer"},"total_tokens":{"type":"integer"}}},
      "cost":{"type":"object","nullable":true,"properties":{"total":{"type":"number"},
      "currency":{"type":"string"}}}}})"},
    {"JobEvent", R"({"type":"object","required":["seq","event","payload"],"properties":{
      "seq":{"type":"integer"},"id":{"type":"string"},"event":{"type":"string",
      "description":"A name such as meta, stage, tool_start, message or done, or one of the agent."},
      "payload":{"type":"object"}}})"},
    {"JobEvents", R"({"type":"object","required":["job","after","last_seq","events"],"properties":{
      "job":{"$ref":"#/components/schemas/Job"},"after":{"type":"integer"},
      "last_seq":{"type":"integer"},"events":{"type":"array","items":{"anyOf":[
      {"$ref":"#/components/schemas/MessageResetEvent"},{"$ref":"#/components/schemas/GapEvent"},
      {"$ref":"#/components/schemas/JobEvent"}]}}}})"},
    {"JobRequest", R"({"type":"object","required":["message"],"properties":{
      "message":{"$ref":"#/components/schemas/Message"},"conversation_id":{"type":"string"},
      "reuse_previous_user_message":{"type":"boolean"},
      "on_busy":{"type":"string","enum":["reject","queue","interrupt","steer"]}}})"},
    {"Jobs", R"({"type":"object","required":["jobs","next_cursor"],"properties":{
      "jobs":{"type":"array","items":{"$ref":"#/components/schemas/Job"}},
      "next_cursor":{"type":"string","nullable":true}}})"},
    {"LobeDecision", R"({"type":"object","required":["operationId","action"],"properties":{
      "operationId":{"type":"string"},"action":{"type":"string","enum":["approve","reject",
      "reject_continue","input","select"]},"data":{"type":"object","properties":{
      "approvedToolCall":{"type":"object"},"input":{},"selection":{}}},
      "reason":{"type":"string"},"toolCallId":{"type":"string"},
      "toolMessageId":{"type":"string"},"stepIndex":{"type":"integer"}}})"},
    {"LobeDone", R"({"type":"object","required":["success","operationId","timestamp"],
      "properties":{"success":{"type":"boolean"},"operationId":{"type":"string"},
      "timestamp":{"type":"string"},"action":{"type":"string"},"message":{"type":"string"},
      "scheduled":{"type":"boolean"},"status":{"type":"string"},
      "previousOperationId":{"type":"string"},"resumed":{"type":"boolean"}}})"},
    {"LobeInterventions", R"({"type":"object","required":["pendingInterventions","timestamp",
      "totalCount"],"properties":{"timestamp":{"type":"string"},"totalCount":{"type":"integer"},
      "pendingInterventions":{"type":"array","items":{"type":"object","required":["type",
      "operationId","status","stepCount","lastModified"],"properties":{"type":{"type":"string",
      "enum":["tool_approval","human_prompt","human_select"]},"operationId":{"type":"string"},
      "status":{"type":"string"},"stepCount":{"type":"integer"},
      "lastModified":{"type":"string"},"userId":{"type":"string"},
      "pendingToolsCalling":{"type":"array","items":{"type":"object"}},
      "pendingHumanPrompt":{"type":"object"},"pendingHumanSelect":{"type":"object"}}}}}})"},
    {"LobeMessage", R"({"type":"object","required":["newUserMessage"],"properties":{
      "topicId":{"type":"string"},"threadId":{"type":"string"},"newTopic":{"type":"object"},
      "newThread":{"type":"object"},"newUserMessage":{"type":"object","required":["content"],
      "properties":{"content":{"type":"string"},"files":{"type":"array","items":{}},
      "parentId":{"type":"string"}}},"newAssistantMessage":{"type":"object"}}})"},
    {"LobeObjectRequest", R"({"type":"object","required":["messages"],"properties":{
      "messages":{"type":"array","items":{"type":"object"}},"model":{"type":"string"},
      "provider":{"type":"string"},"schema":{"type":"object"},
      "tools":{"type":"array","items":{"type":"object"}}}})"},
    {"LobeOperation", R"({"type":"object","required":["success","operationId","autoStarted",
      "agentId","runId","status","threadId","createdAt","timestamp"],"properties":{
      "success":{"type":"boolean"},"operationId":{"type":"string"},
      "autoStarted":{"type":"boolean"},"agentId":{"type":"string"},"runId":{"type":"string"},
      "status":{"type":"string"},"threadId":{"type":"string"},"createdAt":{"type":"string"},
      "timestamp":{"type":"string"}}})"},
    {"LobeOperationRequest", R"({"type":"object","properties":{"operationId":{"type":"string"},
      "agentId":{"type":"string"},"prompt":{"type":"string"},
      "messages":{"type":"array","items":{"type":"object"}},
      "tools":{"type":"array","items":{"type":"object"}},"threadId":{"type":"string"},
      "topicId":{"type":"string"},"appContext":{"type":"object"},"autoStart":{"type":"boolean"},
      "agentConfig":{"type":"object"},"modelRuntimeConfig":{"type":"object"},
      "hooks":{"type":"array","items":{"type":"object"}},
      "stepWebhook":{"$ref":"#/components/schemas/LobeWebhook"},
      "completionWebhook":{"$ref":"#/components/schemas/LobeWebhook"}}})"},
    {"LobePlace", R"({"type":"object","required":["operationId"],"properties":{
      "operationId":{"type":"string"}}})"},
    {"LobeSent", R"({"type":"object","required":["userMessageId","assistantMessageId","topicId",
      "isCreateNewTopic","messages"],"properties":{"userMessageId":{"type":"string"},
      "assistantMessageId":{"type":"string"},"topicId":{"type":"string"},
      "isCreateNewTopic":{"type":"boolean"},"createdThreadId":{"type":"string"},
      "messages":{"type":"array","items":{"type":"object"}},"topics":{"type":"object"}}})"},
    {"LobeStatus", R"({"type":"object","required":["operationId","currentState","isActive",
      "isCompleted","hasError","needsHumanInput","metadata","stats"],"properties":{
      "operationId":{"type":"string"},"isActive":{"type":"boolean"},
      "isCompleted":{"type":"boolean"},"hasError":{"type":"boolean"},
      "needsHumanInput":{"type":"boolean"},"metadata":{"type":"object"},
      "currentState":{"type":"object","required":["status","stepCount","lastModified"],
      "properties":{"status":{"type":"string"},"stepCount":{"type":"integer"},
      "lastModified":{"type":"string"},"usage":{"type":"object"},"cost":{"type":"object"},
      "error":{"type":"object"},"interruption":{"type":"object"},
      "pendingToolsCalling":{"type":"array","items":{"type":"object"}},
      "pendingHumanPrompt":{"type":"object"},"pendingHumanSelect":{"type":"object"}}},
      "stats":{"type":"object","required":["lastActiveTime","totalCost","totalMessages",
      "totalSteps","uptime"],"properties":{"lastActiveTime":{"type":"integer"},
      "totalCost":{"type":"number"},"totalMessages":{"type":"integer"},
      "totalSteps":{"type":"integer"},"uptime":{"type":"integer"}}},
      "executionHistory":{"type":"array","items":{"type":"object"}},
      "recentEvents":{"type":"array","items":{"type":"object"}}}})"},
    {"LobeStep", R"({"type":"object","required":["success","operationId","stepIndex","status",
      "completed","waitingForHuman","nextStepScheduled","totalSteps","totalCost",
      "executionTime"],"properties":{"success":{"type":"boolean"},
      "operationId":{"type":"string"},"stepIndex":{"type":"integer"},
      "status":{"type":"string"},"completed":{"type":"boolean"},
      "waitingForHuman":{"type":"boolean"},"nextStepScheduled":{"type":"boolean"},
      "nextStepIndex":{"type":"integer"},"totalSteps":{"type":"integer"},
      "totalCost":{"type":"number"},"executionTime":{"type":"integer"},
      "reason":{"type":"string"},"error":{"type":"object"},
      "pendingApproval":{"type":"array","items":{"type":"object"}},
      "pendingPrompt":{"type":"object"},"pendingSelect":{"type":"object"}}})"},
    {"LobeStepRequest", R"({"type":"object","required":["operationId"],"properties":{
      "operationId":{"type":"string"},"stepIndex":{"type":"integer"},"context":{"type":"object"},
      "approvedToolCall":{"type":"object"},"humanInput":{},"rejectionReason":{"type":"string"}}})"},
    {"LobeToolResult", R"({"type":"object","required":["operationId","toolCallId"],"properties":{
      "operationId":{"type":"string"},"toolCallId":{"type":"string"},"content":{},
      "error":{},"result":{"type":"object"}}})"},
    {"LobeWebhook", R"({"type":"object","required":["url"],"properties":{
      "url":{"type":"string"},"body":{"type":"object"}}})"},
    {"Login", R"({"type":"object","properties":{"key":{"type":"string"},"user":{"type":"string"},
      "password":{"type":"string"}}})"},
    {"Message", R"({"oneOf":[{"type":"string"},{"type":"object","properties":{
      "text":{"type":"string"},"attachment_ids":{"type":"array","items":{"type":"string"}},
      "references":{"type":"array","items":{"type":"object"}}}}]})"},
    {"MessageAnswer", R"({"type":"object","required":["message"],"properties":{
      "message":{"type":"object","required":["message_id","role","message"],"properties":{
      "message_id":{"type":"string"},"role":{"type":"string"},"message":{"type":"string"}}}}})"},
    {"MessageEdit", R"({"type":"object","properties":{"text":{"type":"string"}}})"},
    {"MessageResetEvent", R"({"type":"object",
      "description":"Takes back the deltas of this answer, or its message, which begins again at the next index.",
      "required":["seq","event","payload"],
      "properties":{"seq":{"type":"integer"},"id":{"type":"string"},
      "event":{"type":"string","enum":["message_reset"]},"payload":{"type":"object",
      "required":["job_id","conversation_id","index"],"properties":{"job_id":{"type":"string"},
      "conversation_id":{"type":"string"},"index":{"type":"integer"}}}}})"},
    {"Ok", R"({"type":"object","required":["ok"],"properties":{"ok":{"type":"boolean"}}})"},
    {"Refusal", R"({"type":"object","required":["error"],"properties":{
      "error":{"type":"string"},"code":{"type":"string"}}})"},
    {"Removed", R"({"type":"object","required":["success","conversation_id"],"properties":{
      "success":{"type":"boolean"},"conversation_id":{"type":"string"}}})"},
    {"SearchAnswer", R"({"type":"object","required":["count","items","next_cursor"],"properties":{
      "count":{"type":"integer"},"next_cursor":{"type":"string","nullable":true},
      "items":{"type":"array","items":{"type":"object","required":["conversation_id","title",
      "message_id","role","timestamp","snippet"],"properties":{
      "conversation_id":{"type":"string"},"title":{"type":"string"},
      "message_id":{"type":"string"},"role":{"type":"string","enum":["user","bot"]},
      "timestamp":{"type":"string"},"snippet":{"type":"string"}}}}}})"},
    {"Session", R"({"type":"object","required":["required","active"],"properties":{
      "required":{"type":"boolean"},"active":{"type":"boolean"},"principal":{"type":"string"},
      "key":{"type":"string"},"scopes":{"type":"array","items":{"type":"string"}}}})"},
    {"SessionBegun", R"({"type":"object","required":["ok","principal","expires_at"],"properties":{
      "ok":{"type":"boolean"},"principal":{"type":"string"},"key":{"type":"string"},
      "scopes":{"type":"array","items":{"type":"string"}},"expires_at":{"type":"integer"}}})"},
    {"Text", R"({"type":"string"})"},
    {"ToolAnswer", R"({"type":"object","required":["ok","request_id","tool_name"],"properties":{
      "ok":{"type":"boolean"},"request_id":{"type":"string"},"tool_name":{"type":"string"},
      "result":{"type":"string"},"error":{"type":"string"},"duration_ms":{"type":"number"},
      "status":{"type":"string"}}})"},
    {"ToolCall", R"({"type":"object","required":["tool_name","args"],"properties":{
      "tool_name":{"type":"string"},"args":{"type":"object"},"context":{"type":"object"},
      "async":{"type":"boolean"},"callback":{"type":"object","properties":{
      "enabled":{"type":"boolean"},"url":{"type":"string"},"headers":{"type":"object","additionalProperties":{
      "type":"string"}}}}}})"},
    {"ToolInvocation", R"({"type":"object","required":["request_id","tool_name","status","ok",
      "result","error","duration_ms","created_at"],"properties":{"request_id":{"type":"string"},
      "tool_name":{"type":"string"},"status":{"type":"string","enum":["queued","running","done",
      "error","cancelled"]},"ok":{"type":"boolean","nullable":true},
      "result":{"type":"string","nullable":true},"error":{"type":"string","nullable":true},
      "duration_ms":{"type":"number"},"created_at":{"type":"number"}}})"},
    {"Tools", R"({"type":"object","required":["count","tools"],"properties":{
      "count":{"type":"integer"},"tools":{"type":"array","items":{"type":"object"}}}})"},
});

constexpr auto names = [] {
  std::array<std::string_view, schemas.size()> list{};
  for (std::size_t at = 0; at < list.size(); ++at) list[at] = schemas[at].first;
  return list;
}();

}  // namespace

json::Tree openapi_schema(std::string_view name) {
  for (const auto& [known, text] : schemas) {
    if (known != name) continue;
    auto parsed = json::Tree::parse(text);
    return parsed ? std::move(parsed).value() : json::Tree();
  }
  return {};
}

std::span<const std::string_view> openapi_schema_names() {
  return names;
}

}  // namespace millrace::api
