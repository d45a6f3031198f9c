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
