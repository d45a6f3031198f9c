// Tools of MCP servers as tools of agents: their names, their effects, who is asked, what a model reads.
import type { HumanInterventionConfig } from '../../types/agent';
import type { MCPRequestOptions, MCPTool, MCPToolResult } from '../../types/mcp';
import { addon } from '../addon';
import { engineAnswer } from '../tool/engine-answer';
import { atServer, inEngine } from '../tool/engine-tools';
import type { HostTool, RunnableTool } from '../tool/types';
import { MillraceError, rethrow } from '../errors';
import { checkNames } from '../known-names';
import { limitOf } from '../limits';
import { shown } from '../shown';
import { attachmentsOf, type MCPFileStore } from './attachments';
import { isList } from './reach';

/** Remembers how approved tools were described, so that a changed one is asked for again. */
export interface MCPToolPins {
  /** The fingerprint that was approved for the tool of this wire name. */
  get(wireName: string): string | undefined | Promise<string | undefined>;
}

export interface MCPToolsOptions extends Pick<MCPRequestOptions, 'signal' | 'timeoutMs'> {
  /** Overrides the client's `trusted`. */
  trusted?: boolean;
  /** Only these tools: patterns with `*` of the server's names, or of those that models are told. */
  allow?: readonly string[];
  /** The same. */
  expose?: readonly string[];
  /** All but these. */
  deny?: readonly string[];
  pins?: MCPToolPins;
  /**
   * Milliseconds of one call, progress or not; default the client's `timeoutMs`, which each progress begins
   * anew, five times at most.
   */
  callTimeoutMs?: number;
  /**
   * Keeps images, sounds and files of results, which become attachments; without it a model is told that there
   * was one, and nobody sees it. Such tools run in JavaScript.
   */
  store?: MCPFileStore;
}

/** A tool as the engine describes it to agents. */
interface DescribedTool extends Pick<HostTool, 'name' | 'description' | 'effect'> {
  parameters: object;
  approval: HumanInterventionConfig;
  /** The server's name of it. */
  tool: string;
  fingerprint: string;
}

/** Tools as the engine describes them, and a sentence for each one that is left out. */
interface DescribedList {
  tools: DescribedTool[];
  notes: string[];
}

function describedList(rules: object): DescribedList {
  try {
    return JSON.parse(addon().describeMcpTools(JSON.stringify(rules))) as DescribedList;
  } catch (error) {
    return rethrow(error);
  }
}

function described(rules: object): DescribedTool[] {
  return describedList(rules).tools;
}

// What was reported of the tools of a client.
const reportedOf = new WeakMap<object, Set<string>>();
const mostReported = 100;

// Each sentence once, since lists are read again and again.
function reportLeftOut(client: ToolCaller, notes: readonly string[]): void {
  const known = reportedOf.get(client) ?? new Set();
  reportedOf.set(client, known);
  for (const note of notes) {
    if (known.has(note) || known.size >= mostReported) continue;
    known.add(note);
    process.emitWarning(`MCP server ${shown(client.name)}: ${note}`, { code: 'MILLRACE_MCP' });
  }
}

/** The fingerprint of everything in a tool's description that a model or a person goes by. */
export function mcpToolFingerprint(tool: MCPTool): string {
  return described({ server: '', tools: [tool] })[0]?.fingerprint ?? '';
}

/**
 * The name of a server's tool towards models: letters, digits, _ and - only, at most 64 of them. A name
 * that had to be changed for that ends with a part of its hash, so that it stays the tool's own.
 */
export function mcpToolName(server: string, tool: string): string {
  return described({ server, tools: [{ name: tool }] })[0]?.name ?? '';
}

// Bytes of images and sounds are not shown to a model as text.
const withoutBytes = (key: string, value: unknown): unknown =>
  key === 'data' || key === 'blob' ? '' : value;

/**
 * A result as a model reads it: its texts, line by line; else its structured content. Cut at 256 KiB, without
 * characters and marks that a model could take for more than data.
 */
export function mcpResultText(result: MCPToolResult, limit?: number): string {
  if (typeof result !== 'object' || result === null) {
    throw new MillraceError(
      'invalid_argument',
      `mcpResultText() takes the result of a tool, not ${shown(result)}.`,
    );
  }
  const { content, structuredContent } = result;
  const json = JSON.stringify({ content: content ?? [] }, withoutBytes);
  const structured =
    structuredContent === undefined
      ? ''
      : `,"structuredContent":${JSON.stringify(structuredContent)}`;
  return addon().mcpResultText(`${json.slice(0, -1)}${structured}}`, limit);
}

/** What a tool needs of its client. */
interface ToolCaller {
  readonly name: string;
  callTool(name: string, args: object, options: MCPRequestOptions): Promise<MCPToolResult>;
}

interface Settings extends MCPToolsOptions {
  trusted: boolean;
  /** Fingerprints of tools that this client has shown before. */
  seen: Map<string, string>;
  /** The client's stream in the engine. */
  stream: number;
}

