// The agent runtime's part of the public surface.
export type * from './agent-result';
export { AgentRun } from './agent-run';
export type { ResumeOptions } from './agent-run';
export { createAgent, EngineAgent } from './create-agent';
export type {
  AgentInput,
  AgentRunOptions,
  ApprovePolicy,
  CreateAgentOptions,
  SubAgentOptions,
} from './create-agent';
export type {
  FinishedMessage,
  MessageStorage,
  SendMessageOptions,
  SentMessage,
} from './send-message';
export { GeneralChatAgent } from './general-agent';
export type { GeneralChatAgentConfig } from './general-agent';
export { GroupOrchestrationRuntime, GroupOrchestrationSupervisor } from './group';
export type {
  CallGroupAgent,
  GroupContext,
  GroupExecutor,
  GroupExecutorOutput,
  GroupInstruction,
  GroupOrchestrationRuntimeConfig,
  GroupOrchestrationSupervisorConfig,
  GroupResult,
  GroupSupervisor,
} from './group';
export { DEFAULT_SECURITY_BLACKLIST, InterventionChecker } from './intervention';
export type { ShouldInterveneParams } from './intervention';
export { AgentRuntime } from './runtime';
export type { RunSubAgent, RuntimeConfig, StepOptions } from './runtime-config';
export { Dispatcher, inProcessAdapter } from './frost/dispatcher';
export type { Delivery, OutgoingMessage, PlatformAdapter } from './frost/dispatcher';
export { Engine, engineText } from './frost/engine';
export type {
  ChatProvider,
  ChatRequest,
  ChatResponse,
  EngineCounters,
  EngineOptions,
  EngineResult,
  EngineRunContext,
  EngineRunOptions,
  EngineTool,
  EngineTools,
  EngineUsage,
} from './frost/types';
export { SessionManager } from './frost/sessions';
export type { SessionInfo, SessionManagerOptions } from './frost/sessions';
export { sendMessageTool, staySilentTool } from './frost/tools';
export type { MessageHook, SendMessagePart, SendMessagePayload } from './frost/tools';
export { createAgentExecutors, createAgentToolsEngine, tool } from './tools';
export type {
  AgentToolsEngine,
  HostTool,
  HostTools,
  NamelessTool,
  RunnableTool,
  ToolEffect,
} from './tools';
export { getCompressionThreshold, shouldCompress } from './compression';
export type { CompressionCheck, CompressionOptions } from './compression';
export { builtinTools } from './builtin-tools';
export type {
  BuiltinToolResult,
  BuiltinToolsOptions,
  Citation,
  FilesOptions,
  HttpFetchOptions,
  ReadPageOptions,
  RunProcessOptions,
  WebSearchOptions,
} from './builtin-tools';
export type { AddressGuard } from '../transport/engine';
export { contextEngineering } from './context';
export type { BuiltContext, ContextInput, ContextModelCard } from './context';
export { presetTasks, supportedLocales } from './preset-prompts';
export type { PresetTask, PresetTaskInput, PresetTaskName } from './preset-prompts';
export { answerWithSearch, fetchPresetTaskResult, runPresetTask } from './preset-tasks';
export type {
  ChatSource,
  FetchPresetTaskOptions,
  PresetTaskOptions,
  SearchFallbackOptions,
  SearchFallbackResult,
} from './preset-tasks';
export type { HttpToolOptions, HttpToolResult } from './http-tools';
export { imageTool } from './image-tool';
export type { Attachment, ImageToolOptions } from './image-tool';
export { openApiTools } from './openapi';
export type { OpenApiOptions } from './openapi';
export { invokeBuiltinTool, invokeTool } from './invoke';
export type { ToolInvocation, ToolInvocationOptions, ToolPayload, ToolSources } from './invoke';
export { invokeDefaultTypePlugin, pluginTools } from './plugins';
export type { PluginApi, PluginManifest, PluginOptions } from './plugins';
