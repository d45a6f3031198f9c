// Agents whose requests go through a fetch function: users' mocks, wrappers, instrumentation.
import { AsyncLocalStorage } from 'node:async_hooks';

import { createAgent, createModelRuntime, Engine, tool } from 'millrace';

type Chunk = Record<string, unknown>;
interface Requested {
  url: string;
  method: string | undefined;
  authorization: string | null;
  messages: { role: string }[];
  signal: AbortSignal | null | undefined;
}

const delta = (members: object, finish: string | null = null): Chunk => ({
  choices: [{ index: 0, delta: members, finish_reason: finish }],
});
const sums = [
  delta({
    tool_calls: [
      {
        index: 0,
        id: 'c1',
        type: 'function',
        function: { name: 'add', arguments: '{"a":1,"b":2}' },
      },
    ],
  }),
  delta({}, 'tool_calls'),
];
const says = (text: string): Chunk[] => [delta({ content: text }), delta({}, 'stop')];

const encoder = new TextEncoder();
function streamOf(chunks: Chunk[]): Response {
  const records = [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]'];
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const record = records.shift();
      if (record === undefined) controller.close();
      else controller.enqueue(encoder.encode(`data: ${record}\n\n`));
    },
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

// A fetch that gives these answers one after the other.
function mockOf(
  answers: (() => Response | Promise<Response>)[],
  requested: Requested[] = [],
): typeof fetch {
  return async (url, init) => {
    const headers = new Headers(init?.headers);
    const { messages } = JSON.parse(init?.body as string) as Pick<Requested, 'messages'>;
    requested.push({
      url: url instanceof Request ? url.url : String(url),
      method: init?.method,
      authorization: headers.get('authorization'),
      messages,
      signal: init?.signal,
    });
    const answer = answers.shift();
    if (!answer) throw new Error('nothing more was expected');
    return answer();
  };
}

const add = tool<{ a: number; b: number }>({
  name: 'add',
  input: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
  run: ({ a, b }) => a + b,
});
const agentOf = (send: typeof fetch, more: object = {}) =>
  createAgent({
    model: 'openai:m',
    provider: { apiKey: 'sk-mine', fetch: send, ...more },
    tools: [add],
  });

const nodes = globalThis.fetch;
afterEach(() => {
  globalThis.fetch = nodes;
});

