// Tools that run in the engine: an agent's plan names them there, so that their calls never cross into
// JavaScript.
import type { HostTool } from './types';

/** One of a set of builtin tools, or a tool of an MCP client; see lib/app/engine.hpp. */
export type EngineTool =
  | { set: number; name: string }
  | { stream: number; name: string; outputSchema?: object; timeoutMs?: number };

// By their function: a tool that was spread into another one is still the engine's, one that got a
// function of its own is not.
const engineTools = new WeakMap<object, EngineTool>();

const functionOf = (tool: HostTool): object => (tool as { run: object }).run;

/** Remembers what the engine would run in place of the tool's function. */
export function inEngine<Tool extends HostTool>(tool: Tool, engineTool: EngineTool): Tool {
  engineTools.set(functionOf(tool), engineTool);
  return tool;
}

const remoteTools = new WeakSet<object>();

/** Marks a tool that an MCP server runs. */
export function atServer<Tool extends HostTool>(tool: Tool): Tool {
  remoteTools.add(functionOf(tool));
  return tool;
}

export function isAtServer(tool: HostTool): boolean {
  return remoteTools.has(functionOf(tool));
}

/** What the engine runs in place of the tool's function; undefined for tools of the host. */
export function engineToolOf(tool: HostTool): EngineTool | undefined {
  return engineTools.get(functionOf(tool));
}
