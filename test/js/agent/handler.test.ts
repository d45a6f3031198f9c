// agent.handler behind a Node server: clients of both lines, an approval, odd requests.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';

import { HttpAgent as Agent1 } from '@ag-ui/client';
import { HttpAgent as Agent0 } from 'ag-ui-client-0.0';
import { createAgent, tool } from 'millrace';

import { readEvents } from '../../support/events';
import { startModel } from '../../support/scripted-model';
import type { ScriptedModel } from '../../support/scripted-model';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

async function serve(handler: (request: Request) => Promise<Response>): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    const controller = new AbortController();
    outgoing.once('close', () => controller.abort());
    const { method = 'GET' } = incoming;
    const body = Readable.toWeb(incoming);
    const init = { method, signal: controller.signal, duplex: 'half' };
    const requested = method === 'GET' ? init : { ...init, body };
    const answer = async (): Promise<void> => {
      const response = await handler(
        new Request('http://localhost/agent', requested as RequestInit),
      );
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      for await (const chunk of response.body ?? []) outgoing.write(chunk);
      outgoing.end();
    };
    answer().catch((error: unknown) => outgoing.destroy(error as Error));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.push({ close: () => (server.closeAllConnections(), server.close()) });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/agent`;
}

const sent: string[] = [];
const postcard = tool<{ to: string }>({
  name: 'send_postcard',
  input: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
  approval: true,
  run: ({ to }) => {
    sent.push(to);
    return `The postcard to ${to} is on its way`;
  },
});

let model: ScriptedModel;

async function start(): Promise<string> {
  sent.length = 0;
  model = await startModel([
    { calls: [{ id: 'c1', name: 'send_postcard', args: { to: 'Ada' } }] },
    { text: 'Done.' },
  ]);
  open.push(model);
  const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
  const agent = createAgent({ model: 'openai:scripted', provider, tools: [postcard] });
  return serve(agent.handler);
}

const question = { id: 'u1', role: 'user' as const, content: 'Write a postcard.' };
const post = (url: string, body: string): Promise<Response> =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });

it('asks before a tool runs and goes on with the answer, with HttpAgent 1.0', async () => {
  const agent = new Agent1({ url: await start(), threadId: 't', initialMessages: [question] });
  await agent.runAgent();
  const [interrupt] = agent.pendingInterrupts;
  expect(interrupt).toMatchObject({ reason: 'tool_call', toolCallId: 'c1' });
  expect(sent).toEqual([]);
  const payload = { approved: true };
  await agent.runAgent({
    resume: [{ interruptId: interrupt?.id ?? '', status: 'resolved', payload }],
  });
  expect(sent).toEqual(['Ada']);
  expect(agent.messages.map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'tool',
    'assistant',
  ]);
});

it('asks before a tool runs, with HttpAgent 0.0', async () => {
  const agent = new Agent0({ url: await start(), threadId: 't', initialMessages: [question] });
  await agent.runAgent();
  expect(sent).toEqual([]);
  expect(agent.messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
});

it('tells the usage of each call of the model once', async () => {
  const body = { threadId: 't', runId: 'r', protocolVersion: '1.0', messages: [question] };
  const response = await post(await start(), JSON.stringify(body));
  const events = readEvents(await response.text());
  expect(events.at(-1)).toMatchObject({
    type: 'RUN_FINISHED',
    usage: [{ inputTokens: 10, outputTokens: 5, totalTokens: 15 }],
  });
});

it('does not accept an answer of another thread', async () => {
  const url = await start();
  const agent = new Agent1({ url, threadId: 't', initialMessages: [question] });
  await agent.runAgent();
  const interruptId = agent.pendingInterrupts[0]?.id ?? '';
  const resume = [{ interruptId, status: 'resolved', payload: { approved: true } }];
  const body = { threadId: 'other', runId: 'r', protocolVersion: '1.0', resume };
  const eventsOf = async (messages: unknown[]) =>
    readEvents(await (await post(url, JSON.stringify({ ...body, messages }))).text());
  expect((await eventsOf([])).at(-1)).toMatchObject({
    ...{ type: 'RUN_ERROR', code: 'approval_mismatch' },
  });
  expect((await eventsOf([question])).at(-1)).toMatchObject({ type: 'RUN_FINISHED' });
  expect(sent).toEqual([]);
});

it('takes an answer that is sent twice for one', async () => {
  const url = await start();
  const agent = new Agent1({ url, threadId: 't', initialMessages: [question] });
  await agent.runAgent();
  const interruptId = agent.pendingInterrupts[0]?.id ?? '';
  const yes = { interruptId, status: 'resolved', payload: { approved: true } };
  const request = async (resume: unknown[]): Promise<string | undefined> => {
    const body = { threadId: 't', runId: 'r', messages: [question], resume };
    return readEvents(await (await post(url, JSON.stringify(body))).text()).at(-1)?.type;
  };
  expect(await request([yes, { ...yes, payload: { approved: false } }])).toBe('RUN_ERROR');
  expect(sent).toEqual([]);
  expect(await request([yes, yes])).toBe('RUN_FINISHED');
  expect(sent).toEqual(['Ada']);
});

it.each([
  ['{', 400, 'invalid_json'],
  ['[]', 400, 'invalid_body'],
  ['{"messages":7}', 400, 'invalid_body'],
  ['{"messages":[{"role":"user","content":"Hi"}],"context":[5]}', 400, 'invalid_body'],
  [`{"x":"${'y'.repeat(16 * 1024 * 1024)}"}`, 413, 'body_too_large'],
])('refuses the body %#', async (body, status, code) => {
  const response = await post(await start(), body);
  expect(response.status).toBe(status);
  expect(await response.json()).toMatchObject({ error: { code, message: expect.any(String) } });
});

const odd: [object, RegExp][] = [
  [{ type: 'video', source: { type: 'url', value: 'https://x/v.mp4' } }, /^video left out: /],
  [{ type: 'hologram' }, /^part left out: its type, "hologram", is not known/],
  [
    { type: 'image', source: { type: 'blob', value: 'x' } },
    /^image left out: its `source` is none/,
  ],
  [{ type: 'audio' }, /^audio left out: its `source` is none/],
];

it.each(odd)('answers a thread with a part that no model takes: %j', async (part, reason) => {
  const requested: string[] = [];
  const agent = createAgent({
    model: 'openai:m',
    provider: {
      apiKey: 'k',
      fetch: (_input, init) => {
        requested.push(init?.body as string);
        const delta = { choices: [{ index: 0, delta: { content: 'Ok' }, finish_reason: 'stop' }] };
        return Promise.resolve(
          new Response(`data: ${JSON.stringify(delta)}\n\ndata: [DONE]\n\n`, {
            headers: { 'content-type': 'text/event-stream' },
          }),
        );
      },
    },
  });
  const messages = [
    { id: '1', role: 'user', content: [{ type: 'text', text: 'Look' }, part] },
    { id: '2', role: 'assistant', content: 'I see.' },
    { id: '3', role: 'user', content: 'And now?' },
  ];
  const body = JSON.stringify({ threadId: 't', runId: 'r', messages });
  const response = await agent.handler(new Request('http://x/agent', { method: 'POST', body }));
  const events = readEvents(await response.text());
  expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED' });
  expect(events.filter(({ name }) => name === 'millrace.warning')).toMatchObject([
    { value: { code: 'capability_not_supported', message: expect.stringMatching(reason) } },
  ]);
  const { messages: sent } = JSON.parse(requested[0] ?? '') as { messages: { content: unknown }[] };
  const [, instead] = sent[0]?.content as { text: string }[];
  expect(instead?.text.slice(1, -1)).toMatch(reason);
});

it('names media that hold nothing', async () => {
  const model = await startModel([{ text: 'Ok' }]);
  open.push(model);
  const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
  const agent = createAgent({ model: 'openai:m', provider });
  const empty = { type: 'binary', mimeType: 'image/png' };
  const messages = [{ id: '1', role: 'user', content: [{ type: 'text', text: 'Look' }, empty] }];
  const body = JSON.stringify({ threadId: 't', runId: 'r', messages });
  const response = await agent.handler(new Request('http://x/agent', { method: 'POST', body }));
  const events = readEvents(await response.text());
  expect(events.filter(({ name }) => name === 'millrace.warning')).toMatchObject([
    { value: { message: 'Media without address or bytes are left out: 1.' } },
  ]);
  expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED' });
});

it('asks nothing without messages, whatever the instructions', async () => {
  for (const instructions of [undefined, 'Greet.']) {
    const agent = createAgent({ model: 'demo:demo', instructions });
    const body = JSON.stringify({ threadId: 't', runId: 'r', messages: [] });
    const response = await agent.handler(new Request('http://x/agent', { method: 'POST', body }));
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_body' } });
  }
});

it('refuses other methods', async () => {
  const response = await fetch(await start());
  expect(response.status).toBe(405);
  expect(response.headers.get('allow')).toBe('POST');
});

it('begins no run where a client asks for what a thread has', async () => {
  const { handler } = createAgent({ model: 'demo:demo' });
  const messages = [{ id: 'u', role: 'user', content: 'Hi' }];
  const body = JSON.stringify({ threadId: 't', runId: 'r', messages });
  for (const path of ['/connect', '/connect/', '/runs/r/messages', '/runs/r/approvals/a']) {
    const response = await handler(new Request(`http://x/agent${path}`, { method: 'POST', body }));
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { code: 'run_not_found' } });
  }
});

