// Calls of MCP tools in LobeHub's shape: a payload in, a result record out, that never throws.
import type { ChatToolPayload } from '../../types/agent';
import type { MCPToolResult } from '../../types/mcp';
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

// LobeHub's classes of errors.
const errorTypes: Record<string, string> = {
  mcp_unauthorized: 'AUTHORIZATION_ERROR',
  mcp_connection_failed: 'CONNECTION_FAILED',
  mcp_session_lost: 'NoValidSessionId',
  process_start_failed: 'PROCESS_SPAWN_ERROR',
  tool_timeout: 'INITIALIZATION_TIMEOUT',
  invalid_argument: 'VALIDATION_ERROR',
  invalid_json: 'VALIDATION_ERROR',
  tool_not_found: 'VALIDATION_ERROR',
};

function argumentsOf(text: string): object {
  const value = (text.trim() === '' ? {} : JSON.parse(text)) as unknown;
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new MillraceError('invalid_argument', 'The arguments of a tool must be a JSON object.');
}

function failure(error: unknown): MCPPluginResult['error'] & object {
  const code = MillraceError.is(error) ? error.code : 'invalid_json';
  const message = error instanceof Error ? error.message : String(error);
  const { cause } = error as { cause?: unknown };
  return { type: errorTypes[code] ?? 'UNKNOWN_ERROR', message, ...(cause ? { body: cause } : {}) };
}

/**
 * Calls the tool `apiName` of the server `identifier`. A failure is a result as well, so that the model is
 * told of it.
 */
export async function invokeMCPTypePlugin(
  payload: Pick<ChatToolPayload, 'identifier' | 'apiName' | 'arguments'>,
  clients: Readonly<Record<string, MCPClient>>,
  options: MCPPluginOptions = {},
): Promise<MCPPluginResult> {
  const begin = Date.now();
  const { signal, timeoutMs, maxLength = defaultLength } = options;
  try {
    const client = clients[payload.identifier];
    if (!client) {
      throw new MillraceError('tool_not_found', `There is no MCP server ${payload.identifier}.`);
    }
    const args = argumentsOf(payload.arguments);
    const state = await client.callTool(payload.apiName, args, { signal, timeoutMs });
    const content = mcpResultText(state, maxLength);
    const success = state.isError !== true;
    const executionTime = Date.now() - begin;
    if (success) return { content, success, state, executionTime };
    const error = { type: 'TOOL_ERROR', message: content };
    return { content, success, state, error, executionTime };
  } catch (thrown) {
    const error = failure(thrown);
    return { content: error.message, success: false, error, executionTime: Date.now() - begin };
  }
}
