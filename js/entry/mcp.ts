// `millrace/mcp`: clients of MCP servers, with OAuth.
export type * from '../../types/mcp';
export type { MCPAttachment, MCPFileStore } from '../mcp/attachments';
export type { MCPAuthorization, MCPAuthorizer } from '../mcp/authorization';
export { createMCPClient, MCPClient } from '../mcp/client';
export type { MCPToolCall } from '../mcp/client';
export type { MCPServer, RpcError } from '../mcp/connection';
export { CloudConnector } from '../mcp/connectors';
export type { CloudConnection, CloudConnectorOptions, CloudInstance } from '../mcp/connectors';
export { OAuth } from '../mcp/oauth';
export type { OAuthOptions } from '../mcp/oauth';
export { fileOAuthStore } from '../mcp/oauth-files';
export { inMemoryOAuthStore } from '../mcp/oauth-records';
export type {
  OAuthClientInformation,
  OAuthRecord,
  OAuthStore,
  OAuthTokens,
} from '../mcp/oauth-records';
export { invokeMCPTypePlugin } from '../mcp/plugin';
export type { MCPPluginOptions, MCPPluginResult } from '../mcp/plugin';
export type {
  MCPAddressOptions,
  MCPClientOptions,
  MCPCommonOptions,
  MCPProgramOptions,
} from '../mcp/reach';
export { connectMCPServers } from '../mcp/servers';
export type {
  MCPEntryOAuth,
  MCPServerEntry,
  MCPServers,
  MCPServersConfig,
  MCPServersOptions,
} from '../mcp/servers';
export { mcpResultText, mcpToolFingerprint, mcpToolName } from '../mcp/tools';
export type { MCPToolPins, MCPToolsOptions } from '../mcp/tools';
