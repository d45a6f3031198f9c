// toAGUIResponse and pipeAGUI against the real clients of both lines, and foldEvents.
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { PassThrough, Writable } from 'node:stream';

import { HttpAgent as Agent1 } from '@ag-ui/client';
import { HttpAgent as Agent0 } from 'ag-ui-client-0.0';
import type { NodeResponse, RunOptions, RunSource } from 'millrace';
import {
  anthropicAdapter,
  fetchLLM,
  foldEvents,
  langGraphAdapter,
  openAIAdapter,
  pipeAGUI,
  toAGUIResponse,
} from 'millrace';
import type { AGUIEvent } from 'millrace';

import { responseOf, sse } from '../support/responses';
import type { Loopback } from '../support/server';
import { bodyOf, loopback, until } from '../support/server';

const chunk = (delta: object, finish: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const answer = sse(
  chunk({ role: 'assistant', content: 'Hel' }),
  chunk({ content: 'lo' }),
  chunk({
    tool_calls: [
      { index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } },
    ],
  }),
  chunk({}, 'tool_calls'),
);

interface Input {
  threadId: string;
  runId: string;
  protocolVersion?: string;
}
type Scene = (provider: string) => [source: RunSource, options?: RunOptions];

const send = (provider: string, path = '/') =>
  fetchLLM({
    url: provider + path,
    streamAdapter: openAIAdapter(),
    transport: 'engine',
  }).send({ threadId: 't', messages: [], signal: new AbortController().signal });

async function* failing(): AsyncGenerator<AGUIEvent> {
  yield { type: 'TEXT_MESSAGE_START', messageId: 'm' };
  yield { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'Hel' };
  throw new Error('the kitchen is on fire');
}

// How a source may be given.
const scenes: Record<string, Scene> = {
  'a promised Response of the engine': (provider) => [send(provider), { adapter: openAIAdapter() }],
  'a foreign Response': () => [responseOf([answer]), { adapter: openAIAdapter() }],
  'an adapter with callbacks': (provider) => [
    send(provider),
    { adapter: openAIAdapter({ onUsage: () => undefined }) },
  ],
  'a foreign adapter': () => [
    responseOf(['x']),
    { adapter: { parse: () => openAIAdapter().parse(responseOf([answer])) } },
  ],
  'events of an adapter': () => [openAIAdapter().parse(responseOf([answer]))],
  'a list of events': () => [
    [
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'Hello' },
      { type: 'TOOL_CALL_START', toolCallId: 'c1', toolCallName: 'f', parentMessageId: 'm' },
      { type: 'TOOL_CALL_ARGS', toolCallId: 'c1', delta: '{}' },
    ],
  ],
};
const failures: Record<string, [scene: Scene, message: RegExp]> = {
  'events that throw': [() => [failing()], /kitchen/],
  'a request that fails': [
    () => [send('http://127.0.0.1:1'), { adapter: openAIAdapter() }],
    /No connection/,
  ],
  'an answer that is a refusal': [
    (provider) => [send(provider, '/refused'), { adapter: openAIAdapter() }],
    /no credit left/,
  ],
  'a stream that is cut': [
    (provider) => [send(provider, '/cut'), { adapter: openAIAdapter() }],
    /./,
  ],
  'a wrong adapter': [
    (provider) => [send(provider), { adapter: anthropicAdapter() }],
    /not a stream of the wire/,
  ],
};

let provider: Loopback;
let server: Loopback;
const providerClosed = { early: 0 };
let running: Promise<void> | undefined;

// 32 MB of text as fast as it is taken; tells how far it came.
let flooded = 0;
const floodLetters = 32e6;
function flood(response: ServerResponse): void {
  const piece = sse({ choices: [{ index: 0, delta: { content: 'x'.repeat(1000) } }] });
  const write = () => {
    for (let more = true; more && flooded < floodLetters; flooded += 1000) {
      more = response.write(piece);
    }
    if (flooded >= floodLetters) response.end(sse(chunk({}, 'stop')));
  };
  flooded = 0;
  response.on('drain', write);
  write();
}

