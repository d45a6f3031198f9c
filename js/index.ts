// The public surface of the package: re-exports alone, from which scripts/build-js.mjs makes the
// entries that load a module when one of its exports is first read.
export type * from '../types/agent';
export type * from '../types/agent-run';
export type * from '../types/capabilities';
export type * from '../types/channels';
export type * from '../types/chat-stream';
export type * from '../types/errors';
export type * from '../types/providers';
export type * from '../types/events';
export type * from '../types/mcp';
export type * from '../types/messages';
export type * from '../types/objects';
export type * from '../types/usage';
export type * from '../types/model';
export type * from '../types/usage';

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
} from './adapters/adapters';
export type {
  AdapterOptions,
  AgUIAdapterOptions,
  LangGraphAdapterOptions,
  OpenAIResponsesAdapterOptions,
  ResponseUsage,
  StreamLimits,
} from './adapters/adapters';
export type { ProviderState, UsageReport } from './adapters/diagnostics';
export * from './agent';
export { fetchLLM } from './channels/fetch-llm';
export type { FetchLLMOptions } from './channels/fetch-llm';
export { inMemoryStorage } from './channels/memory-storage';
export type {
  InMemoryArtifactStorage,
  InMemoryStorage,
  InMemoryStorageOptions,
  NewArtifact,
} from './channels/memory-storage';
export { restStorage } from './channels/rest-storage';
export type { RestStorage, RestStorageOptions } from './channels/rest-storage';
export { MillraceError } from './errors';
export type { MillraceErrorDetails } from './errors';
export { EventType } from './event-type';
export {
  anthropicMessageFormat,
  geminiMessageFormat,
  identityMessageFormat,
  langGraphMessageFormat,
  openAIConversationMessageFormat,
  openAIMessageFormat,
} from './formats';
export { createMCPClient, MCPClient } from './mcp/client';
export type {
  MCPAddressOptions,
  MCPClientOptions,
  MCPCommonOptions,
  MCPProgramOptions,
} from './mcp/reach';
export type { MCPToolCall } from './mcp/client';
export type { MCPAuthorization, MCPAuthorizer } from './mcp/authorization';
export { CloudConnector } from './mcp/connectors';
export type { CloudConnection, CloudConnectorOptions, CloudInstance } from './mcp/connectors';
export { invokeMCPTypePlugin } from './mcp/plugin';
export type { MCPPluginOptions, MCPPluginResult } from './mcp/plugin';
export { connectMCPServers } from './mcp/servers';
export type {
  MCPEntryOAuth,
  MCPServerEntry,
  MCPServers,
  MCPServersConfig,
  MCPServersOptions,
} from './mcp/servers';
export { OAuth } from './mcp/oauth';
export type { OAuthOptions } from './mcp/oauth';
export { fileOAuthStore } from './mcp/oauth-files';
export { inMemoryOAuthStore } from './mcp/oauth-records';
export type {
  OAuthClientInformation,
  OAuthRecord,
  OAuthStore,
  OAuthTokens,
} from './mcp/oauth-records';
export type { MCPServer, RpcError } from './mcp/connection';
export type { MCPAttachment, MCPFileStore } from './mcp/attachments';
export { mcpResultText, mcpToolFingerprint, mcpToolName } from './mcp/tools';
export type { MCPToolPins, MCPToolsOptions } from './mcp/tools';
export { createChatRoute } from './model/chat-route';
export type { Caller, ChatRouteOptions, ChatRuntime, RouteContext } from './model/chat-route';
export { providerCircuits } from './model/circuits';
export { configFromEnvironment, configFromOptions, firstConfigOf } from './model/config-source';
export type { ConfigContext, EnvironmentSource, ProviderConfigSource } from './model/config-source';
export { chatErrorBody, chatErrorResponse } from './model/error-body';
export type { ChatErrorBody } from './model/error-body';
export { anthropicCompatibleFactory, openaiCompatibleFactory } from './model/factories';
export type { FactoryRuntimeOptions, RuntimeClass } from './model/factories';
export type {
  AnthropicCompatibleOptions,
  FactoryHooks,
  FactoryInstance,
  OpenAICompatibleOptions,
} from './model/factory-options';
export { fetchSSE } from './model/fetch-sse';
export type { ChatRequestContext, FetchSSEOptions } from './model/fetch-sse';
export { createRouterRuntime } from './model/router';
export type { RouterRuntime, RouterRuntimeClass } from './model/router';
export type {
  ChannelOptions,
  FailedRoute,
  RouteAttempt,
  Router,
  RouterOptions,
} from './model/router-options';
export { ModelRun } from './model/run';
export { createModelRuntime, ModelRuntime } from './model/runtime';
export type {
  CallOptions,
  ChatOptions,
  Fallback,
  ModelRuntimeOptions,
  StreamOptions,
} from './model/runtime-options';
export type { ProviderSettings } from './model/settings';
export type { TextAnimation } from './model/text-channel';
export {
  UsageCounter,
  computeChatCost,
  computeCost,
  computeImageCost,
  computeVideoCost,
  estimateTokens,
  modelCard,
  modelCards,
  readModelUsage,
} from './model/usage';
export type { AccumulateHuman, AccumulateLLM, AccumulateTool, MediaParams } from './model/usage';
export { ObjectRun } from './model/object';
export { pipeAGUI, toAGUIResponse } from './runs/ag-ui';
export type { NodeResponse } from './runs/ag-ui';
export { foldEvents } from './runs/fold';
export type { RunOptions, RunSource } from './runs/run-bytes';
export type { TransportOptions } from './transport/choose';
export type { Timeouts } from './transport/engine';
export { proxyFromEnvironment } from './transport/route';
export type { ProxySettings, RouteOptions } from './transport/route';
export { version } from './version';
