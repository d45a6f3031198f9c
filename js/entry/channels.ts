// `millrace/channels`: model channels, stream adapters, message formats and threads of OpenUI.
export type * from '../../types/channels';
export type * from '../../types/events';
export type * from '../../types/messages';
export {
  agUIAdapter,
  anthropicAdapter,
  bedrockConverseAdapter,
  cohereAdapter,
  geminiAdapter,
  geminiInteractionsAdapter,
  langGraphAdapter,
  mistralAdapter,
  ollamaAdapter,
  openAIAdapter,
  openAIReadableStreamAdapter,
  openAIResponsesAdapter,
} from '../adapters/adapters';
export type {
  AdapterOptions,
  AgUIAdapterOptions,
  LangGraphAdapterOptions,
  OpenAIResponsesAdapterOptions,
  ResponseUsage,
  StreamLimits,
} from '../adapters/adapters';
export type { ProviderState, UsageReport } from '../adapters/diagnostics';
export { fetchLLM } from '../channels/fetch-llm';
export type { FetchLLMOptions } from '../channels/fetch-llm';
export { inMemoryStorage } from '../channels/memory-storage';
export type {
  InMemoryArtifactStorage,
  InMemoryStorage,
  InMemoryStorageOptions,
  NewArtifact,
} from '../channels/memory-storage';
export { restStorage } from '../channels/rest-storage';
export type { RestStorage, RestStorageOptions } from '../channels/rest-storage';
export {
  anthropicMessageFormat,
  geminiMessageFormat,
  identityMessageFormat,
  langGraphMessageFormat,
  openAIConversationMessageFormat,
  openAIMessageFormat,
} from '../channels/formats';
export { foldEvents } from '../runs/fold';
export type { TransportOptions } from '../transport/choose';
export type { Timeouts } from '../transport/engine';
