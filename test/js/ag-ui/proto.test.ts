// AG-UI's protobuf: the golden file is what @ag-ui/proto writes, and both hosts answer with frames that its decoder
// reads to the events of the other wire.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { HttpAgent } from '@ag-ui/client';
import { decode, encode } from '@ag-ui/proto';
import { createAgent, createRuntime, tool } from 'millrace';

import { acceptedResponse } from '../../../dist/cjs/runs/ag-ui';
import { framesOf, RecordedServer } from '../../support/recorded-server';
import { startModel } from '../../support/scripted-model';
import { loopback } from '../support/server';

const golden = join(__dirname, '../../golden/encoder/ag_ui_proto.json');
const protoType = 'application/vnd.ag-ui.event+proto';
type Send = (path: string, init: RequestInit) => Promise<Response>;

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

interface Row {
  event: Parameters<typeof encode>[0];
  bytes: string;
}

it('has the bytes of @ag-ui/proto in its golden file', () => {
  const rows = JSON.parse(readFileSync(golden, 'utf8')) as Row[];
  for (const { event, bytes } of rows) {
    expect(Buffer.from(encode(event)).toString('hex')).toBe(bytes);
  }
});

function eventsOf(bytes: Buffer): object[] {
  const events: object[] = [];
  for (let at = 0; at < bytes.length;) {
    const size = bytes.readUInt32BE(at);
    const frame = bytes.subarray(at + 4, at + 4 + size);
    expect(frame).toHaveLength(size);
    events.push(decode(frame));
    at += 4 + size;
  }
  return events;
}

const script = () =>
  startModel((_body, index) =>
    index === 0
      ? {
          text: 'I count ü.',
          calls: [{ id: 'c1', name: 'calculator', args: { expression: '1+1' } }],
        }
      : { text: 'It is 2.' },
  );

const hosts: Record<string, () => Promise<{ send: Send; url: string }>> = {
  'millrace serve --storage': () => serve(true),
  'millrace serve': () => serve(false),
  'agent.handler': async () => {
    const model = await script();
    const runtime = createRuntime({ storage: 'memory' });
    open.push(model, runtime);
    const tools = [tool({ name: 'calculator', input: { type: 'object' }, run: () => '2' })];
    const agent = createAgent({
      ...{ model: 'openai:m', provider: { baseURL: model.url, apiKey: 'k' }, tools, runtime },
      ...{ name: 'a', authorize: () => ({ principal: 'ada' }) },
    });
    const url = 'http://localhost/agent';
    return { url, send: (path, init) => agent.handler(new Request(url + path, init)) };
  },
};

const agentWithoutRuntime = async () => {
  const model = await script();
  open.push(model);
  const tools = [tool({ name: 'calculator', input: { type: 'object' }, run: () => '2' })];
  return createAgent({
    ...{ model: 'openai:m', provider: { baseURL: model.url, apiKey: 'k' }, tools },
  });
};

const unrecorded: typeof hosts = {
  'agent.handler without a runtime': async () => {
    const agent = await agentWithoutRuntime();
    const url = 'http://localhost/agent';
    return { url, send: (path, init) => agent.handler(new Request(url + path, init)) };
  },
  'agent.nodeHandler': async () => {
    const agent = await agentWithoutRuntime();
    const server = await loopback((request, response) => void agent.nodeHandler(request, response));
    open.push(server);
    return { url: server.url, send: (path, init) => fetch(server.url + path, init) };
  },
};

async function serve(isRecorded: boolean): Promise<{ send: Send; url: string }> {
  const model = await script();
  open.push(model);
  const env = { OPENAI_BASE_URL: `${model.url}/v1`, OPENAI_API_KEY: 'a.test-key' };
  const args = ['--model', 'openai:scripted', '--tools', 'calculator', '--approval', 'never'];
  const server = new RecordedServer(args, env, isRecorded);
  open.push(server);
  await server.start();
  return { url: server.url, send: (path, init) => fetch(server.url + path, init) };
}

