// The MCP servers of `millrace serve`: read from a configuration file, started by the engine, told about
// on standard error.
import { readFileSync } from 'node:fs';

import { MillraceError } from '../errors';
import { reachOf } from '../mcp/reach';
import { entriesOf, optionsOf } from '../mcp/servers';
import type { McpServerSettings, McpServerStatus, Server } from '../server';
import { UsageError } from './command';

/** What a configuration names: servers to be started, and those that cannot be. */
export interface McpPlan {
  servers: McpServerSettings[];
  failures: McpServerStatus[];
}

function parsed(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`--mcp: ${file} cannot be read: ${(error as Error).message}`);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(`--mcp: ${file} is not JSON: ${(error as Error).message}`);
  }
}

/** Reads the file of --mcp; a server that is described wrongly is a failure of its own. */
export function readMcpFile(file: string, env: NodeJS.ProcessEnv): McpPlan {
  const plan: McpPlan = { servers: [], failures: [] };
  let entries: ReturnType<typeof entriesOf>;
  try {
    entries = entriesOf(parsed(file));
  } catch (error) {
    if (!MillraceError.is(error)) throw error;
    throw new UsageError(`--mcp: ${file}: ${error.message}`);
  }
  for (const [name, entry] of entries) {
    try {
      const settings = reachOf(optionsOf(name, entry, env));
      const { trusted, allow, expose, deny } = entry;
      plan.servers.push({
        name,
        settings,
        ...(trusted !== undefined && { trusted }),
        ...(allow && { allow }),
        ...(expose && { expose }),
        ...(deny && { deny }),
      });
    } catch (thrown) {
      const error = MillraceError.is(thrown)
        ? { code: thrown.code, message: thrown.message }
        : { code: 'invalid_option', message: String(thrown) };
      plan.failures.push({ name, state: 'failed', tools: 0, error });
    }
  }
  return plan;
}

function line({ name, state, tools, error }: McpServerStatus): string {
  if (error) return `MCP server ${name}: ${error.message} (${error.code})`;
  if (state === 'starting') return `MCP server ${name}: starting`;
  return `MCP server ${name}: ${tools} ${tools === 1 ? 'tool' : 'tools'}`;
}

const pollMs = 25;

/**
 * Waits until each server has told its tools or failed, `patienceMs` at most, and says what becomes of each. Ends
 * early when `stopped` resolves.
 */
export async function settleMcp(
  server: Server,
  { failures, servers }: McpPlan,
  stopped: Promise<unknown>,
  tell: (text: string) => void,
  patienceMs: number,
): Promise<McpServerStatus[]> {
  const told = new Map<string, string>();
  const say = (status: McpServerStatus): void => {
    if (told.get(status.name) === status.state) return;
    told.set(status.name, status.state);
    tell(`${line(status)}\n`);
  };
  failures.forEach(say);
  if (servers.length === 0) return failures;
  const end = Date.now() + patienceMs;
  let isStopped = false;
  void stopped.then(() => (isStopped = true));
  for (;;) {
    const all = server.mcp();
    all.forEach(say);
    const isSettled = all.every(({ state }) => state !== 'starting');
    if (isStopped || isSettled || Date.now() > end) return [...failures, ...all];
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}
