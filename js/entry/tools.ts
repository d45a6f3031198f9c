// `millrace/tools`: tools of one's own, built-in tools, OpenAPI and plugins.
export { builtinTools } from '../tool/builtin-tools';
export type {
  BuiltinToolResult,
  BuiltinToolsOptions,
  Citation,
  FilesOptions,
  HttpFetchOptions,
  ReadPageOptions,
  RunProcessOptions,
  WebSearchOptions,
} from '../tool/builtin-tools';
export type { HttpToolOptions, HttpToolResult } from '../tool/http-tools';
export { imageTool } from '../tool/image-tool';
export type { Attachment, ImageToolOptions } from '../tool/image-tool';
export { invokeBuiltinTool, invokeTool } from '../agent/invoke';
export type {
  ToolInvocation,
  ToolInvocationOptions,
  ToolPayload,
  ToolSources,
} from '../agent/invoke';
export { openApiTools } from '../tool/openapi';
export type { OpenApiOptions } from '../tool/openapi';
export { invokeDefaultTypePlugin, pluginTools } from '../tool/plugins';
export type { PluginApi, PluginManifest, PluginOptions } from '../tool/plugins';
export { answerWithSearch } from '../agent/preset-tasks';
export type {
  ChatSource,
  SearchFallbackOptions,
  SearchFallbackResult,
} from '../agent/preset-tasks';
export { tool } from '../tool/tool';
export type {
  DescribedTool,
  HostTool,
  HostTools,
  RunnableTool,
  ToolEffect,
  UnnamedTool,
  VendorHostTool,
} from '../tool/types';
export type { AddressGuard } from '../transport/engine';
export type * from '../../types/vendor-tools';
