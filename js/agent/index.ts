// The agent runtime's part of the public surface.
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
export type { RunSubAgent, RuntimeConfig, StepOptions } from './runtime';
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
  EngineUsage,
} from './frost/types';
export { SessionManager } from './frost/sessions';
export type { SessionInfo, SessionManagerOptions } from './frost/sessions';
export { sendMessageTool, staySilentTool } from './frost/tools';
export type { MessageHook, SendMessagePart, SendMessagePayload } from './frost/tools';
export { createAgentExecutors, createAgentToolsEngine, tool } from './tools';
export type { AgentToolsEngine, HostTool, ToolEffect } from './tools';
export { getCompressionThreshold, shouldCompress } from './compression';
export type { CompressionCheck, CompressionOptions } from './compression';
