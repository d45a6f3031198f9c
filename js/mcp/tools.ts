// Tools of MCP servers as tools of agents: their names, their effects, who is asked, what a model reads.
import { createHash } from 'node:crypto';

import type { MCPContent, MCPRequestOptions, MCPTool, MCPToolResult } from '../../types/mcp';
import type { HostTool, ToolEffect } from '../agent/tools';
import { MillraceError } from '../errors';
import type { MCPClient } from './client';

/** Remembers how approved tools were described, so that a changed one is asked for again. */
export interface MCPToolPins {
  /** The fingerprint that was approved for the tool of this wire name. */
  get(wireName: string): string | undefined | Promise<string | undefined>;
}

export interface MCPToolsOptions extends Pick<MCPRequestOptions, 'signal' | 'timeoutMs'> {
  /** Overrides the client's `trusted`. */
  trusted?: boolean;
  /** Only these tools, by the server's names. */
  allow?: readonly string[];
  /** All but these. */
  deny?: readonly string[];
  pins?: MCPToolPins;
  /** Milliseconds of one call; default the client's. */
  callTimeoutMs?: number;
}

const longestName = 64;
const fingerprintLength = 8;

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** The fingerprint of everything in a tool's description that a model or a person goes by. */
export function mcpToolFingerprint(tool: MCPTool): string {
  const { name, title, description, inputSchema, outputSchema, annotations } = tool;
  return hash(
    JSON.stringify([name, title, description, inputSchema, outputSchema, annotations], sorted),
  );
}

// Members in the order of their names, so that only a change of meaning changes the text.
function sorted(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * The name of a server's tool towards models: letters, digits, _ and - only, at most 64 of them. A name
 * that had to be changed for that ends with a part of its hash, so that it stays the tool's own.
 */
export function mcpToolName(server: string, tool: string): string {
  const plain = (text: string): string => text.replace(/[^A-Za-z0-9-]+|_{2,}/g, '_');
  const prefix = plain(server).replace(/^_+|_+$/g, '') || 'mcp';
  const full = `${prefix}__${plain(tool).replace(/^_+|_+$/g, '')}`;
  const unchanged = full === `${server}__${tool}`;
  if (unchanged && full.length <= longestName) return full;
  const suffix = `_${hash(`${server}\n${tool}`).slice(0, fingerprintLength)}`;
  return full.slice(0, longestName - suffix.length).replace(/_+$/, '') + suffix;
}

function effectOf({ annotations }: MCPTool, trusted: boolean): ToolEffect {
  if (!trusted) return 'once';
  if (annotations?.readOnlyHint === true) return 'read';
  return annotations?.idempotentHint === true ? 'idempotent' : 'once';
}

const spelled: Record<string, (block: never) => string> = {
  text: ({ text }: MCPContent & { type: 'text' }) => text,
  image: ({ mimeType }: MCPContent & { type: 'image' }) => `[image ${mimeType}]`,
  audio: ({ mimeType }: MCPContent & { type: 'audio' }) => `[audio ${mimeType}]`,
  resource: ({ resource }: MCPContent & { type: 'resource' }) =>
    resource.text ?? `[resource ${resource.uri}]`,
  resource_link: ({ uri }: MCPContent & { type: 'resource_link' }) => `[resource ${uri}]`,
};

/** A result as a model reads it: its texts, line by line; else its structured content. */
export function mcpResultText({ content, structuredContent }: MCPToolResult): string {
  const texts = (content ?? []).map((block) => spelled[block.type]?.(block as never) ?? '');
  const text = texts.filter((line) => line !== '').join('\n');
  if (text !== '' || structuredContent === undefined) return text;
  return JSON.stringify(structuredContent);
}

interface Settings extends MCPToolsOptions {
  trusted: boolean;
  /** Fingerprints of tools that this client has shown before. */
  seen: Map<string, string>;
}

/** The tools of a list, as an agent takes them. */
export async function hostTools(
  client: MCPClient,
  listed: readonly MCPTool[],
  settings: Settings,
): Promise<HostTool<Record<string, unknown>>[]> {
  const { allow, deny, trusted, seen, pins, callTimeoutMs } = settings;
  const tools = listed.filter(
    ({ name }) => (allow?.includes(name) ?? true) && !deny?.includes(name),
  );
  return Promise.all(
    tools.map(async (tool) => {
      const name = mcpToolName(client.name, tool.name);
      const fingerprint = mcpToolFingerprint(tool);
      const known = (await pins?.get(name)) ?? seen.get(name);
      if (!seen.has(name)) seen.set(name, fingerprint);
      // Without pins a trusted server's first description counts as approved.
      const isApproved = known === undefined ? trusted : known === fingerprint;
      const asksNobody = isApproved && (trusted || pins !== undefined);
      return {
        name,
        description: tool.description ?? tool.title ?? '',
        input: tool.inputSchema,
        effect: effectOf(tool, trusted),
        approve: !asksNobody,
        async run(input: Record<string, unknown>, { signal }: { signal?: AbortSignal }) {
          const options = { signal, timeoutMs: callTimeoutMs };
          const result = await client.callTool(tool.name, input, options);
          const text = mcpResultText(result);
          if (result.isError === true) {
            throw new MillraceError('tool_failed', text || `The tool ${tool.name} failed.`);
          }
          return text;
        },
      };
    }),
  );
}