const toolsOptions: readonly string[] = [
  ...['signal', 'timeoutMs', 'maxTotalMs', 'onProgress', 'trusted', 'allow', 'expose', 'deny'],
  ...['pins', 'callTimeoutMs', 'store', 'seen', 'stream'],
];

// A result that does not follow the schema that its tool announced is none.
function checkPromise({ outputSchema }: MCPTool, result: MCPToolResult): void {
  if (!outputSchema || result.isError === true) return;
  let wrong: string;
  try {
    wrong = engineAnswer<string>('checkSchema', {
      schema: outputSchema,
      value: result.structuredContent ?? null,
    });
  } catch {
    // A schema that is none promises nothing.
    return;
  }
  if (wrong === '') return;
  throw new MillraceError(
    'mcp_protocol_error',
    `The result of the MCP server's tool does not follow its output schema: ${wrong}`,
  );
}

// A connection that broke or could not be made, and a server that is overloaded, may be there again in a
// moment. Whether the call goes again is the declared effect's word.
function orPassing(error: unknown): never {
  if (!MillraceError.is(error)) throw error;
  const { code, message, status = 500, detail, cause } = error;
  const isPassing =
    code === 'mcp_session_lost' ||
    (code === 'mcp_connection_failed' && (status === 429 || status >= 500));
  if (!isPassing) throw error;
  throw new MillraceError(code, message, {
    retryable: true,
    ...(error.status !== undefined && { status: error.status }),
    ...(detail !== undefined && { detail }),
    cause,
  });
}

// What a call of a tool gives an agent.
async function called(
  client: ToolCaller,
  reported: MCPTool,
  input: object,
  store: MCPFileStore | undefined,
  options: MCPRequestOptions,
): Promise<unknown> {
  const result = await client.callTool(reported.name, input, options).catch(orPassing);
  if (typeof result !== 'object' || result === null) {
    throw new MillraceError(
      'mcp_protocol_error',
      `The result of ${reported.name} must be an object, not ${shown(result)}.`,
    );
  }
  const content = mcpResultText(result);
  if (result.isError === true) {
    throw new MillraceError('tool_failed', content || `The tool ${reported.name} failed.`);
  }
  checkPromise(reported, result);
  if (!store) return content;
  const { attachments, note } = await attachmentsOf(result, store);
  const state = result.structuredContent;
  return {
    content: content + note,
    success: true,
    ...(attachments.length > 0 && { attachments }),
    ...(state !== undefined && { state }),
  };
}

/** The tools of a list, as an agent takes them. */
export async function hostTools(
  client: ToolCaller,
  listed: readonly MCPTool[],
  settings: Settings,
): Promise<RunnableTool<Record<string, unknown>>[]> {
  checkNames('tools()', settings, toolsOptions);
  const { expose, allow = expose, deny, trusted, seen, pins, stream, store } = settings;
  const callTimeoutMs = limitOf('callTimeoutMs', settings.callTimeoutMs);
  for (const [name, list] of Object.entries({ expose, allow, deny })) {
    if (!isList(list)) {
      throw new MillraceError(
        'invalid_option',
        `\`${name}\` must be a list of strings, not ${shown(list)}.`,
      );
    }
  }
  if (store !== undefined && typeof store !== 'function') {
    throw new MillraceError(
      'invalid_option',
      `\`store\` must be a function that keeps a file, not ${shown(store)}.`,
    );
  }
  const rules = { server: client.name, trusted, allow, deny, tools: listed };
  const { tools: first, notes } = describedList(rules);
  reportLeftOut(client, notes);
  const known = Object.fromEntries(seen);
  for (const { name, fingerprint } of first) {
    const pinned = await pins?.get(name);
    if (pinned !== undefined) known[name] = pinned;
    if (!seen.has(name)) seen.set(name, fingerprint);
  }
  const tools = described({ ...rules, known, pins: pins !== undefined });
  // Of two that claim the same name the first counts.
  const byName = new Map(listed.toReversed().map((one) => [one.name, one]));
  return tools.map(({ name, description, parameters, effect, approval, tool }) => {
    const reported = byName.get(tool) as MCPTool;
    const { outputSchema } = reported;
    const made = atServer<RunnableTool<Record<string, unknown>>>({
      name,
      ...(description !== undefined && { description }),
      input: parameters,
      ...(effect && { effect }),
      approval: approval !== 'never',
      run: (input: Record<string, unknown>, { signal }: { signal?: AbortSignal } = {}) =>
        called(client, reported, input, store, {
          signal,
          timeoutMs: callTimeoutMs,
          maxTotalMs: callTimeoutMs,
        }),
    });
    if (store) return made;
    return inEngine(made, {
      stream,
      name: tool,
      ...(outputSchema && { outputSchema }),
      ...(callTimeoutMs !== undefined && { timeoutMs: callTimeoutMs }),
    });
  });
}
