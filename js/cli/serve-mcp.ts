// The MCP servers of `millrace serve`: read from a configuration file, started by the engine, told about
// on standard error.
import { readFileSync } from 'node:fs';

import { MillraceError } from '../errors';
import { authorizationOf } from '../mcp/authorization';
import { reachOf } from '../mcp/reach';
import { entriesOf, namesCaller, oauthOf, optionsOf } from '../mcp/servers';
import type { MCPServerEntry } from '../mcp/servers';
import type { McpServerSettings, McpServerStatus, Server } from '../server';
import { messageOf } from '../thrown';
import { shownError, UsageError } from './command';
import type { Config } from './config';
import {
  type AuthorizationChoice,
  authorizationChoice,
  CommandLineAuthorization,
} from './mcp-authorization';

/** A server over HTTP that may want an authorization. */
interface Guarded {
  authorization: CommandLineAuthorization;
  answer: NonNullable<ReturnType<typeof authorizationOf>>;
}

/** What a configuration names: servers to be started, and those that cannot be. */
export interface McpPlan {
  servers: McpServerSettings[];
  failures: McpServerStatus[];
  guarded: Map<string, Guarded>;
}

function parsed(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`--mcp: ${file} cannot be read: ${messageOf(error)}`);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(`--mcp: ${file} is not JSON: ${messageOf(error)}`);
  }
}

// How the engine reaches a server, with the tokens that are kept for it.
async function settingsOf(
  name: string,
  entry: MCPServerEntry,
  env: NodeJS.ProcessEnv,
  choice: AuthorizationChoice | undefined,
  guarded: McpPlan['guarded'],
): Promise<Pick<McpServerSettings, 'settings' | 'hostAuthorizes'>> {
  const reach = optionsOf(name, entry, env);
  if (!('url' in reach) || namesCaller(reach.headers)) return { settings: reachOf(reach) };
  const url = String(reach.url);
  const oauth = oauthOf(name, entry, env);
  if (!choice) return { settings: reachOf(reach), hostAuthorizes: true };
  const authorization = new CommandLineAuthorization(name, url, oauth, choice);
  const retained = await authorization.headers(url);
  const answer = authorizationOf(authorization, url, retained);
  if (answer) guarded.set(name, { authorization, answer });
  return {
    settings: reachOf({ ...reach, headers: { ...reach.headers, ...retained } }),
    hostAuthorizes: true,
  };
}

/**
 * Reads the file of --mcp; a server that is described wrongly is a failure of its own. Without a choice of how servers
 * are authorized, no token is read.
 */
async function readMcpFile(
  file: string,
  env: NodeJS.ProcessEnv,
  choice?: AuthorizationChoice,
): Promise<McpPlan> {
  const plan: McpPlan = { servers: [], failures: [], guarded: new Map() };
  let entries: ReturnType<typeof entriesOf>;
  try {
    entries = entriesOf(parsed(file));
  } catch (error) {
    if (!MillraceError.is(error)) throw error;
    throw new UsageError(`--mcp: ${file}: ${error.message}`);
  }
  for (const [name, entry] of entries) {
    try {
      const reached = await settingsOf(name, entry, env, choice, plan.guarded);
      const { trusted, allow, expose, deny } = entry;
      plan.servers.push({
        name,
        ...reached,
        ...(trusted !== undefined && { trusted }),
        ...(allow && { allow }),
        ...(expose && { expose }),
        ...(deny && { deny }),
      });
    } catch (thrown) {
      const error = MillraceError.is(thrown)
        ? { code: thrown.code, message: thrown.message }
        : { code: 'invalid_option', message: messageOf(thrown) };
      plan.failures.push({ name, state: 'failed', tools: 0, error });
    }
  }
  return plan;
}

/** The MCP servers that a configuration names. A check reads no token. Errors: UsageError. */
export function mcpPlanOf(
  config: Config,
  env: NodeJS.ProcessEnv,
  { isCheck = false }: { isCheck?: boolean } = {},
): Promise<McpPlan> {
  const file = config.text('mcp.file');
  if (file === undefined) {
    return Promise.resolve({ servers: [], failures: [], guarded: new Map() });
  }
  const choice = authorizationChoice({
    authorize: config.text('mcp.authorize'),
    tokens: config.text('mcp.tokens'),
  });
  return readMcpFile(file, env, isCheck ? undefined : choice);
}

function line({ name, state, tools, error, notes = [] }: McpServerStatus): string {
  if (error) return shownError(`MCP server ${name}: ${error.message}`, error.code);
  if (state === 'unauthorized') return `MCP server ${name}: waiting for authorization\n`;
  if (state === 'starting') return `MCP server ${name}: starting\n`;
  const count = `${tools} ${tools === 1 ? 'tool' : 'tools'}`;
  return [count, ...notes].map((text) => `MCP server ${name}: ${text}\n`).join('');
}

const pollMs = 25;
const idlePollMs = 250;

/**
 * Answers the refusals of servers for as long as they are served: by kept tokens, or by a person. Says what
 * becomes of them.
 */
export function attendMcp(
  server: Server,
  { guarded }: McpPlan,
  report: (text: string) => void,
): { stop(): void } {
  const answered = new Map<string, number>();
  const waiting = new Set<string>();
  const attend = (status: McpServerStatus): void => {
    const { name, state, refusal } = status;
    const one = guarded.get(name);
    if (!one) return;
    if (waiting.has(name) && state !== 'unauthorized' && !refusal) {
      waiting.delete(name);
      report(line(status));
    }
    if (!refusal || answered.get(name) === refusal.number) return;
    answered.set(name, refusal.number);
    waiting.add(name);
    one.answer(refusal.status, refusal.challenge).then(
      (headers) => server.answerMcp(name, headers),
      (error: unknown) =>
        server.answerMcp(name, error instanceof Error ? error : new Error(messageOf(error))),
    );
  };
  if (guarded.size === 0) return { stop: () => undefined };
  const timer = setInterval(() => server.mcp().forEach(attend), idlePollMs);
  return {
    stop: () => {
      clearInterval(timer);
      for (const { authorization } of guarded.values()) authorization.close();
    },
  };
}

// One server that hangs does not keep the others from being used; it may still come.
const startGraceMs = 10_000;

/**
 * Waits until each server has told its tools, failed or waits for a person, and says what becomes of each. A
 * strict one waits for that person, too, and for servers that hang. Ends early when `stopped` resolves.
 */
export async function settleMcp(
  server: Server,
  { failures, servers }: McpPlan,
  stopped: Promise<unknown>,
  report: (text: string) => void,
  isStrict: boolean,
): Promise<McpServerStatus[]> {
  const isOpen = ({ state }: McpServerStatus): boolean =>
    state === 'starting' || (isStrict && state === 'unauthorized');
  const reported = new Map<string, string>();
  const reportChange = (status: McpServerStatus): void => {
    if (reported.get(status.name) === status.state) return;
    reported.set(status.name, status.state);
    report(line(status));
  };
  failures.forEach(reportChange);
  if (servers.length === 0) return failures;
  const end = isStrict ? Infinity : performance.now() + startGraceMs;
  let isStopped = false;
  void stopped.then(() => (isStopped = true));
  for (;;) {
    const all = server.mcp();
    all.forEach(reportChange);
    const isSettled = !all.some(isOpen);
    if (isStopped || isSettled || performance.now() > end) return [...failures, ...all];
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}
