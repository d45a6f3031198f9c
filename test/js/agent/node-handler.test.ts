// agent.nodeHandler behind Node servers and middleware, and what clients of AG-UI 1.0 say of the wire.
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { HttpAgent } from '@ag-ui/client';
import { createAgent, pipeAGUI, tool } from 'millrace';

import type { ScriptedModel, Turn } from '../../support/scripted-model';
import { startModel } from '../../support/scripted-model';
import { bodyOf } from '../support/server';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  jest.restoreAllMocks();
  await Promise.all(open.splice(0).map((one) => one.close()));
});

type Listener = (
  request: IncomingMessage & { body?: unknown },
  response: ServerResponse,
) => Promise<unknown>;

async function serve(listener: Listener): Promise<string> {
  const server = createServer((request, response) => void listener(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.push({ close: () => (server.closeAllConnections(), server.close()) });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/agent`;
}

const look = tool({
  name: 'look',
  input: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
  run: () => {
    throw new Error('nothing to see');
  },
});

async function agentOf(turns: Turn[]) {
  const model: ScriptedModel = await startModel(turns);
  open.push(model);
  const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
  return createAgent({ model: 'openai:m', provider, tools: [look], instructions: 'You look.' });
}

const question = { id: 'u1', role: 'user' as const, content: 'Look.' };
const input = { threadId: 't', runId: 'r', messages: [question] };
const post = (url: string, body: string, type = 'application/json'): Promise<Response> =>
  fetch(url, { method: 'POST', headers: { 'content-type': type }, body });

// As express.json() does it: what is not JSON by its type stays unread, with an empty object as the body.
const withJson =
  (listener: Listener): Listener =>
  async (request, response) => {
    const isJson = request.headers['content-type'] === 'application/json';
    request.body = isJson ? (JSON.parse(await bodyOf(request)) as unknown) : {};
    return listener(request, response);
  };

describe('agent.nodeHandler', () => {
  it.each<[string, (listener: Listener) => Listener]>([
    ['a Node server', (listener) => listener],
    ['a server that parses JSON', withJson],
  ])('answers a client behind %s', async (_name, around) => {
    const agent = await agentOf([{ text: 'There.' }]);
    const client = new HttpAgent({
      url: await serve(around(agent.nodeHandler)),
      initialMessages: [question],
    });
    await client.runAgent();
    expect(client.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'There.' });
  });

  it.each<[string, string, string, string]>([
    ['{}', 'application/json', 'invalid_body', '`messages` is empty'],
    ['[]', 'application/json', 'invalid_body', 'must be an AG-UI RunAgentInput'],
    ['{', 'text/plain', 'invalid_json', 'not valid JSON'],
  ])('answers the body %s as %s with a JSON 400', async (body, type, code, message) => {
    const url = await serve(withJson((await agentOf([])).nodeHandler));
    const response = await post(url, body, type);
    expect(response.status).toBe(400);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toEqual({
      error: {
        code,
        message: expect.stringContaining(message) as string,
        fix: expect.any(String) as string,
      },
    });
  });

  it('reads what a middleware left unread', async () => {
    const agent = await agentOf([{ text: 'There.' }]);
    const response = await post(
      await serve(withJson(agent.nodeHandler)),
      JSON.stringify(input),
      'text/plain',
    );
    expect(await response.text()).toContain('RUN_FINISHED');
  });

  it('gives the capabilities, and refuses other methods', async () => {
    const agent = await agentOf([]);
    const url = await serve(agent.nodeHandler);
    const about = await fetch(`${url}/capabilities`);
    expect(await about.json()).toEqual(agent.capabilities);
    const other = await fetch(url);
    expect([other.status, other.headers.get('allow')]).toEqual([405, 'POST']);
  });

  it('refuses a web Request by name', async () => {
    const agent = await agentOf([]);
    const request = new Request('http://localhost/agent') as never;
    expect(() => agent.nodeHandler(request, undefined as never)).toThrow('is for agent.handler');
    expect(() => agent.handler({ method: 'POST', url: '/' } as never)).toThrow('agent.nodeHandler');
  });
});

describe('a tool that fails', () => {
  const calls: Turn[] = [
    { calls: [{ id: 'c1', name: 'look', args: { at: 'it' } }] },
    { calls: [{ id: 'c2', name: 'look', args: {} }] },
    { text: 'There is nothing.' },
  ];

  it.each<[string, (agent: Awaited<ReturnType<typeof agentOf>>) => Listener]>([
    ['nodeHandler', (agent) => agent.nodeHandler],
    [
      'pipeAGUI',
      (agent) =>
        withJson((request, response) => pipeAGUI(agent.run(request.body as never), response)),
    ],
    [
      'pipeAGUI of a question',
      (agent) => (_request, response) =>
        pipeAGUI(agent.run('Look.'), response, { protocolVersion: '1.0' }),
    ],
  ])('puts nothing on the wire that @ag-ui/client takes out: %s', async (_name, listenerOf) => {
    jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const received: string[] = [];
    for (const name of ['warn', 'log', 'info', 'debug'] as const) {
      jest
        .spyOn(console, name)
        .mockImplementation((...words) => void received.push(words.join(' ')));
    }
    const agent = await agentOf(calls);
    const client = new HttpAgent({
      url: await serve(listenerOf(agent)),
      initialMessages: [question],
    });
    const errors: unknown[] = [];
    await client.runAgent(undefined, {
      onCustomEvent: ({ event }) => {
        if (event.name === 'millrace.tool_error') errors.push(event.value);
      },
    });
    expect(received.filter((line) => line.includes('[ag-ui]'))).toEqual([]);
    expect(errors).toMatchObject([
      { toolCallId: 'c1', error: 'nothing to see' },
      { toolCallId: 'c2' },
    ]);
  });
});

it('pipeAGUI speaks the version of the body that the run was given', async () => {
  const agent = await agentOf([{ text: 'There.' }]);
  const run = agent.run({ ...input, protocolVersion: '1.0' });
  expect(run.protocolVersion).toBe('1.0');
  run.stop();
  // A client from before 1.0 has no word for it, and gets RUN_ERROR.
  expect(await run.response().text()).toContain('"outcome":{"type":"cancelled"}');
});
