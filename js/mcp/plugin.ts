// Calls of MCP tools in LobeHub's shape: a payload in, a result record out, that never throws.
import type { ChatToolPayload } from '../../types/agent';
import type { MCPToolResult } from '../../types/mcp';
import { payloadArguments, toolFailure } from '../agent/payload';
import { MillraceError } from '../errors';
import type { MCPClient } from './client';
import { mcpResultText } from './tools';

/** What became of a call. */
export interface MCPPluginResult {
  /** What the model reads. */
  content: string;
  success: boolean;
  /** The result as the server gave it. */
  state?: MCPToolResult;
  error?: { type: string; message: string; body?: unknown };
  /** Milliseconds. */
  executionTime: number;
}

export interface MCPPluginOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
  /** Bytes of `content`; longer ones are cut and say so. Default 25000. */
  maxLength?: number;
}

const defaultLength = 25_000;

// LobeHub's classes of errors; it has none for what befalls a call after the server was reached.
const ownTypes = new Set(['tool_timeout', 'cancelled']);
const errorTypes: Record<string, string> = {
  mcp_unauthorized: 'AUTHORIZATION_ERROR',
  mcp_connection_failed: 'CONNECTION_FAILED',
  mcp_session_lost: 'NoValidSessionId',
  process_start_failed: 'PROCESS_SPAWN_ERROR',
  invalid_argument: 'VALIDATION_ERROR',
  invalid_json: 'VALIDATION_ERROR',
  tool_not_found: 'VALIDATION_ERROR',
};

function failure(
  thrown: unknown,
  signal: AbortSignal | undefined,
): Pick<MCPPluginResult, 'content' | 'success'> & Required<Pick<MCPPluginResult, 'error'>> {
  const record = toolFailure(thrown, signal);
  const { type } = record.error;
  const known = Object.hasOwn(errorTypes, type) ? errorTypes[type] : undefined;
  const shown = known ?? (ownTypes.has(type) ? type : 'UNKNOWN_ERROR');
  return { ...record, error: { ...record.error, type: shown } };
}

/**
 * Calls the tool `apiName` of the server `identifier`. A failure is a result as well, so that the model is
 * told of it.
 */
export async function invokeMCPTypePlugin(
  payload: Pick<ChatToolPayload, 'identifier' | 'apiName' | 'arguments'>,
  clients: Readonly<Record<string, MCPClient>> = {},
  options: MCPPluginOptions = {},
): Promise<MCPPluginResult> {
  const begin = Date.now();
  const { signal, timeoutMs, maxLength = defaultLength } = options;
  try {
    const { identifier } = payload;
    const client = Object.hasOwn(clients, identifier) ? clients[identifier] : undefined;
    if (!client) {
      throw new MillraceError('tool_not_found', `There is no MCP server ${identifier}.`);
    }
    const args = payloadArguments(payload.arguments);
    const state = await client.callTool(payload.apiName, args, { signal, timeoutMs });
    const content = mcpResultText(state, maxLength);
    const success = state.isError !== true;
    const executionTime = Date.now() - begin;
    if (success) return { content, success, state, executionTime };
    const error = { type: 'TOOL_ERROR', message: content };
    return { content, success, state, error, executionTime };
  } catch (thrown) {
    return { ...failure(thrown, signal), executionTime: Date.now() - begin };
  }
}
