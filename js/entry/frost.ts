// `millrace/frost`: the engine, sessions and message tools of FrostAgent.
export { Dispatcher, inProcessAdapter } from '../agent/frost/dispatcher';
export type { Delivery, OutgoingMessage, PlatformAdapter } from '../agent/frost/dispatcher';
export { Engine, engineText } from '../agent/frost/engine';
export type { SessionStore, SessionTurn, StoredSession } from '../agent/frost/session-store';
export { SessionManager } from '../agent/frost/sessions';
export type {
  SessionInfo,
  SessionManagerOptions,
  TurnEnd,
  Unfinished,
} from '../agent/frost/sessions';
export { sendMessageTool, staySilentTool } from '../agent/frost/tools';
export type {
  ChatProvider,
  ChatRequest,
  ChatResponse,
  EngineCounters,
  EngineOptions,
  EngineResult,
  EngineRetry,
  EngineRunContext,
  EngineRunOptions,
  EngineTool,
  EngineTools,
  EngineUsage,
  MessageHook,
  SendMessagePart,
  SendMessagePayload,
} from '../agent/frost/types';