it('reads messages in the format that its address names', async () => {
  const messages = [{ type: 'human', content: 'Hi' }];
  const { handler } = createAgent({ model: 'demo:demo' });
  const request = (query: string) =>
    handler(
      new Request(`http://x/agent${query}`, { method: 'POST', body: JSON.stringify({ messages }) }),
    );
  expect(readEvents(await (await request('?format=langgraph')).text()).at(-1)).toMatchObject({
    type: 'RUN_FINISHED',
  });
  expect((await request('')).status).toBe(400);
  expect(await (await request('?format=nope')).json()).toMatchObject({
    error: { code: 'unknown_format' },
  });
});

it('tells what the agent can do', async () => {
  const agent = createAgent({ model: 'demo:demo', tools: [postcard], limits: { maxSteps: 7 } });
  expect(agent.capabilities).toMatchObject({
    identity: { type: 'millrace' },
    tools: { items: [{ name: 'send_postcard', parameters: postcard.input }] },
    humanInTheLoop: { interrupts: true },
    execution: { maxIterations: 7 },
  });
  const address = 'http://localhost/agent/capabilities';
  const reported = await agent.handler(new Request(address));
  expect(await reported.json()).toEqual(agent.capabilities);
  expect((await agent.handler(new Request(address, { method: 'DELETE' }))).status).toBe(405);
});

