// ResumableHttpAgent of `millrace/ag-ui` with both lines of @ag-ui/client, on a server that cuts connections.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

import type {
  ResumableHttpAgent as Agent,
  ResumableHttpAgentConfig,
} from '../../../dist/cjs/entry/ag-ui';
import { buildSync } from 'esbuild';

import { until } from '../support/server';
import type { Connection } from './cutting-server';
import { allBytes, allEvents, cutAt, fails, CuttingServer, runId } from './cutting-server';

const entry = join(__dirname, '../../../dist/cjs/entry/ag-ui.js');
const lines = { '1.0': '@ag-ui/client', '0.0': 'ag-ui-client-0.0' };
const quick = { minDelayMs: 1, maxDelayMs: 5 };

function agentOf(line: string): new (config: ResumableHttpAgentConfig) => Agent {
  let found: { ResumableHttpAgent: typeof Agent } | undefined;
  jest.isolateModules(() => {
    jest.doMock('@ag-ui/client', () => jest.requireActual<object>(line));
    found = require(entry) as typeof found;
  });
  return (found as { ResumableHttpAgent: typeof Agent }).ResumableHttpAgent;
}

let server: CuttingServer;
beforeEach(async () => {
  server = new CuttingServer();
  await server.open();
});
afterEach(() => server.close());