beforeAll(async () => {
  provider = await loopback((request, response) => {
    if (request.url === '/refused') {
      response.writeHead(402).end('{"error":{"message":"no credit left"}}');
      return;
    }
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.on('close', () => (providerClosed.early += response.writableFinished ? 0 : 1));
    if (request.url === '/cut') response.write(answer.slice(0, 120), () => response.destroy());
    else if (request.url === '/endless') response.write(answer.slice(0, 120));
    else if (request.url === '/flood') flood(response);
    else response.end(answer);
  });
  // POST /<pipe|web>/<scene>
  server = await loopback((request, response) => {
    void (async () => {
      const [, kind, name = ''] = (request.url ?? '').split('/').map(decodeURIComponent);
      const input = JSON.parse(await bodyOf(request)) as Input;
      const scene = scenes[name] ?? failures[name]?.[0] ?? (() => [endless()]);
      const [source, more] = scene(provider.url);
      const { threadId, runId, protocolVersion } = input;
      const options = { threadId, runId, protocolVersion, ...more };
      if (kind === 'pipe') {
        running = pipeAGUI(source, response, options);
        return;
      }
      const answered = toAGUIResponse(source, options);
      response.writeHead(answered.status, Object.fromEntries(answered.headers));
      response.on('close', () => void reader.cancel().catch(() => undefined));
      const reader = (answered.body as ReadableStream<Uint8Array>).getReader();
      for (let step = await reader.read(); !step.done; step = await reader.read()) {
        response.write(step.value);
      }
      response.end();
    })();
  });
});
afterAll(async () => {
  await server.close();
  await provider.close();
});

const endless = () => send(provider.url, '/endless').then((r) => openAIAdapter().parse(r));

async function run(Agent: typeof Agent1 | typeof Agent0, path: string) {
  const agent = new (Agent as typeof Agent1)({ url: `${server.url}${path}`, threadId: 'thread' });
  agent.setMessages([{ id: 'u', role: 'user', content: 'hi' }]);
  const errors: string[] = [];
  const { newMessages } = await agent.runAgent(
    { runId: 'run' },
    { onRunErrorEvent: ({ event }) => void errors.push(event.message) },
  );
  return { newMessages, errors };
}

const clients = [
  ['1.0', Agent1],
  ['0.0.59', Agent0],
] as const;
const ways = ['pipe', 'web'];
const table = <T>(names: T[]) =>
  names.flatMap((name) =>
    ways.flatMap((way) => clients.map(([version]) => [name, way, version] as const)),
  );
const clientOf = (version: string) => clients.find(([name]) => name === version)?.[1] ?? Agent1;
const pathOf = (way: string, name: string) => `/${way}/${encodeURIComponent(name)}`;

describe('a run', () => {
  it.each(table(Object.keys(scenes)))(
    'from %s (%s) is read by client %s',
    async (name, way, version) => {
      const { newMessages, errors } = await run(clientOf(version), pathOf(way, name));
      expect(errors).toEqual([]);
      const texts = newMessages
        .map(({ content }) => (typeof content === 'string' ? content : ''))
        .join('');
      expect(texts).toBe('Hello');
      const calls = newMessages.flatMap((m) => ('toolCalls' in m ? (m.toolCalls ?? []) : []));
      expect(calls).toMatchObject([{ id: 'c1', function: { name: 'f', arguments: '{}' } }]);
    },
  );

  it.each(table(Object.keys(failures)))(
    'from %s (%s) ends in one RUN_ERROR for client %s',
    async (name, way, version) => {
      const { errors } = await run(clientOf(version), pathOf(way, name));
      expect(errors).toEqual([expect.stringMatching(failures[name]?.[1] as RegExp)]);
    },
  );
});

const text = async (response: Response) => (await response.text()).split('\n\n').filter(Boolean);
const events = async (response: Response) =>
  (await text(response))
    .filter((frame) => frame.startsWith('data: '))
    .map((frame) => JSON.parse(frame.slice(6)) as AGUIEvent & { code?: string });

