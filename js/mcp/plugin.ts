// Calls of MCP tools in LobeHub's shape: a payload in, a result record out, that never throws.
import type { ChatToolPayload } from '../../types/agent';
import type { MCPContent, MCPToolResult } from '../../types/mcp';
import { checkedPayload, payloadArguments, toolFailure } from '../tool/payload';
import { MillraceError } from '../errors';
import { millisecondsSince } from '../limits';
import { attachmentsOf, type MCPAttachment, type MCPFileStore } from './attachments';
import type { MCPClient } from './client';
import { mcpResultText } from './tools';

/** What became of a call. */
export interface MCPPluginResult {
  /** What the model reads. */
  content: string;
  success: boolean;
  /** The result as the server gave it, without the bytes of images, audio and files. */
  state?: MCPToolResult;
  /** What `store` has kept of them. */
  attachments?: MCPAttachment[];
  error?: { type: string; message: string; body?: unknown };
  /** Milliseconds. */
  executionTime: number;
}

export interface MCPPluginOptions {
  signal?: AbortSignal;
  /** Milliseconds; the tool's own limit when absent. */
  timeoutMs?: number;
  /** Bytes of `content`; longer ones are cut, with a note. Default 25000. */
  maxLength?: number;
  /** Keeps images, audio and files of results; without it they are lost. */
  store?: MCPFileStore;
}

type Json = Record<string, unknown>;

/** Of `maxLength`. */
export const defaultLength = 25_000;

// LobeHub's classes of errors; it has none for what happens to a call after the server was reached.
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

// A record goes into histories, which hold addresses and never bytes.
function withoutBytes(result: MCPToolResult): MCPToolResult {
  const bare = (block: MCPContent): MCPContent => {
    const { type, data: _data, resource, ...rest } = (block ?? {}) as Json;
    const { blob: _blob, ...file } = (resource ?? {}) as Json;
    if (type === 'image' || type === 'audio') return { type, ...rest } as MCPContent;
    return type === 'resource' ? ({ ...block, resource: file } as MCPContent) : block;
  };
  return Array.isArray(result.content) ? { ...result, content: result.content.map(bare) } : result;
}

/**
 * Calls the tool `apiName` of the server `identifier`. A failure is a result as well, which the model
 * can read.
 */
export async function invokeMCPTypePlugin(
  payload: Pick<ChatToolPayload, 'identifier' | 'apiName' | 'arguments'>,
  clients: Readonly<Record<string, MCPClient>> = {},
  options: MCPPluginOptions = {},
): Promise<MCPPluginResult> {
  const begin = performance.now();
  const { signal, timeoutMs, maxLength = defaultLength, store } = options;
  try {
    const { identifier } = checkedPayload(payload);
    const client = Object.hasOwn(clients, identifier) ? clients[identifier] : undefined;
    if (!client) {
      throw new MillraceError('tool_not_found', `There is no MCP server ${identifier}.`);
    }
    const args = payloadArguments(payload.arguments);
    const result = await client.callTool(payload.apiName, args, { signal, timeoutMs });
    const content = mcpResultText(result, maxLength);
    const success = result.isError !== true;
    const retained = store && success ? await attachmentsOf(result, store) : undefined;
    const { attachments = [], note = '' } = retained ?? {};
    return {
      content: content + note,
      success,
      state: withoutBytes(result),
      ...(attachments.length > 0 && { attachments }),
      ...(!success && { error: { type: 'TOOL_ERROR', message: content } }),
      executionTime: millisecondsSince(begin),
    };
  } catch (thrown) {
    return { ...failure(thrown, signal), executionTime: millisecondsSince(begin) };
  }
}