it('throws for the pair of a Node server, which is no Request', () => {
  const { handler } = createAgent({ model: 'demo:demo' });
  for (const given of [{ method: 'POST', url: '/agent', body: {} }, undefined, 'x']) {
    expect(() => handler(given as never)).toThrow('agent.nodeHandler(req, res)');
  }
});

describe('a body that cannot be read', () => {
  const { handler } = createAgent({ model: 'demo:demo' });
  const init = { method: 'POST', body: JSON.stringify({ messages: [] }) };

  it.each<[string, (request: Request) => unknown]>([
    ['was read', (request) => request.text()],
    ['is being read', (request) => request.body?.getReader()],
  ])('because it %s before is named', async (_what, read) => {
    const request = new Request('http://x/agent', init);
    await read(request);
    const response = await handler(request);
    expect([response.status, await response.json()]).toEqual([
      500,
      {
        error: {
          code: 'invalid_argument',
          message: expect.stringContaining('was already read before') as string,
          fix: expect.stringContaining('Pass') as string,
        },
      },
    ]);
  });

  it('because it breaks off is named', async () => {
    const body = new ReadableStream({ start: (to) => to.error(new Error('the line broke')) });
    const response = await handler(
      new Request('http://x/agent', { method: 'POST', body, duplex: 'half' }),
    );
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringMatching(/invalid_body.*the line broke/),
    ]);
  });

  it('because the client is gone ends the request', async () => {
    const gone = new AbortController();
    const body = new ReadableStream();
    const { signal } = gone;
    const more = { method: 'POST', body, signal, duplex: 'half' } as RequestInit;
    const answered = handler(new Request('http://x/agent', more));
    gone.abort();
    expect((await answered).status).toBe(499);
  });

  it('may begin with a mark of its byte order', async () => {
    const body = '\uFEFF{"messages":[{"id":"1","role":"user","content":"Hi"}]}';
    const response = await handler(new Request('http://x/agent', { method: 'POST', body }));
    expect(readEvents(await response.text()).at(-1)).toMatchObject({ type: 'RUN_FINISHED' });
  });
});