describe('toAGUIResponse()', () => {
  it('has the headers of an event stream', async () => {
    const response = toAGUIResponse([]);
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toEqual({
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
    const [first, last] = await events(response);
    expect(first).toMatchObject({ type: 'RUN_STARTED', threadId: expect.any(String) });
    expect(last).toMatchObject({ type: 'RUN_FINISHED' });
  });

  it('starts the run before the source gives anything', async () => {
    const response = toAGUIResponse(new Promise<never>(() => undefined), { threadId: 't' });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const { value } = await reader.read();
    expect(Buffer.from(value as Uint8Array).toString()).toContain('"RUN_STARTED","threadId":"t"');
    await reader.cancel();
  });

  it('sends a comment when the source is silent', async () => {
    let go: (() => void) | undefined;
    const slow = async function* (): AsyncGenerator<AGUIEvent> {
      await new Promise<void>((resolve) => (go = resolve));
      yield { type: 'CUSTOM', name: 'x', value: 1 };
    };
    const response = toAGUIResponse(slow(), { keepAliveMs: 20 });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const frames: string[] = [];
    for (let step = await reader.read(); !step.done; step = await reader.read()) {
      frames.push(Buffer.from(step.value).toString());
      if (frames.length === 3) go?.();
    }
    expect(frames.slice(1, 3)).toEqual([': keep-alive\n\n', ': keep-alive\n\n']);
    expect(frames.join('')).toContain('RUN_FINISHED');
  });

  it('ends with RUN_ERROR when its signal aborts, and cancels the source', async () => {
    const controller = new AbortController();
    let left = false;
    const source = (async function* (): AsyncGenerator<AGUIEvent> {
      try {
        yield { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'x' };
        controller.abort();
        yield { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'y' };
      } finally {
        left = true;
      }
    })();
    const list = await events(toAGUIResponse(source, { signal: controller.signal }));
    expect(list.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'cancelled' });
    expect(list.filter(({ type }) => type.startsWith('RUN_'))).toHaveLength(2);
    expect(left).toBe(true);
  });

  it('cancels the source when the response is left', async () => {
    const before = providerClosed.early;
    const response = toAGUIResponse(send(provider.url, '/endless'), { adapter: openAIAdapter() });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    await reader.read();
    await reader.cancel();
    await until(() => providerClosed.early > before, 'the provider saw the connection close');
  });

  it('keeps a text once, closes what is open and adds one terminal event', async () => {
    const source: AGUIEvent[] = [
      { type: 'RUN_STARTED', threadId: 'other', runId: 'other' },
      { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'x' },
      { type: 'RUN_FINISHED', threadId: 'other', runId: 'other' },
    ];
    const list = await events(toAGUIResponse(source, { threadId: 't', runId: 'r' }));
    expect(list.map(({ type }) => type)).toEqual([
      'RUN_STARTED',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_END',
      'RUN_FINISHED',
    ]);
    expect(list[0]).toMatchObject({ threadId: 't', runId: 'r' });
    expect(list[4]).toMatchObject({ threadId: 't', runId: 'r' });
  });

  it('turns a value that is no event into a warning', async () => {
    const step = { type: 'STEP_STARTED', stepName: 'one' };
    const list = await events(toAGUIResponse([null, { no: 'type' }, 5, step] as never));
    expect(list.filter(({ type }) => type === 'CUSTOM')).toHaveLength(3);
    expect(list.at(-1)?.type).toBe('RUN_FINISHED');
  });

  it('refuses wrong arguments by name', () => {
    expect(() => toAGUIResponse(5 as never)).toThrow(/source of a run must be/);
    expect(() => toAGUIResponse(responseOf(['x']))).toThrow(/option adapter/);
    expect(() => toAGUIResponse([], { threadId: 5 as never })).toThrow(/threadId must be/);
    expect(() => toAGUIResponse([], { keepAliveMs: -1 })).toThrow(/keepAliveMs must be/);
    expect(() => toAGUIResponse([], { signal: 5 as never })).toThrow(/signal must be/);
  });
});

describe('a run read by an adapter with callbacks', () => {
  const half = sse(chunk({ content: 'half' })).replace('data: [DONE]\n\n', '');
  const counted = sse(chunk({ content: 'a' }), chunk({}, 'stop'), {
    choices: [],
    usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
  }).replace('\n\n', '\n\ndata: {bad\n\n');
  const paused = 'event: updates\ndata: {"__interrupt__":[{"value":1,"id":"i"}]}\n\n';

  const reported: unknown[] = [];
  const report = (what: unknown): void => void reported.push(what);
  beforeEach(() => (reported.length = 0));

  it.each([
    ['that is cut', half, openAIAdapter(), openAIAdapter({ onUsage: report }), 0],
    ['that is no stream', '<html>', openAIAdapter(), openAIAdapter({ onState: report }), 0],
    [
      'with a bad record and counts',
      counted,
      openAIAdapter(),
      openAIAdapter({ onUsage: report }),
      1,
    ],
    ['that waits', paused, langGraphAdapter(), langGraphAdapter({ onInterrupt: report }), 1],
    ['of another wire', counted, anthropicAdapter(), anthropicAdapter({ onUsage: report }), 0],
  ])('tells of an answer %s what one without tells', async (_what, text, plain, hooked, times) => {
    const logged = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const runOf = async (adapter: typeof plain) => {
      const options = { threadId: 't', runId: 'r', protocolVersion: '1.0', adapter };
      const list = await events(toAGUIResponse(responseOf([text]), options));
      return JSON.stringify(list).replace(/"(messageId|id)":"[^"]+"/g, '"$1":"?"');
    };
    expect(await runOf(hooked)).toBe(await runOf(plain));
    expect(reported).toHaveLength(times);
    expect(logged).not.toHaveBeenCalled();
    logged.mockRestore();
  });
});

describe('pipeAGUI()', () => {
  it.each([undefined, null, {}, new Response(), 'x'])('refuses to write into %p', async (into) => {
    const written = pipeAGUI([], into as never);
    await expect(written).rejects.toMatchObject({ code: 'invalid_argument' });
  });

  it('resolves and cancels the source when the client leaves', async () => {
    const before = providerClosed.early;
    const controller = new AbortController();
    const response = await fetch(`${server.url}/pipe/endless`, {
      method: 'POST',
      body: '{"threadId":"t","runId":"r"}',
      signal: controller.signal,
    });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    controller.abort();
    await until(() => providerClosed.early > before, 'the provider saw the connection close');
    await running;
  });

  it('waits for a slow client', async () => {
    let produced = 0;
    const flood = async function* (): AsyncGenerator<AGUIEvent> {
      for (; produced < 4000; produced++) {
        yield { type: 'CUSTOM', name: 'x', value: 'y'.repeat(10_000) };
      }
    };
    scenes['flood'] = () => [flood()];
    const response = await fetch(`${server.url}/pipe/flood`, {
      method: 'POST',
      body: '{"threadId":"t","runId":"r"}',
    });
    let last = -1;
    await until(() => {
      const same = produced === last;
      last = produced;
      return same && produced > 0;
    }, 'the source rested');
    expect(produced).toBeLessThan(4000);
    expect((await response.text()).length).toBeGreaterThan(40e6);
    delete scenes['flood'];
  }, 60_000);

  it('does not wait for ever for a client that takes nothing', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    try {
      let produced = 0;
      const flood = async function* (): AsyncGenerator<AGUIEvent> {
        for (;;) {
          produced += 1;
          yield { type: 'CUSTOM', name: 'x', value: 'y'.repeat(1000) };
        }
      };
      const out = new Writable({ highWaterMark: 1000, write: () => undefined });
      const response = Object.assign(out, { headersSent: false, writeHead: () => undefined });
      const piped = pipeAGUI(flood(), response);
      const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
      for (let last = -1; last !== produced;) {
        last = produced;
        for (let turn = 0; turn < 20; turn += 1) await settle();
      }
      jest.advanceTimersByTime(59_000);
      await settle();
      expect(out.destroyed).toBe(false);
      jest.advanceTimersByTime(1000);
      await piped;
      expect(out.destroyed).toBe(true);
    } finally {
      jest.useRealTimers();
    }
  });

  it('waits for a slow client when the engine has the bytes, and loses none', async () => {
    scenes['engine flood'] = (url) => [send(url, '/flood'), { adapter: openAIAdapter() }];
    const response = await fetch(`${server.url}/pipe/engine%20flood`, {
      method: 'POST',
      body: '{"threadId":"t","runId":"r"}',
    });
    let last = -1;
    await until(() => {
      const same = flooded === last;
      last = flooded;
      return same && flooded > 0;
    }, 'the provider rested');
    expect(flooded).toBeLessThan(floodLetters);
    const list = await events(response);
    const letters = list.map((event) => ('delta' in event ? String(event.delta).length : 0));
    expect(letters.reduce((sum, length) => sum + length, 0)).toBe(floodLetters);
    expect(list.at(-1)).toMatchObject({ type: 'RUN_FINISHED' });
    delete scenes['engine flood'];
  }, 60_000);
});

