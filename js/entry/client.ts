// `millrace/client`: what a page or an edge function needs to talk to a server. No addon, nothing of Node.js.
export type * from '../../types/channels';
export type * from '../../types/chat-stream';
export type * from '../../types/errors';
export type * from '../../types/events';
export type * from '../../types/messages';
export type { AgUIAdapterOptions, StreamLimits } from '../adapters/limits';
export type { RestStorage } from '../channels/rest-threads';
export { agUIAdapter } from '../client/ag-ui-adapter';
export { fetchLLM, fetchSSE, restStorage } from '../client/channels';
export type { FetchLLMOptions, FetchSSEOptions, RestStorageOptions } from '../client/channels';
export { foldEvents } from '../client/fold';
export { identityMessageFormat } from '../channels/platform';
export { MillraceError } from '../errors';
export type { MillraceErrorDetails } from '../errors';
export type { ChatRequestContext } from '../model/chat-fetch';
export type { TextAnimation } from '../model/text-channel';