describe('an agent with a fetch function', () => {
  it('asks each turn through it, and tries again as the engine does', async () => {
    const requested: Requested[] = [];
    const busy = () =>
      new Response('{"error":{"message":"busy"}}', {
        status: 503,
        headers: { 'retry-after': '0' },
      });
    const send = mockOf(
      [busy, () => streamOf(sums), () => streamOf(says('It is three: ü'))],
      requested,
    );
    const run = agentOf(send).run('1 + 2?');
    const texts: string[] = [];
    for await (const event of run) {
      if (event.type === 'TEXT_MESSAGE_CONTENT') texts.push(event.delta);
    }
    expect(texts.join('')).toBe('It is three: ü');
    expect(await run.result).toMatchObject({ status: 'completed', text: 'It is three: ü' });
    expect(requested).toHaveLength(3);
    expect(requested[2]).toMatchObject({
      url: 'https://api.openai.com/v1/chat/completions',
      method: 'POST',
      authorization: 'Bearer sk-mine',
    });
    expect(requested[2]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
  });

  it('takes that of its runtime, and of agents that it calls', async () => {
    const runtime = createModelRuntime('openai', {
      apiKey: 'k',
      fetch: mockOf([() => streamOf(says('by runtime'))]),
    });
    expect(await createAgent({ model: runtime, modelName: 'm' }).run('x').text()).toBe(
      'by runtime',
    );
    const delegates = delta({
      tool_calls: [
        {
          index: 0,
          id: 'c1',
          type: 'function',
          function: { name: 'helper', arguments: '{"task":"x"}' },
        },
      ],
    });
    const send = mockOf([
      () => streamOf([delegates, delta({}, 'tool_calls')]),
      () => streamOf(says('from the helper')),
      () => streamOf(says('done')),
    ]);
    const helper = createAgent({ model: 'openai:h', provider: { apiKey: 'k' } });
    const agent = createAgent({
      model: 'openai:m',
      provider: { apiKey: 'k', fetch: send },
      agents: [{ name: 'helper', description: 'Helps.', agent: helper }],
    });
    expect(await agent.run('x').text()).toBe('done');
  });

  it('sends nothing where only another agent’s options would send it', () => {
    const child = agentOf(mockOf([]));
    const agents = [{ name: 'helper', description: 'Helps.', agent: child }];
    for (const provider of [{ apiKey: 'k' }, { apiKey: 'k', transport: 'engine' as const }]) {
      const parent = createAgent({ model: 'openai:m', provider, agents });
      expect(() => parent.run('x')).toThrow('must send through the same function');
    }
  });

  it('is one whose global fetch was replaced, also after it was made', async () => {
    const agent = createAgent({ model: 'openai:m', provider: { apiKey: 'k' } });
    const engine = new Engine({
      provider: createModelRuntime('openai', { apiKey: 'k' }),
      model: 'm',
    });
    const whole = {
      choices: [
        { index: 0, message: { role: 'assistant', content: 'mocked' }, finish_reason: 'stop' },
      ],
    };
    globalThis.fetch = mockOf([() => streamOf(says('mocked')), () => Response.json(whole)]);
    expect(await agent.run('x').text()).toBe('mocked');
    expect(await engine.run('x')).toMatchObject({ status: 'completed', text: 'mocked' });
  });

  it('runs it where the run was started', async () => {
    const place = new AsyncLocalStorage<string>();
    let seen: string | undefined;
    const send: typeof fetch = async () => {
      seen = place.getStore();
      return streamOf(says('x'));
    };
    await place.run('here', () => agentOf(send).run('x').text());
    expect(seen).toBe('here');
  });

  it('aborts it when the run is stopped', async () => {
    const requested: Requested[] = [];
    let entered!: () => void;
    const begun = new Promise<void>((resolve) => (entered = resolve));
    const hangs = () =>
      new Promise<Response>((_, reject) => {
        requested[0]?.signal?.addEventListener('abort', () => reject(new Error('aborted')));
        entered();
      });
    const run = agentOf(mockOf([hangs], requested)).run('x');
    await begun;
    run.stop();
    expect((await run.result).status).toBe('cancelled');
    expect(requested[0]?.signal?.aborted).toBe(true);
  });

  it.each([
    ['throws', () => Promise.reject(new Error('no network')), 'connection_lost'],
    [
      'is refused',
      () => Promise.resolve(new Response('{}', { status: 401 })),
      'authentication_failed',
    ],
    [
      'breaks off',
      () =>
        Promise.resolve(
          new Response('data: {"choices":[{"delta":{"content":"a"}}]}\n\n', {
            headers: { 'content-type': 'text/event-stream' },
          }),
        ),
      'stream_truncated',
    ],
  ])('fails as a run when it %s', async (_what, answer: () => Promise<Response>, code) => {
    const { status, error } = await agentOf(mockOf([answer]), { maxRetries: 0 }).run('x').result;
    expect(status).toBe('error');
    expect(error).toMatchObject({ code });
  });

  it('reads no more than its reader does', async () => {
    let sent = 0;
    const record = `data: ${JSON.stringify(delta({ content: 'x'.repeat(10_000) }))}\n\n`;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += record.length;
        controller.enqueue(encoder.encode(record));
        if (sent > 100_000_000) controller.close();
      },
    });
    const endless = () => new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    const run = agentOf(mockOf([endless])).run('x');
    const reader = run[Symbol.asyncIterator]();
    await reader.next();
    let before = -1;
    while (before !== sent) {
      before = sent;
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    expect(sent).toBeLessThan(20_000_000);
    await reader.return?.();
    expect((await run.result).status).toBe('cancelled');
  });

  it('cannot have hooks, which the engine would pass over', () => {
    const hooked = createModelRuntime('openai', {
      apiKey: 'k',
      handlePayload: (payload) => payload,
    });
    expect(() => createAgent({ model: hooked, modelName: 'm' })).toThrow(
      'AgentRuntime with this runtime',
    );
  });
});
