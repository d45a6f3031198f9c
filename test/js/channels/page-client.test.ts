// `millrace/client`: what pages load reads, folds and sends as the engine does in Node.
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';

import type { BuildOptions } from 'esbuild';
import { buildSync } from 'esbuild';
import {
  agUIAdapter as engineAdapter,
  fetchLLM as engineLLM,
  fetchSSE as engineSSE,
  foldEvents as engineFold,
} from 'millrace';
import type { AGUIEvent, ChatStreamChunk, Message } from 'millrace';

import { errorFixes, errorTypeRows, errorTypes } from '../../../js/client/error-types';
import * as client from '../../../js/entry/client';
import {
  errorFixes as allFixes,
  errorTypeRows as allRows,
  errorTypes as allTypes,
} from '../../../js/error-types';
import { testSeed } from '../support/seed';

const root = join(__dirname, '../../..');

// A small generator with a seed that a failure prints.
function randomOf(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

describe('the fold of a page', () => {
  it('takes no history from the snapshot behind a reset', () => {
    const events = [
      { type: 'TEXT_MESSAGE_CHUNK', messageId: 'a', delta: 'partial' },
      { type: 'CUSTOM', name: 'millrace.reset', value: { messageIds: ['a'], reason: 'retry' } },
      { type: 'MESSAGES_SNAPSHOT', messages: [{ id: 'q', role: 'user', content: 'Ask' }] },
      { type: 'TEXT_MESSAGE_CHUNK', messageId: 'b', delta: 'whole' },
    ] as AGUIEvent[];
    expect(client.foldEvents(events)).toEqual([{ id: 'b', role: 'assistant', content: 'whole' }]);
    expect(engineFold(events)).toEqual(client.foldEvents(events));
    const later = [...events.slice(0, 2), { type: 'STEP_STARTED', stepName: 's' }, events[2]];
    expect(client.foldEvents(later as AGUIEvent[])).toMatchObject([{ id: 'q' }]);
  });

  const types = [
    ...['TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END', 'TEXT_MESSAGE_CHUNK'],
    ...['REASONING_MESSAGE_START', 'REASONING_MESSAGE_CONTENT', 'REASONING_MESSAGE_END'],
    ...['REASONING_MESSAGE_CHUNK', 'REASONING_ENCRYPTED_VALUE', 'STEP_STARTED', 'RUN_STARTED'],
    ...['TOOL_CALL_START', 'TOOL_CALL_ARGS', 'TOOL_CALL_END', 'TOOL_CALL_CHUNK'],
    ...['TOOL_CALL_RESULT', 'ACTIVITY_SNAPSHOT', 'ACTIVITY_DELTA', 'MESSAGES_SNAPSHOT', 'CUSTOM'],
    ...['toString', '__proto__'],
  ];

  // Members of every kind, most of them right.
  function randomEvents(seed: number): AGUIEvent[] {
    const random = randomOf(seed);
    const one = <T>(...list: T[]): T => list[random(list.length)] as T;
    const id = (): unknown => one<unknown>('a', 'b', 'c', 'd', 'd', '', undefined, 7);
    const state = (): unknown => one<unknown>({ n: random(9) }, 'word', 1, null, undefined);
    const metadata = (): unknown =>
      one<unknown>(
        ...[undefined, undefined, undefined, { k: random(5) }, { millrace: 1 }, 'none', null],
        { millrace: { citations: [random(3)], providerState: [{ provider: 'p', state: 1 }, 2] } },
        { millrace: { own: true, order: one<unknown>([{ type: 'text' }], null, 1) } },
        { millrace: { own: true }, other: { deep: [1] } },
      );
    const call = (): unknown =>
      one<unknown>(
        { id: id(), type: 'function', function: { name: 'f', arguments: '{}', more: 1 }, x: null },
        { id: 'c', function: { name: 'g', arguments: { a: 1 } }, encryptedValue: 'e' },
        { id: 'c' },
        null,
      );
    const message = (): unknown =>
      one<unknown>(
        { id: id(), role: one('user', 'assistant', 'tool', 'reasoning', 'nobody'), content: 'x' },
        { id: id(), role: 'assistant', toolCalls: [call()], metadata: metadata() },
        { id: id(), role: 'tool', toolCallId: one('a', 'b', 'c'), content: [{ type: 'text' }] },
        { id: id(), role: 'activity', activityType: 't', content: { list: [1, { a: 2 }] } },
        { id: id(), role: 'user', content: one<unknown>(5, null, ['p']), extra: 1, name: 'n' },
        null,
      );
    const path = (): unknown =>
      one('/list/0', '/list/-', '/list/1/a', '/new', '/list', '', 'bad', '/list/01', '/__proto__');
    const operation = (): unknown =>
      one<unknown>(
        { op: one('add', 'replace', 'test'), path: path(), value: state() },
        { op: 'remove', path: path() },
        { op: one('move', 'copy'), from: path(), path: path() },
        { op: 'unknown', path: path() },
        null,
      );
    const custom = (): object => ({
      name: one('millrace.provider_state', 'millrace.citation', 'millrace.reset', 'other'),
      value: one<unknown>(
        {
          entityId: id(),
          messageId: id(),
          provider: one('p', 'google', 'openai_responses', 'langgraph'),
          kind: one<unknown>('k', 3, 'part', 'part', 'image', 'content', 'members', 'list'),
          state: state(),
        },
        { citation: one<unknown>({ url: 'u' }, null), messageId: id() },
        { messageIds: one<unknown>([id(), id()], undefined, 'a') },
        null,
      ),
    });
    const event = (): AGUIEvent => {
      const type = one(...types);
      const members = {
        messageId: id(),
        toolCallId: id(),
        parentMessageId: one<unknown>(undefined, undefined, id()),
        toolCallName: one('f', 'g', ''),
        role: one<unknown>('user', 'assistant', 'tool', undefined),
        name: one<unknown>(undefined, 'n'),
        delta: one<unknown>('x', 'y', 'é', '\ud83d', '\ude00', '', 5, undefined),
        entityId: id(),
        encryptedValue: one('s', 't'),
        subtype: one('message', 'tool-call'),
        content:
          type === 'ACTIVITY_SNAPSHOT'
            ? one<unknown>({ list: [1, { a: 2 }] }, 'text')
            : one<unknown>('text', [{ type: 'text', text: 'p' }], 5),
        isError: one<unknown>(true, undefined),
        error: one<unknown>(undefined, undefined, 'failed'),
        activityType: one('t', 'u'),
        replace: one<unknown>(undefined, false),
        patch: one<unknown>([operation()], [operation(), operation()], 'none'),
        messages: one<unknown>([message(), message(), message()], 'none'),
        input: { messages: [message()] },
        subagentRunId: one<unknown>(undefined, undefined, undefined, 's1'),
        metadata: metadata(),
        ...(type === 'CUSTOM' ? custom() : {}),
      };
      return { type, ...members } as unknown as AGUIEvent;
    };
    return Array.from({ length: 2 + random(14) }, event);
  }

  // The engine and JSON have no members that are undefined.
  const plain = (messages: Message[]): unknown => JSON.parse(JSON.stringify(messages));

  const isSame = (events: AGUIEvent[]): boolean =>
    isDeepStrictEqual(plain(client.foldEvents(events)), engineFold(events));

  // Without the events that a difference does not need.
  function smallest(events: AGUIEvent[]): AGUIEvent[] {
    const drop = events.findIndex((_, at) => !isSame(events.filter((__, other) => other !== at)));
    return drop === -1 ? events : smallest(events.filter((_, at) => at !== drop));
  }

  it('gives what the engine gives, whatever the events', () => {
    const first = testSeed();
    for (let seed = first; seed < first + 3000; seed += 1) {
      const events = randomEvents(seed);
      if (isSame(events)) continue;
      const few = smallest(events);
      const reported = { MILLRACE_SEED: seed, events: few };
      expect({ ...reported, messages: plain(client.foldEvents(few)) }).toEqual({
        ...reported,
        messages: engineFold(few),
      });
    }
  });

  it.each<[string, object[]]>([
    [
      'an item that came alone, with a value for its id',
      [
        {
          type: 'REASONING_ENCRYPTED_VALUE',
          subtype: 'tool-call',
          entityId: 'a',
          encryptedValue: 't',
        },
        {
          type: 'CUSTOM',
          name: 'millrace.provider_state',
          value: { entityId: 'a', provider: 'openai_responses', kind: 'part', state: 's' },
        },
      ],
    ],
    [
      'text for the id of an activity',
      [
        { type: 'ACTIVITY_SNAPSHOT', messageId: 'a', activityType: 't', content: { b: 1 } },
        {
          type: 'REASONING_ENCRYPTED_VALUE',
          subtype: 'message',
          entityId: 'a',
          encryptedValue: 't',
        },
        { type: 'TEXT_MESSAGE_CONTENT', messageId: 'a', delta: 'x' },
        { type: 'MESSAGES_SNAPSHOT', messages: [{ id: 'a', role: 'user', content: null }] },
      ],
    ],
  ])('records what was shown beside a signature as the engine does: %s', (_, given) => {
    const events = given as unknown as AGUIEvent[];
    const messages = engineFold(events);
    expect(messages).toHaveProperty('0.metadata.millrace.shown', '4b95f515');
    expect(plain(client.foldEvents(events))).toEqual(messages);
  });

  it('takes a stream, and leaves what it was given as it was', async () => {
    const events = randomEvents(17);
    const before = JSON.stringify(events);
    async function* stream(): AsyncGenerator<AGUIEvent> {
      yield* events;
    }
    expect(plain(await client.foldEvents(stream()))).toEqual(engineFold(events));
    expect(JSON.stringify(events)).toBe(before);
    expect(() => client.foldEvents(5 as never)).toThrow('takes an iterable of events');
  });
});

// A body that comes in pieces of these sizes, the last of which goes on.
function responseOf(bytes: Uint8Array, sizes: () => number): Response {
  let at = 0;
  return new Response(
    new ReadableStream({
      pull(controller) {
        const end = Math.min(bytes.length, at + Math.max(1, sizes()));
        if (end > at) controller.enqueue(bytes.slice(at, end));
        at = end;
        if (at >= bytes.length) controller.close();
      },
    }),
  );
}

const bodies = [
  'data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}\n\ndata: {"type":"CUSTOM","name":"é☕"}\n\n',
  '\ufeffdata: {"type":"A"}\r\n\r\ndata:{"type":"B"}\r\rdata: [DONE]\n\n',
  'data: {"type":\ndata: "A"}\n\n: comment\nid: 5\nevent: text\ndata: "said"\n\nevent: usage\ndata:{"a":1}',
  'data: {"type":"A"}\ndata: {"type":"B"}\ndata: {"type":"C"}\n',
  'event: text\nid: 1\ndata: "one"\n\nevent: text\ndata: "two"\n\nevent: stop\ndata: "stop"\n\n',
  '{"error":{"message":"too much","code":429}}',
  '{"error":"plain"}',
  'no stream at all',
  'data\n\ndata:\n\nevent: error\ndata: {"type":"RateLimitExceeded","message":"slow"}\n\n',
  '',
];

describe('the streams of a page', () => {
  let errors: jest.SpyInstance;
  beforeEach(() => {
    errors = jest.spyOn(console, 'error').mockImplementation(() => undefined);
  });
  afterEach(() => errors.mockRestore());

  async function eventsOf(events: AsyncIterable<AGUIEvent>): Promise<unknown[]> {
    const all: unknown[] = [];
    try {
      for await (const event of events) all.push(event);
    } catch (error) {
      const { code, message } = error as { code?: string; message: string };
      all.push({ code, message });
    }
    return all;
  }

  async function chunksOf(send: typeof engineSSE, response: Response): Promise<unknown> {
    const chunks: ChatStreamChunk[] = [];
    const failures: unknown[] = [];
    let finish: unknown;
    await send('http://127.0.0.1/', {
      fetcher: async () => response,
      responseAnimation: 'none',
      onMessageHandle: (chunk) => void chunks.push(chunk),
      onErrorHandle: (error) => void failures.push(error),
      onFinish: (output, context) => void (finish = { output, context }),
    });
    return { chunks, failures, finish };
  }

  it.each(bodies)('are read as the engine reads them, however they are cut: %j', async (body) => {
    const bytes = new TextEncoder().encode(body);
    const random = randomOf(5);
    const cuts = [() => bytes.length, () => 1, () => 1 + random(7), () => 1 + random(30)];
    for (const sizes of cuts) {
      const whole = responseOf(bytes, () => bytes.length);
      expect(await eventsOf(client.agUIAdapter().parse(responseOf(bytes, sizes)))).toEqual(
        await eventsOf(engineAdapter().parse(whole)),
      );
      const again = responseOf(bytes, () => bytes.length);
      expect(await chunksOf(client.fetchSSE as typeof engineSSE, responseOf(bytes, sizes))).toEqual(
        await chunksOf(engineSSE, again),
      );
    }
  });

  it('are left at once, and half a record is none', async () => {
    const bytes = new TextEncoder().encode('data: {"type":"A"}\n\ndata: {"type":');
    const body = new ReadableStream({ start: (controller) => controller.enqueue(bytes) });
    const events = client.agUIAdapter().parse(new Response(body))[Symbol.asyncIterator]();
    expect((await events.next()).value).toEqual({ type: 'A' });
    const pending = events.next();
    await events.return?.();
    expect(await pending).toEqual({ done: true, value: undefined });
    expect(errors).not.toHaveBeenCalled();
  });

  it('end at their limits as the engine ends them', async () => {
    const limits = { lineBytes: 40, eventBytes: 50 };
    for (const body of [
      `data: ${'é'.repeat(30)}\n\n`,
      `data: ${'x'.repeat(30)}\ndata: ${'é'.repeat(10)}\n\n`,
    ]) {
      const response = (): Response => responseOf(new TextEncoder().encode(body), () => 9);
      const seen = await eventsOf(client.agUIAdapter({ limits }).parse(response()));
      expect(seen).toEqual(await eventsOf(engineAdapter({ limits }).parse(response())));
      expect(seen).toEqual([expect.objectContaining({ code: expect.stringMatching(/too_l/) })]);
    }
    expect(() => client.agUIAdapter({ limits: { lineBytes: 0 } })).toThrow('positive integer');
  });

  it('sends what fetchLLM sends, and refuses what is of Node.js', async () => {
    const sent: unknown[] = [];
    const send = async (url: unknown, init: RequestInit = {}): Promise<Response> => {
      const body = JSON.parse(init.body as string) as { runId: string };
      sent.push({ url, ...init, body: { ...body, runId: typeof body.runId } });
      return new Response('');
    };
    const messages: Message[] = [{ id: 'u', role: 'user', content: 'Hi' }];
    const { signal } = new AbortController();
    const options = {
      url: 'http://127.0.0.1/x',
      streamAdapter: client.agUIAdapter(),
      fetch: send as typeof fetch,
      body: { model: 'm' },
    };
    await client.fetchLLM(options).send({ threadId: 't', messages, signal });
    await engineLLM(options).send({ threadId: 't', messages, signal });
    expect(sent[0]).toEqual(sent[1]);
    for (const wrong of [{ timeouts: { total: 5 } }, { origin: 'http://a' }]) {
      expect(() => client.fetchLLM({ ...options, ...wrong })).toThrow('of Node.js');
    }
    expect(() => client.fetchLLM({ ...options, transport: 'engine' as never })).toThrow("'fetch'");
  });
});

describe('a bundle', () => {
  const bundle = (contents: string, options: BuildOptions): string => {
    const { outputFiles } = buildSync({
      stdin: { contents, resolveDir: root },
      bundle: true,
      write: false,
      minify: true,
      format: 'esm',
      logLevel: 'silent',
      // Not the paths of this project.
      tsconfigRaw: '{}',
      ...options,
    });
    return outputFiles?.[0]?.text ?? '';
  };
  const targets: [string, BuildOptions][] = [
    ['a page', { platform: 'browser' }],
    ['an edge function', { platform: 'neutral', conditions: ['edge-light'] }],
  ];

  it.each(targets)('for %s has the client, and nothing of Node.js', (_name, options) => {
    const sizeOf = (names: string): number => {
      const code = bundle(`export ${names} from 'millrace/client'`, options);
      expect(code).not.toMatch(/node:|\.node\b|require\(/);
      return gzipSync(code, { level: 9 }).length;
    };
    // docs/decisions/page-client-size.md
    expect(sizeOf('{ agUIAdapter, fetchLLM, restStorage }')).toBeLessThanOrEqual(5.1 * 1024);
    const withoutFold = '{ agUIAdapter, fetchLLM, fetchSSE, restStorage }';
    expect(sizeOf(withoutFold)).toBeLessThanOrEqual(8.5 * 1024);
    expect(sizeOf('{ agUIAdapter, fetchLLM, foldEvents }')).toBeLessThanOrEqual(9.75 * 1024);
    expect(sizeOf('*')).toBeLessThanOrEqual(14 * 1024);
  });

  it('has the status of an error whose class it does not know, or by an older name', () => {
    const code = bundle("export { MillraceError } from 'millrace/client'", {
      ...{ platform: 'browser', format: 'iife', globalName: 'page' },
    });
    const statuses = runInNewContext(`${code}
      ['QuotaLimitReached', 'RateLimitExceeded', 'toString'].map((errorType) =>
        new page.MillraceError('invalid_option', 'No.', { errorType }).httpStatus)`) as number[];
    expect([...statuses]).toEqual([400, 400, 400]);
  });

  it.each(targets)(
    'for %s cannot have millrace itself, which says what to do',
    (_name, options) => {
      expect(() =>
        bundle("import { createAgent } from 'millrace'; createAgent();", options),
      ).toThrow(
        'millrace runs in Node.js alone: import millrace/client in pages and edge functions',
      );
    },
  );
});

it('knows the classes and fixes of the errors that pages meet', () => {
  for (const code of Object.keys(errorTypes) as (keyof typeof errorTypes)[]) {
    expect(errorTypes[code]).toBe(allTypes[code]);
    expect(errorFixes[code]).toBe(allFixes[code]);
    expect(errorTypeRows[errorTypes[code]]).toEqual(allRows[allTypes[code]]);
  }
});
