// millrace serve: the HTTP server inside the engine.
import type { Command } from './command';
import { plain, readArgs, shownError } from './command';
import type { Server, ServerOptions } from '../server';
import { startServer } from '../server';
import { serveHelp, serveOptions } from './serve-arguments';
import { attendMcp, mcpPlanOf, type McpPlan, settleMcp } from './serve-mcp';
import { asUse, servePlan } from './serve-options';
import { beginConfig, followConfig } from './serve-reload';
import { serveSkills } from './serve-skills';
import { version } from '../version';

const options = {
  ...serveOptions,
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
          `  GET  ${url}/                        a page for chats`,
          `  GET  ${url}/agent/runs              runs in ${storage}, and below it each one from any record on`,
          `  POST ${url}/api/v1/chat             the Runtime API, described at /openapi.json`,
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

function urlOf(host: string, server: Server): string {
  const shown = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${shown.includes(':') ? `[${shown}]` : shown}:${server.port}`;
}

const problemPollMs = 250;

/** Answers MCP servers, and reports runs that cannot be gone on with and what is lost, each once. */
function attend(
  server: Server,
  plan: McpPlan,
  isRecording: boolean,
  report: (text: string) => void,
): { stop(): void } {
  const mcp = attendMcp(server, plan, report);
  if (!isRecording) return mcp;
  const look = (): void => {
    for (const { run, what, code, message, detail } of server.problems()) {
      const left = run === undefined ? 'Runs cannot be taken over' : `The run ${run} is parked`;
      report(shownError(`${what ?? left}: ${message}`, code, detail));
    }
  };
  const timer = setInterval(look, problemPollMs);
  return {
    stop: () => {
      mcp.stop();
      clearInterval(timer);
      look();
    },
  };
}

const farewell =
  'Stopping: answers on their way have 5 seconds to end. Another signal (Ctrl-C) ends them now.\n';

// What an option names wrongly is a wrong use.
function started(options: ServerOptions): Server {
  try {
    return startServer(options);
  } catch (error) {
    throw asUse(error);
  }
}

/** The `serve` command. */
export const serve: Command = {
  summary: 'serve a model as an AG-UI agent over HTTP',
  async run(args) {
    const { values } = readArgs(args, options, false);
    if (values.help === true) {
      process.stdout.write(serveHelp);
      return 0;
    }
    const begun = beginConfig(values, process.env);
    const { config } = begun;
    const mcpPlan = await mcpPlanOf(config, process.env);
    const plan = servePlan(config, process.env);
    const report = (text: string): void => void process.stderr.write(plain(text));
    const skills = serveSkills(config.text('agent.skills'), report);
    const server = started({ ...plan.options, mcp: mcpPlan.servers, skills: skills?.served });
    skills?.attach(server);
    const waiting = waitForStop(server);
    const { stopped } = waiting;
    let isStopped = false;
    void stopped.then(() => (isStopped = true));
    const attendant = attend(server, mcpPlan, plan.storage !== undefined, report);
    const isStrict = config.flag('mcp.strict');
    const served = { ...begun, plan: plan.options };
    const followed = followConfig(server, served, { options: values, env: process.env }, report);
    const mcp = await settleMcp(server, mcpPlan, stopped, report, isStrict);
    if (isStrict && mcp.some(({ state }) => state === 'failed')) {
      attendant.stop();
      followed.stop();
      await server.stop();
      waiting.end();
      process.stderr.write('Not every MCP server could be started, and --strict was given.\n');
      return 1;
    }
    const url = urlOf(config.text('api.host') ?? '', server);
    const ready = { url, port: server.port, model: plan.model, version: version(), mcp };
    const hello = (): string =>
      values.json === true
        ? `${JSON.stringify(ready)}\n`
        : greeting(url, plan.model, plan.hosts, plan.storage);
    if (plan.keyFile !== undefined) report(`The key of this server is in ${plan.keyFile}.\n`);
    if (!isStopped) process.stdout.write(hello());
    await stopped;
    attendant.stop();
    followed.stop();
    if (values.json !== true) report(farewell);
    await server.stop();
    return 0;
  },
};