const body = (members: object = {}): string =>
  JSON.stringify({
    ...{ threadId: 't', runId: 'r', protocolVersion: '1.0', state: {}, tools: [], context: [] },
    ...{ forwardedProps: {}, messages: [{ id: 'u1', role: 'user', content: 'Go.' }] },
    ...members,
  });

describe.each(Object.entries({ ...hosts, ...unrecorded }))('protobuf of %s', (name, start) => {
  const post = (send: Send, accept: string, members?: object): Promise<Response> =>
    send('', { method: 'POST', headers: { accept }, body: body(members) });

  it('is read by the client of AG-UI 1.0', async () => {
    const { url, send } = await start();
    const agent = new HttpAgent({
      ...{ url, threadId: 't', headers: { accept: protoType } },
      fetch: (_url: string, init: RequestInit) => send('', init),
    });
    const types: string[] = [];
    agent.addMessage({ id: 'u1', role: 'user', content: 'Go.' });
    await agent.runAgent({}, { onEvent: ({ event }) => void types.push(event.type) });
    expect(types[0]).toBe('RUN_STARTED');
    expect(types.at(-1)).toBe('RUN_FINISHED');
    expect(agent.messages.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'Go.'],
      ['assistant', 'I count ü.'],
      ['tool', expect.stringContaining('2')],
      ['assistant', 'It is 2.'],
    ]);
  });

  it('has its exact content type, and only where it is named by a client of 1.0', async () => {
    const { send } = await start();
    const typeFor = async (accept: string, members: object): Promise<string | null> => {
      const response = await post(send, accept, { threadId: accept, ...members });
      await response.arrayBuffer();
      return response.headers.get('content-type');
    };
    expect(await typeFor(protoType, { runId: 'r1' })).toBe(protoType);
    expect(await typeFor('*/*', { runId: 'r2' })).toBe('text/event-stream');
    expect(await typeFor(`${protoType};q=0`, { runId: 'r3' })).toBe('text/event-stream');
    const older = { runId: 'r4', protocolVersion: undefined };
    expect(await typeFor(protoType, older)).toBe('text/event-stream');
  });

  if (name === 'millrace serve' || Object.hasOwn(unrecorded, name)) return;
  it('has the events of the other wire, from any record on', async () => {
    const { send } = await start();
    const id = (await post(send, protoType)).headers.get('millrace-run-id') ?? '';
    const read = (accept: string, query: string): Promise<Response> =>
      send(`/runs/${id}?protocolVersion=1.0${query}`, { headers: { accept } });
    for (const query of ['', '&after=5', '&after=5&fresh=1']) {
      const text = await (await read('text/event-stream', query)).text();
      const bytes = Buffer.from(await (await read(protoType, query)).arrayBuffer());
      const events = framesOf(text).map(({ event }) => event);
      expect(events.length).toBeGreaterThan(5);
      expect(eventsOf(bytes)).toEqual(events);
    }
    const headers = { accept: protoType };
    const connected = await send('/connect', { method: 'POST', headers, body: body() });
    const [started, snapshot, finished] = eventsOf(Buffer.from(await connected.arrayBuffer()));
    expect(started).toMatchObject({ type: 'RUN_STARTED', runId: 'r' });
    expect(snapshot).toMatchObject({ messages: [{ role: 'user' }, {}, {}, { role: 'assistant' }] });
    expect(finished).toMatchObject({ type: 'RUN_FINISHED' });
  });
});

it('has an event where nothing happens, so that proxies leave it open', async () => {
  async function* source() {
    yield { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' };
    await new Promise((resolve) => setTimeout(resolve, 200));
    yield { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'Late.' };
    yield { type: 'TEXT_MESSAGE_END', messageId: 'm' };
  }
  const options = { protocolVersion: '1.0', keepAliveMs: 20 };
  const response = acceptedResponse(source() as never, options, protoType);
  const agent = new HttpAgent({
    ...{ url: 'http://localhost', threadId: 't', fetch: () => Promise.resolve(response) },
  });
  const names: string[] = [];
  await agent.runAgent({}, { onCustomEvent: ({ event }) => void names.push(event.name) });
  expect(names).toContain('millrace.keep_alive');
  expect(agent.messages.map(({ content }) => content)).toEqual(['Late.']);
});