describe('a run of the engine', () => {
  const adapter = openAIAdapter();

  it('sends comments while the provider is silent, and no bytes twice', async () => {
    const controller = new AbortController();
    const options = { adapter, keepAliveMs: 10, signal: controller.signal };
    const response = toAGUIResponse(send(provider.url, '/endless'), options);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let seen = '';
    while (!seen.includes(': keep-alive\n\n: keep-alive\n\n')) {
      seen += Buffer.from((await reader.read()).value ?? []).toString();
    }
    controller.abort();
    for (let step = await reader.read(); !step.done; step = await reader.read()) {
      seen += Buffer.from(step.value).toString();
    }
    expect(seen.match(/RUN_STARTED/g)).toHaveLength(1);
    expect(seen.match(/RUN_ERROR/g)).toHaveLength(1);
    expect(seen.match(/"code":"cancelled"/g)).toHaveLength(1);
  });

  it.each(['left', 'piped to a client that is gone', 'piped to one of HTTP/2', 'aborted'])(
    'that is %s before it began closes its connection',
    async (how) => {
      const before = providerClosed.early;
      const source = await send(provider.url, '/endless');
      if (how === 'left') {
        await toAGUIResponse(source, { adapter }).body?.cancel();
      } else if (how === 'aborted') {
        const signal = AbortSignal.abort();
        const list = await events(toAGUIResponse(source, { adapter, signal }));
        expect(list.map(({ type }) => type)).toEqual(['RUN_STARTED', 'RUN_ERROR']);
      } else {
        // The response of node:http2 has no `destroyed`, and its close is over.
        const isOlder = how === 'piped to a client that is gone';
        const gone = isOlder ? new PassThrough().destroy() : new EventEmitter();
        const response = Object.assign(gone, {
          headersSent: true,
          writeHead: () => undefined,
          ...(isOlder
            ? {}
            : { write: () => false, end: () => undefined, stream: { destroyed: true } }),
        });
        await pipeAGUI(source, response as unknown as NodeResponse, { adapter });
      }
      await until(() => providerClosed.early > before, 'the provider saw the connection close');
    },
  );
});

describe('foldEvents()', () => {
  it('builds the messages that a client would', () => {
    const messages = foldEvents([
      { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'Hel' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'lo' },
      { type: 'TEXT_MESSAGE_END', messageId: 'm' },
      { type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 'f', parentMessageId: 'm' },
      { type: 'TOOL_CALL_ARGS', toolCallId: 'c', delta: '{}' },
      { type: 'TOOL_CALL_END', toolCallId: 'c' },
      { type: 'TOOL_CALL_RESULT', messageId: 'r', toolCallId: 'c', content: 'done' },
    ]);
    expect(messages).toEqual([
      {
        id: 'm',
        role: 'assistant',
        content: 'Hello',
        toolCalls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { id: 'r', role: 'tool', content: 'done', toolCallId: 'c' },
    ]);
  });

  it('reads long streams of an adapter, and rejects with what they throw', async () => {
    const many = sse(...Array.from({ length: 2000 }, () => chunk({ content: 'x' })));
    const [message] = await foldEvents(openAIAdapter().parse(responseOf([many])));
    expect(message?.content).toHaveLength(2000);
    await expect(foldEvents(failing())).rejects.toThrow('kitchen');
  });
});
