// Conversations that are large: the engine reads them beside the main thread.
//
// Runs alone: it compares how long a thread works.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { type AgentRun, createAgent, createRuntime } from 'millrace';

import { readEvents } from '../../support/events';
import { startModel } from '../../support/scripted-model';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

const onLinux = process.platform === 'linux' ? it : it.skip;
const kinds = ['an agent', 'an agent with a runtime'] as const;

async function made(kind: (typeof kinds)[number] = 'an agent') {
  const model = await startModel(() => ({ text: 'So it is.' }));
  open.push(model);
  const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
  if (kind === 'an agent') return { model, agent: createAgent({ model: 'openai:m', provider }) };
  const runtime = createRuntime({ storage: 'memory' });
  open.push({ close: () => runtime.close({ drainMs: 0 }) });
  return { model, agent: createAgent({ model: 'openai:m', provider, runtime, name: 'helper' }) };
}

/** Rows of so many bytes altogether; the last one is the user's. */
function conversation(
  bytes: number,
): { id: string; role: 'user' | 'assistant'; content: string }[] {
  const content = 'word '.repeat(200);
  return Array.from({ length: Math.ceil(bytes / content.length) | 1 }, (_, at) => ({
    id: `m${at}`,
    role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content,
  }));
}

const large = 1 << 18;
const inputOf = (bytes: number) => ({
  ...{ threadId: 't', runId: 'r' },
  messages: conversation(bytes),
});
const wrongInput = (): object => ({
  ...{ threadId: 't', runId: 'r' },
  messages: [...conversation(large), { id: 'w', role: 'nobody', content: 'x' }],
});

/** Nanoseconds that this thread has worked. */
function worked(): number {
  const [ns = ''] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ');
  return Number(ns);
}
const workOf = (work: () => unknown): number => {
  const before = worked();
  work();
  return worked() - before;
};

describe.each(kinds)('large conversations of %s', (kind) => {
  onLinux('are not read on the main thread', async () => {
    const { agent } = await made(kind);
    const { messages } = inputOf(8 << 20);
    const runs: AgentRun[] = [];
    const written: number[] = [];
    const begun: number[] = [];
    for (let round = 0; round < 5; ++round) {
      const one = { messages, threadId: `t${round}` };
      written.push(workOf(() => Array.from({ length: 8 }, () => JSON.stringify(one))));
      begun.push(workOf(() => runs.push(agent.run(one))));
      runs.at(-1)?.stop();
      await runs.at(-1)?.result;
    }
    // To begin checks and writes the input and copies it: as much as writing it three times. To read it is as much as
    // thirty. The clock moves in steps of some milliseconds, so one time alone is too short to compare with.
    expect(Math.min(...begun)).toBeLessThan(2 * Math.min(...written));
  });

  it('are answered as others', async () => {
    const { agent, model } = await made(kind);
    const input = inputOf(large);
    const { messages } = input;
    expect(await agent.run(input).text()).toBe('So it is.');
    const events = readEvents(await agent.run({ messages, threadId: 'u' }).response().text());
    expect(events.at(0)).toMatchObject({ type: 'RUN_STARTED', threadId: 'u' });
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED' });
    const types: string[] = [];
    for await (const { type } of agent.run({ messages, threadId: 'v' })) types.push(type);
    expect(types.at(-1)).toBe('RUN_FINISHED');
    expect(model.chatBodies.length).toBeGreaterThanOrEqual(3);
  });

  it('fail their run with what is wrong with them', async () => {
    const { agent, model } = await made(kind);
    const run = agent.run(wrongInput());
    const events = [];
    for await (const event of run) events.push(event);
    expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'invalid_messages' });
    await expect(run.text()).rejects.toMatchObject({ code: 'invalid_messages' });
    const response = readEvents(await agent.run(wrongInput()).response().text());
    expect(response.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'invalid_messages' });
    expect(model.chatBodies).toEqual([]);
  });

  it('take a message that is sent before they are read', async () => {
    const { agent, model } = await made(kind);
    const run = agent.run(inputOf(large));
    const sent = run.send('Another question.');
    const taken = await sent.then(
      () => true,
      () => false,
    );
    await run.result;
    const texts = model.chatBodies.flatMap(({ messages }) =>
      messages.map(({ content }) => content),
    );
    expect(texts.includes('Another question.')).toBe(taken);
    // A recorded run may be over when it is stored.
    if (kind === 'an agent') expect(taken).toBe(true);
  });

  it('are stopped before they are read', async () => {
    const { agent, model } = await made(kind);
    const run = agent.run(inputOf(large));
    run.stop();
    expect(await run.result).toMatchObject({ status: 'cancelled' });
    expect(model.chatBodies).toEqual([]);
  });

  it('are answered, or rejected with their status, by both handlers', async () => {
    const { agent } = await made(kind);
    const url = await served(agent);
    for (const answer of [
      (body: unknown) => agent.handler(new Request('http://localhost/agent', post(body))),
      (body: unknown) => fetch(url, post(body)),
    ]) {
      const input = { ...inputOf(large), threadId: `t${++count}`, runId: `r${count}` };
      const text = await (await answer(input)).text();
      expect(text).toContain(`"type":"RUN_FINISHED","threadId":"${input.threadId}"`);
      const rejected = await answer(wrongInput());
      expect(rejected.status).toBe(400);
      expect(await rejected.json()).toMatchObject({ error: { code: 'invalid_messages' } });
    }
  });
});

let count = 0;
const post = (body: unknown): RequestInit => ({ method: 'POST', body: JSON.stringify(body) });

async function served(agent: ReturnType<typeof createAgent>): Promise<string> {
  const server = createServer((request, response) => {
    void agent.nodeHandler(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.push({ close: () => (server.closeAllConnections(), server.close()) });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/agent`;
}
