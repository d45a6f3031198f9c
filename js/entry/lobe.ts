// `millrace/lobe`: the chat route, the stream client and the preset tasks of LobeHub.
export type * from '../../types/chat-stream';
export type * from '../../types/lobe-server';
export { presetTasks, supportedLocales } from '../agent/preset-prompts';
export type { PresetTask, PresetTaskInput, PresetTaskName } from '../agent/preset-prompts';
export { fetchPresetTaskResult, runPresetTask } from '../agent/preset-tasks';
export type { FetchPresetTaskOptions, PresetTaskOptions } from '../agent/preset-tasks';
export { createChatRoute } from '../model/chat-route';
export type { Caller, ChatRouteOptions, ChatRuntime, RouteContext } from '../model/chat-route';
export { chatErrorBody, chatErrorResponse } from '../model/error-body';
export type { ChatErrorBody } from '../model/error-body';
export { fetchSSE } from '../model/fetch-sse';
export type { ChatRequestContext, FetchSSEOptions } from '../model/fetch-sse';
export type { TextAnimation } from '../model/text-channel';
export { LobeServer } from '../runtime/lobe-server';
export type {
  LobeServerOptions,
  LobeStreamOptions,
  LobeWatchOptions,
} from '../runtime/lobe-server';
