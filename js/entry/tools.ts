// `millrace/tools`: tools of one's own, built-in tools, OpenAPI and plugins.
export { builtinTools } from '../agent/builtin-tools';
export type {
  BuiltinToolResult,
  BuiltinToolsOptions,
  Citation,
  FilesOptions,
  HttpFetchOptions,
  ReadPageOptions,
  RunProcessOptions,
  WebSearchOptions,
} from '../agent/builtin-tools';
export type { HttpToolOptions, HttpToolResult } from '../agent/http-tools';
export { imageTool } from '../agent/image-tool';
export type { Attachment, ImageToolOptions } from '../agent/image-tool';
export { invokeBuiltinTool, invokeTool } from '../agent/invoke';
export type {
  ToolInvocation,
  ToolInvocationOptions,
  ToolPayload,
  ToolSources,
} from '../agent/invoke';
export { openApiTools } from '../agent/openapi';
export type { OpenApiOptions } from '../agent/openapi';
export { invokeDefaultTypePlugin, pluginTools } from '../agent/plugins';
export type { PluginApi, PluginManifest, PluginOptions } from '../agent/plugins';
export { answerWithSearch } from '../agent/preset-tasks';
export type {
  ChatSource,
  SearchFallbackOptions,
  SearchFallbackResult,
} from '../agent/preset-tasks';
export { tool } from '../agent/tools';
export type { HostTool, HostTools, NamelessTool, RunnableTool, ToolEffect } from '../agent/tools';
export type { AddressGuard } from '../transport/engine';
