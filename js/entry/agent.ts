// `millrace/agent`: agents, and the agent runtime and groups of LobeHub.
export type * from '../../types/agent';
export type * from '../../types/agent-run';
export type * from '../../types/runtime';
export type * from '../agent/agent-result';
export { AgentRun } from '../agent/agent-run';
export type { NodeRequest } from '../agent/agent-node-route';
export type { ResumeOptions } from '../agent/run-host';
export { getCompressionThreshold, shouldCompress } from '../agent/compression';
export type { CompressionCheck, CompressionOptions } from '../agent/compression';
export { contextEngineering } from '../agent/context';
export type { BuiltContext, ContextInput, ContextModelCard } from '../agent/context';
export { createAgent, EngineAgent } from '../agent/create-agent';
export type { CreateAgentOptions, DurableAgent, SubAgentOptions } from '../agent/create-agent';
export type { DurableJobRuntime } from '../agent/durable-jobs';
export { DurableRun } from '../agent/durable-run';
export type {
  Authorized,
  DurableRuntime,
  RunRecord,
  RunScope,
  UnknownPolicy,
} from '../agent/durable-types';
export { GeneralChatAgent } from '../agent/general-agent';
export type { GeneralChatAgentConfig } from '../agent/general-agent';
export { GroupOrchestrationRuntime, GroupOrchestrationSupervisor } from '../agent/group';
export type {
  CallGroupAgent,
  GroupContext,
  GroupExecutor,
  GroupExecutorOutput,
  GroupInstruction,
  GroupOrchestrationRuntimeConfig,
  GroupOrchestrationSupervisorConfig,
  GroupResult,
  GroupRunOptions,
  GroupSupervisor,
} from '../agent/group-types';
export { DEFAULT_SECURITY_BLACKLIST, InterventionChecker } from '../agent/intervention';
export type { ShouldInterveneParams } from '../agent/intervention';
export { AgentRuntime } from '../agent/runtime';
export type { RunSubAgent, RuntimeConfig, StepOptions } from '../agent/runtime-config';
export type {
  FinishedMessage,
  MessageStorage,
  SendMessageOptions,
  SentMessage,
} from '../agent/send-message';
export type {
  AgentInput,
  AgentRunOptions,
  ApprovalPolicy,
  AuthorizedOrNot,
  DurableRunOptions,
} from '../agent/types';
export { createAgentExecutors, createAgentToolsEngine } from '../agent/tools-engine';
export type { AgentToolsEngine } from '../agent/tools-engine';
export { createRuntime, Runtime } from '../runtime/runtime';
export { FunctionAgent } from '../runtime/registered-function';
export { DurableJob } from '../runtime/registered-job';
export type { AttachOptions } from '../runtime/attached-run';
export type { RuntimeApprovals } from '../runtime/runtime-approvals';
export type { Concurrency, RuntimeOptions } from '../runtime/runtime-options';
export type {
  AttachmentOwner,
  NewAttachment,
  RuntimeAttachments,
  StoredAttachment,
} from '../runtime/runtime-attachments';
export type { SkillOptions } from '../runtime/runtime-skills';
export type { SkillFolder } from '../tool/skill-folder';
export type { Skill, SkillProblem } from '../tool/skills';
export type {
  NewRuntimeArtifact,
  RuntimeArtifactStorage,
  RuntimeStorage,
  RuntimeStorageOptions,
} from '../runtime/runtime-storage';
export { pipeAGUI, toAGUIResponse } from '../runs/ag-ui';
export type { NodeResponse } from '../runs/ag-ui';
export type { RunOptions, RunSource } from '../runs/run-source';
