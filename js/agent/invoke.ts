// Calls of tools in LobeHub's shape: a payload in, a result record out, that never throws. The type of the
// payload says which kind of tool is meant.
import type { AgentToolContext, ChatToolPayload } from '../../types/agent';
import { MillraceError } from '../errors';
import { millisecondsSince } from '../limits';
import type { MCPFileStore } from '../mcp/attachments';
import type { MCPClient } from '../mcp/client';
import type { MCPPluginOptions } from '../mcp/plugin';
import { defaultLength, invokeMCPTypePlugin } from '../mcp/plugin';
import { checkArgument } from '../value-checks';
import { resultText } from '../tool/http-tools';
import { payloadArguments, toolFailure } from '../tool/payload';
import { type PluginOptions, invokeDefaultTypePlugin } from '../tool/plugins';
import { within } from '../tool/time-limit';
import { resultJson } from '../tool/tool-result';
import { defaultTimeoutMs, checkArguments } from '../tool/tool';
import type { HostTool } from '../tool/types';

/** What became of a call. */
export interface ToolInvocation {
  /** What the model reads. */
  content: string;
  success: boolean;
  /** What the host keeps of the result beside its text. */
  state?: unknown;
  error?: { type: string; message: string; body?: unknown };
  /** Ends the run. */
  stop?: boolean;
  /** Milliseconds. */
  executionTime?: number;
  [member: string]: unknown;
}

export interface ToolInvocationOptions extends MCPPluginOptions {
  /** Keeps images, audio and files of MCP results, which become `attachments`. */
  store?: MCPFileStore;
}

export type ToolPayload = Pick<ChatToolPayload, 'identifier' | 'apiName' | 'arguments'> &
  Partial<Pick<ChatToolPayload, 'id' | 'type'>>;

type Invoke = (
  payload: ToolPayload,
  sources: ToolSources,
  options: ToolInvocationOptions,
) => Promise<ToolInvocation>;

/** Where the tools of each kind are. */
export interface ToolSources {
  /** Of type `builtin`: those of builtinTools(), imageTool() and tool(). */
  builtin?: readonly HostTool[];
  /** Of type `mcp`, by the payload's identifier. */
  mcp?: Readonly<Record<string, MCPClient>>;
  /** Of all other types, by the payload's identifier. */
  plugins?: Readonly<Record<string, PluginOptions>>;
}

function failure(thrown: unknown, began: number, signal: AbortSignal | undefined): ToolInvocation {
  return { ...toolFailure(thrown, signal), executionTime: millisecondsSince(began) };
}

function isRecord(value: unknown): value is ToolInvocation {
  const { content, success } = (value ?? {}) as Partial<ToolInvocation>;
  return typeof content === 'string' && typeof success === 'boolean';
}

function found(payload: ToolPayload, tools: readonly HostTool[]): HostTool {
  const { identifier, apiName } = payload;
  const names = [apiName, `${identifier}____${apiName}`];
  const one = tools.find(({ name }) => names.includes(name));
  if (one) return one;
  throw new MillraceError('tool_not_found', `There is no builtin tool ${apiName}.`);
}

/**
 * Calls a builtin tool or a function of the host by its name. A failure is a result as well, which the model
 * can read.
 */
export async function invokeBuiltinTool(
  payload: ToolPayload,
  tools: readonly HostTool[] = [],
  options: ToolInvocationOptions = {},
): Promise<ToolInvocation> {
  const began = performance.now();
  const { signal, maxLength = defaultLength } = options;
  try {
    checkArgument('invokeBuiltinTool()', payload, 'the payload');
    const tool = found(payload, tools);
    const args = payloadArguments(payload.arguments) as never;
    const limit = options.timeoutMs ?? tool.timeoutMs ?? defaultTimeoutMs;
    const input = await checkArguments(tool, args);
    const value = await within<unknown>(
      (inner) => {
        const context = { signal: inner, toolCallId: payload.id } as unknown as AgentToolContext;
        return tool.run(input, context);
      },
      limit,
      `The tool ${tool.name} did not answer within ${limit} ms.`,
      signal,
    );
    const record = isRecord(value)
      ? value
      : {
          content: typeof value === 'string' ? value : resultJson(value, tool.name),
          success: true,
        };
    const content = resultText(record.content, maxLength);
    return { ...record, content, executionTime: millisecondsSince(began) };
  } catch (thrown) {
    return failure(thrown, began, signal);
  }
}

const invokeMCP: Invoke = async (payload, { mcp = {} }, options) => ({
  ...(await invokeMCPTypePlugin(payload, mcp, options)),
});

const invokePlugin: Invoke = async (
  payload,
  { plugins = {} },
  { signal, timeoutMs, maxLength },
) => {
  const began = performance.now();
  const { identifier } = payload;
  const plugin = Object.hasOwn(plugins, identifier) ? plugins[identifier] : undefined;
  if (!plugin) {
    const missing = `There is no plugin ${identifier}.`;
    return failure(new MillraceError('tool_not_found', missing), began, signal);
  }
  const limits = {
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(maxLength !== undefined && { maxResult: maxLength }),
  };
  try {
    const result = await invokeDefaultTypePlugin(payload, { ...plugin, ...limits }, { signal });
    return { ...result, executionTime: millisecondsSince(began) };
  } catch (thrown) {
    return failure(thrown, began, signal);
  }
};

// LobeHub's types of tool calls; plugins of every type are called over HTTP.
const kinds: Record<string, Invoke> = {
  builtin: (payload, { builtin = [] }, options) => invokeBuiltinTool(payload, builtin, options),
  mcp: invokeMCP,
  default: invokePlugin,
  markdown: invokePlugin,
  standalone: invokePlugin,
};

/**
 * Calls a tool of the kind that the payload's type names; plugins when it names none. Never rejects: whatever
 * happens is a record.
 */
export async function invokeTool(
  payload: ToolPayload,
  sources: ToolSources = {},
  options: ToolInvocationOptions = {},
): Promise<ToolInvocation> {
  const began = performance.now();
  try {
    checkArgument('invokeTool()', payload, 'the payload');
    const { type = 'default' } = payload;
    const invoke = Object.hasOwn(kinds, type) ? kinds[type] : undefined;
    return await (invoke ?? invokePlugin)(payload, sources, options);
  } catch (thrown) {
    return failure(thrown, began, options.signal);
  }
}
