// millrace serve: the HTTP server inside the engine.
import type { Command } from './command';
import { integerOption, plain, readArgs, UsageError } from './command';
import { chooseModel } from './model-choice';
import { MillraceError } from '../errors';
import type { Server, ServerOptions } from '../server';
import { startServer } from '../server';
import { authorizationChoice, authorizationOptions } from './mcp-authorization';
import { attendMcp, type McpPlan, readMcpFile, settleMcp } from './serve-mcp';
import { version } from '../version';
import { addressOf } from '../model/environment';
import { checkSettings, engineSettings, hasKey, providerRows } from '../model/settings';

const help = `Usage: millrace serve [options]

Serves an agent over HTTP: POST /agent (AG-UI event stream), GET /agent/capabilities, POST
/webapi/chat/<provider> (LobeHub chat stream of any provider whose key or address is in the environment)
and GET /health.

Options:
  --port <n>              port to listen on; 0 selects a free one (default 8788)
  --host <address>        address to listen on (default 127.0.0.1)
  --model <provider:name> openai:..., anthropic:..., ollama:... or demo:demo
  --base-url <url>        address of the model provider
  --system <text>         system prompt
  --tools <names>         built-in tools of the agent, separated by commas
  --mcp <file>            MCP servers whose tools the agent gets: {"mcpServers": {name: {"command", "args",
                          "env", "cwd"} or {"type", "url", "headers"}}}
  --authorize <how>       how to authorize MCP servers (OAuth): print the address (default), open a browser,
                          or never
  --tokens <folder>       folder of OAuth tokens; default ~/.local/state/millrace/mcp; off stores none
  --strict                exit if any MCP server fails to start; default: continue with the others
  --approval <policy>      which tool calls need approval: never, risky (default), always
  --max-steps <n>         model turns with tools before the last answer (default 32); 0 is no limit
  --max-output-tokens <n> output limit for providers that require one (default 4096)
  --allow-host <name>     also accept this Host header; may be repeated
  --allow-origin <origin> accept requests of pages from this origin; may be repeated
  --storage <file:path>   record runs in this SQLite file: a run goes on after a crash or a restart, and may be read
                          and stopped at /agent/runs; off (default): runs live as long as their readers
  --wait <seconds>        how long to wait for another process to close the store (default 2)
  --on-disconnect <what>  what a recorded run does when its last reader goes away: continue (default) or stop
  --json                  print one line of JSON instead of text when the server is ready
  --help                  print this

Environment: MILLRACE_MODEL, OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL, ANTHROPIC_API_KEY,
ANTHROPIC_BASE_URL, ANTHROPIC_MODEL, OLLAMA_HOST, OLLAMA_MODEL, NODE_EXTRA_CA_CERTS, SSL_CERT_FILE.
Without --model and without any of these, a built-in demo model answers. Words in a message select what it does:
"reason" shows reasoning, "tool" calls a tool, "postcard" calls a tool that needs approval, "fail" breaks the
answer off, "refuse" gives an error status.
`;

const options = {
  port: { type: 'string' },
  host: { type: 'string' },
  model: { type: 'string' },
  'base-url': { type: 'string' },
  system: { type: 'string' },
  tools: { type: 'string' },
  mcp: { type: 'string' },
  ...authorizationOptions,
  strict: { type: 'boolean' },
  approval: { type: 'string' },
  'max-steps': { type: 'string' },
  'max-output-tokens': { type: 'string' },
  'allow-host': { type: 'string', multiple: true },
  'allow-origin': { type: 'string', multiple: true },
  storage: { type: 'string' },
  wait: { type: 'string' },
  'on-disconnect': { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

function greeting(url: string, model: string, hosts: readonly string[], storage?: string): string {
  const body = '{"threadId":"t1","messages":[{"id":"m1","role":"user","content":"Hello"}]}';
  const lines = [
    `millrace ${version()} serves ${model} at ${url}`,
    '',
    `  POST ${url}/agent                   AG-UI event stream`,
    `  POST ${url}/webapi/chat/<provider>  LobeHub chat stream`,
    ...(storage === undefined
      ? []
      : [
          `  GET  ${url}/agent/runs              runs in ${storage}, and below it each one from any record on`,
        ]),
    `  GET  ${url}/health`,
    '',
    `Requests may name the hosts ${hosts.join(', ')}; --allow-host adds more.`,
  ];
  if (model.startsWith('demo:')) {
    lines.push(
      'No model is configured: a demo answers. Set OPENAI_API_KEY or use --model to ask a real one.',
      '',
    );
  }
  lines.push('Try:', `  curl -N ${url}/agent -H 'content-type: application/json' -d '${body}'`, '');
  return lines.join('\n');
}

/** What keeps the process running until the user asks it to stop. */
interface Waiting {
  stopped: Promise<NodeJS.Signals>;
  /** Waits no longer. */
  end(): void;
}

// A second wish to stop leaves answers this long to say that they end.
const lastWordsMs = 200;

/** Waits for the user's wish to stop; a second one ends the process soon. */
function waitForStop(server: Server): Waiting {
  const keepAlive = setInterval(() => undefined, 0x7fffffff);
  const stopped = new Promise<NodeJS.Signals>((resolve) => {
    let requested = false;
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        if (requested) {
          server.expedite();
          setTimeout(() => process.exit(signal === 'SIGINT' ? 130 : 143), lastWordsMs);
          return;
        }
        requested = true;
        clearInterval(keepAlive);
        resolve(signal);
      });
    }
  });
  return { stopped, end: () => clearInterval(keepAlive) };
}