describe.each(Object.entries(lines))('with @ag-ui/client %s', (_, line) => {
  const Resumable = agentOf(line);
  const made = (config: Partial<ResumableHttpAgentConfig> = {}): Agent =>
    new Resumable({ url: server.url, threadId: 't', reconnect: quick, ...config });

  // The types, and the texts of deltas: clients add members of their own to events.
  type Seen = [type: string, delta: unknown];
  const seenOf = (events: object[]): Seen[] =>
    events.map((event) => {
      const { type, delta } = event as { type: string; delta?: unknown };
      return [type, delta];
    });
  async function read(run: (on: object) => Promise<unknown>): Promise<Seen[]> {
    const events: object[] = [];
    await run({ onEvent: ({ event }: { event: object }) => void events.push(event) });
    return seenOf(events);
  }
  const failureOf = async (agent: Agent): Promise<unknown> => {
    const body = JSON.stringify({ threadId: 't', runId: 'r', messages: [] });
    const response = await agent.fetch(server.url, { method: 'POST', body });
    return response.text().catch((error: unknown) => error);
  };
  const runAgent = (agent: Agent) => read((on) => agent.runAgent({ runId: 'r' }, on));

  it('reads an answer that nothing cuts with one request', async () => {
    const agent = made();
    expect(await runAgent(agent)).toEqual(seenOf(allEvents));
    expect(server.received.map(({ method }) => method)).toEqual(['POST']);
    expect(agent.position).toEqual({ runId, after: 12 });
    expect(agent.messages.map(({ content }) => content)).toEqual([
      'one, two, three, four ü RUN_FINISHED',
    ]);
  });

  it('gives every event once, wherever the connection breaks', async () => {
    const size = Buffer.byteLength(allBytes);
    for (let at = 0; at <= size; at += 7) {
      server.received.length = 0;
      server.plan = [cutAt(at)];
      const agent = made();
      expect([at, await runAgent(agent)]).toEqual([at, seenOf(allEvents)]);
      expect(agent.position).toEqual({ runId, after: 12 });
    }
  });

  it('gives every event once over connections that all break', async () => {
    // Each gives one record more, and the beginning of the next one.
    server.plan = [1, 2, 3, 4, 5, 6, 7, 8].map((): Connection => (bytes, response) => {
      const first = bytes.indexOf('\n\n', bytes.indexOf('id: ')) + 2;
      cutAt(Buffer.byteLength(bytes.slice(0, first)) + 20)(bytes, response);
    });
    expect(await runAgent(made())).toEqual(seenOf(allEvents));
    const [post, ...gets] = server.received;
    expect(post?.method).toBe('POST');
    expect(gets.map(({ url }) => url)).toEqual(
      [2, 4, 5, 6, 9].map((after) => `/agent/runs/${runId}?after=${after}`),
    );
  });

  it('goes on after an end that came too early, and after answers that pass', async () => {
    const early: Connection = (bytes, response) => response.end(bytes.slice(0, 300));
    server.plan = [
      early,
      fails(503, 'too_much_work'),
      (_b, response) => response.socket?.destroy(),
      early,
    ];
    expect(await runAgent(made())).toEqual(seenOf(allEvents));
  });

  it('finds a run by its AG-UI id before the first record', async () => {
    server.plan = [cutAt(10)];
    await runAgent(made());
    expect(server.received.map(({ url }) => url)).toEqual(['/agent', '/agent/runs/r?threadId=t']);
  });

  it('keeps the query of its address with every request', async () => {
    server.plan = [cutAt(300)];
    const agent = made({ url: `${server.url}/?key=1` });
    await runAgent(agent);
    agent.abortRun();
    await agent.stopped;
    await agent.connectAgent();
    expect(server.received.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'POST /agent?key=1',
      `GET /agent/runs/${runId}?key=1&after=5`,
      `DELETE /agent/runs/${runId}?key=1`,
      'POST /agent/connect?key=1',
    ]);
  });

  it('sends the headers of the agent with every request', async () => {
    server.plan = [cutAt(300)];
    await runAgent(made({ headers: { authorization: 'Bearer k' } }));
    expect(server.received.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer k',
      'Bearer k',
    ]);
  });

  it('fails after so many attempts without anything new', async () => {
    server.plan = [cutAt(300), ...Array<Connection>(9).fill(fails(503, 'too_much_work'))];
    const agent = made({ reconnect: { ...quick, maxAttempts: 3 } });
    expect(await failureOf(agent)).toMatchObject({ code: 'connection_lost' });
    expect(server.received).toHaveLength(4);
  });

  it('fails at once where the server knows better', async () => {
    server.plan = [cutAt(300), fails(404, 'run_not_found')];
    expect(await failureOf(made())).toMatchObject({ code: 'run_not_found', status: 404 });
    expect(server.received).toHaveLength(2);
  });

  it('fails once: nothing is left behind that nobody can handle', async () => {
    server.plan = [cutAt(300), fails(404, 'run_not_found')];
    const script = `
      const { HttpAgent } = require('${line}');
      require.cache[require.resolve('@ag-ui/client')] = require.cache[require.resolve('${line}')];
      const { ResumableHttpAgent } = require(${JSON.stringify(entry)});
      console.error = () => undefined;
      const agent = new ResumableHttpAgent({ url: ${JSON.stringify(server.url)}, threadId: 't' });
      agent.runAgent({ runId: 'r' }).then(
        () => console.log('resolved'),
        ({ code }) => setTimeout(() => console.log(code, agent instanceof HttpAgent), 200),
      );`;
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], {
      cwd: __dirname,
    });
    expect(stdout.trim()).toBe('run_not_found true');
  });

  it('reads silence as a broken connection', async () => {
    server.plan = [(bytes, response) => void response.write(bytes.slice(0, 300))];
    const agent = made({ reconnect: { ...quick, idleTimeoutMs: 50 } });
    expect(await runAgent(agent)).toEqual(seenOf(allEvents));
  });

  it('attaches from the beginning', async () => {
    server.plan = [cutAt(400), cutAt(100)];
    const agent = made();
    expect(await read((on) => agent.attach(runId, {}, on))).toEqual(seenOf(allEvents));
    expect(server.received.every(({ method }) => method === 'GET')).toBe(true);
  });

  it('attaches behind a record with what is open there', async () => {
    // Cut before anything was given on: what is open is asked for again.
    for (const plan of [[], [cutAt(40)], [cutAt(150)]]) {
      server.received.length = 0;
      server.plan = [...plan];
      const agent = made();
      const seen = await read((on) => agent.attach(runId, { after: 5 }, on));
      expect(seen).toEqual([
        ['RUN_STARTED', undefined],
        ['TEXT_MESSAGE_START', undefined],
        ...seenOf(allEvents).slice(3),
      ]);
      expect(new Set(server.received.map(({ url }) => url))).toEqual(
        new Set([`/agent/runs/${runId}?after=5&fresh=1`]),
      );
    }
  });

  it('attaches to a run that gives nothing more', async () => {
    const agent = made();
    await agent.attach(runId, { after: 12 }).catch(() => undefined);
    expect(server.received.map(({ method }) => method)).toEqual(['GET']);
    expect(agent.messages).toEqual([]);
  });

  it('stops a run on the server', async () => {
    server.plan = [(bytes, response) => void response.write(bytes.slice(0, 300))];
    const agent = made();
    const run = runAgent(agent).catch(() => undefined);
    await until(() => agent.position?.after !== undefined, 'a record');
    agent.abortRun();
    await run;
    await agent.stopped;
    expect(server.received.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'POST /agent',
      `DELETE /agent/runs/${runId}`,
    ]);
  });

  it('stops a run whose answer has not begun', async () => {
    let begin = (): void => undefined;
    server.plan = [(bytes, response) => void (begin = () => response.write(bytes.slice(0, 300)))];
    const agent = made();
    const run = runAgent(agent).catch(() => undefined);
    await until(() => server.received.length === 1, 'the request');
    agent.abortRun();
    await run;
    begin();
    await agent.stopped;
    expect(server.received.map(({ method }) => method)).toEqual(['POST', 'DELETE']);
  });

  it('is an HttpAgent where no runs are recorded', async () => {
    server.records = false;
    expect(await runAgent(made())).toEqual(seenOf(allEvents));
    server.plan = [cutAt(300)];
    const agent = made();
    expect(await failureOf(agent)).toMatchObject({ name: 'TypeError' });
    agent.abortRun();
    await agent.stopped;
    expect(server.received.map(({ method }) => method)).toEqual(['POST', 'POST']);
    expect(agent.position).toBeUndefined();
  });

  it('gives its clone a memory of its own', async () => {
    const agent = made();
    await runAgent(agent);
    const copy = agent.clone();
    expect(copy.position).toBeUndefined();
    server.plan = [cutAt(300)];
    expect(await runAgent(copy)).toEqual(seenOf(allEvents));
    expect(copy.position).toEqual({ runId, after: 12 });
  });
});

it('needs nothing of Node.js in a page', () => {
  const { outputFiles, errors, metafile } = buildSync({
    entryPoints: [join(__dirname, '../../../dist/client/entry/ag-ui.mjs')],
    bundle: true,
    write: false,
    metafile: true,
    platform: 'browser',
    format: 'esm',
    external: ['@ag-ui/client'],
  });
  expect(errors).toEqual([]);
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
  expect(imports.map(({ path }) => path)).toEqual(['@ag-ui/client']);
  expect(outputFiles[0]?.text).toContain('ResumableHttpAgent');
});