const noServers: McpPlan = { servers: [], failures: [], guarded: new Map() };

/** Every provider whose key or address the environment holds, and nothing else is missing of. */
function configuredProviders(): object[] {
  return providerRows().flatMap((row) => {
    try {
      if (!hasKey(row) && addressOf(row, process.env) === undefined) return [];
      checkSettings(row.id, {});
    } catch {
      // It needs an address as well; the route says so when it is asked.
      return [];
    }
    return [engineSettings(row.id, {})];
  });
}

function urlOf(host: string, server: Server): string {
  const shown = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${shown.includes(':') ? `[${shown}]` : shown}:${server.port}`;
}

function agentOptions(values: {
  system?: string;
  tools?: string;
  approval?: string;
}): Pick<ServerOptions, 'instructions' | 'tools' | 'approval'> {
  const { system, tools, approval } = values;
  const names = (tools ?? '').split(',').map((name) => name.trim());
  return {
    ...(system === undefined ? {} : { instructions: system }),
    ...(tools === undefined ? {} : { tools: names.filter((name) => name !== '') }),
    ...(approval === undefined ? {} : { approval }),
  };
}

function limitOptions(values: {
  'max-output-tokens'?: string;
  'max-steps'?: string;
}): Pick<ServerOptions, 'maxOutputTokens' | 'maxSteps'> {
  const maxOutputTokens = integerOption('max-output-tokens', values['max-output-tokens'], 1, 1e9);
  const maxSteps = integerOption('max-steps', values['max-steps'], 0, 1e6);
  return {
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(maxSteps === undefined ? {} : { maxSteps }),
  };
}

function storageOptions(values: {
  storage?: string;
  wait?: string;
  'on-disconnect'?: string;
}): Pick<ServerOptions, 'storage' | 'openTimeoutMs' | 'onDisconnect'> {
  const { storage, 'on-disconnect': onDisconnect } = values;
  const wait = integerOption('wait', values.wait, 0, 86_400);
  if (storage === undefined || storage === 'off') {
    if (wait !== undefined || onDisconnect !== undefined) {
      throw new UsageError('--wait and --on-disconnect need --storage file:PATH.');
    }
    return {};
  }
  if (!/^file:./u.test(storage)) {
    throw new UsageError(`--storage must be file:PATH or off, not '${storage}'.`);
  }
  if (onDisconnect !== undefined && onDisconnect !== 'continue' && onDisconnect !== 'stop') {
    throw new UsageError(`--on-disconnect must be continue or stop, not '${onDisconnect}'.`);
  }
  return {
    storage,
    ...(wait === undefined ? {} : { openTimeoutMs: wait * 1000 }),
    ...(onDisconnect === undefined ? {} : { onDisconnect }),
  };
}

const farewell =
  'Stopping: answers on their way have 5 seconds to end. Another signal (Ctrl-C) ends them now.\n';

// What an option names wrongly is a wrong use.
function started(...options: Parameters<typeof startServer>): ReturnType<typeof startServer> {
  try {
    return startServer(...options);
  } catch (error) {
    const isUse = MillraceError.is(error) && uses.has(error.code);
    throw isUse ? new UsageError(error.message, { cause: error }) : error;
  }
}

const uses: ReadonlySet<string> = new Set(['invalid_option', 'unknown_provider']);

/** The `serve` command. */
export const serve: Command = {
  summary: 'serve a model as an AG-UI agent over HTTP',
  async run(args) {
    const { values } = readArgs(args, options, false);
    if (values.help === true) {
      process.stdout.write(help);
      return 0;
    }
    const host = values.host ?? '127.0.0.1';
    const choice = chooseModel(values.model, values['base-url'], process.env);
    const { mcp: file } = values;
    const authorization = authorizationChoice(values);
    const plan =
      file === undefined ? noServers : await readMcpFile(file, process.env, authorization);
    const recording = storageOptions(values);
    const server = started({
      ...choice,
      mcp: plan.servers,
      ...agentOptions(values),
      ...recording,
      ...limitOptions(values),
      providers: configuredProviders(),
      host,
      port: integerOption('port', values.port, 0, 65535) ?? 8788,
      allowedHosts: values['allow-host'] ?? [],
      allowedOrigins: values['allow-origin'] ?? [],
    });
    const hosts = new Set([
      'localhost',
      '127.0.0.1',
      '[::1]',
      host,
      ...(values['allow-host'] ?? []),
    ]);
    const waiting = waitForStop(server);
    const { stopped } = waiting;
    let isStopped = false;
    void stopped.then(() => (isStopped = true));
    const report = (text: string): void => void process.stderr.write(plain(text));
    const attendant = attendMcp(server, plan, report);
    const mcp = await settleMcp(server, plan, stopped, report, values.strict === true);
    if (values.strict === true && mcp.some(({ state }) => state === 'failed')) {
      attendant.stop();
      await server.stop();
      waiting.end();
      process.stderr.write('Not every MCP server could be started, and --strict was given.\n');
      return 1;
    }
    const url = urlOf(host, server);
    const ready = { url, port: server.port, model: choice.model, version: version(), mcp };
    const hello = (): string =>
      values.json === true
        ? `${JSON.stringify(ready)}\n`
        : greeting(url, choice.model, [...hosts], recording.storage);
    if (!isStopped) process.stdout.write(hello());
    await stopped;
    attendant.stop();
    if (values.json !== true) report(farewell);
    await server.stop();
    return 0;
  },
};
