// Pieces of texts may wait for those that follow; nothing else does.
import type { AGUIEvent } from 'millrace';
import { createAgent, createModelRuntime } from 'millrace';

import type { Provider } from '../../support/provider';
import { startProvider } from '../../support/provider';

const hour = 3_600_000;
const payload = { model: 'm', messages: [{ role: 'user' as const, content: 'Hi' }] };

/** Sends a delta of the answer that is on its way. */
let send: (delta: object, reason?: string) => void;
let end: () => void;
let provider: Provider;

beforeAll(async () => {
  provider = await startProvider((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    send = (delta, reason) => {
      const choice = { index: 0, delta, finish_reason: reason ?? null };
      response.write(`data: ${JSON.stringify({ choices: [choice] })}\n\n`);
    };
    end = () => {
      send({}, 'stop');
      response.end('data: [DONE]\n\n');
    };
    send({ content: 'one ' });
  });
});
afterAll(() => provider.close());

const settings = () => ({ apiKey: 'k', baseURL: `${provider.url}/v1` });

const readers = {
  'a run of a model': (throttleMs?: number) =>
    createModelRuntime('openai', settings()).stream(payload, { throttleMs }),
  'a run of an agent': (throttleMs?: number) =>
    createAgent({ model: 'openai:m', provider: settings() }).run('Hi', { throttleMs }),
};

/** Reads on until `wanted` is there, and gives all types of the events that came. */
async function until(events: AsyncIterator<AGUIEvent>, wanted: string): Promise<string[]> {
  const types: string[] = [];
  for (;;) {
    const { value, done } = await events.next();
    if (done === true) throw new Error(`No ${wanted} among ${types.join(', ')}`);
    const event: AGUIEvent = value;
    types.push(event.type);
    if (event.type === wanted || ('delta' in event && event.delta === wanted)) return types;
  }
}

const later = (ms: number): Promise<'later'> =>
  new Promise((resolve) => setTimeout(() => resolve('later'), ms));

describe.each(Object.entries(readers))('%s', (_, start) => {
  it('gives the first token at once, and what follows with the end', async () => {
    const events = start(hour)[Symbol.asyncIterator]();
    await until(events, 'one ');
    send({ content: 'two ' });
    const next = events.next();
    expect(await Promise.race([next, later(300)])).toBe('later');
    send({ content: 'three' });
    end();
    expect((await next).value).toMatchObject({ delta: 'two ' });
    await until(events, 'three');
    await until(events, 'RUN_FINISHED');
  });

  it('lets nothing wait behind what is no piece of a text', async () => {
    const events = start(hour)[Symbol.asyncIterator]();
    await until(events, 'one ');
    send({ content: 'two ' });
    send({ tool_calls: [{ index: 0, id: 'c', function: { name: 'look', arguments: '' } }] });
    await until(events, 'two ');
    await until(events, 'TOOL_CALL_START');
    end();
    await until(events, 'TOOL_CALL_END');
  });

  it.each([undefined, 0, 20])('gives every piece when nothing follows it (%p ms)', async (span) => {
    const events = start(span)[Symbol.asyncIterator]();
    await until(events, 'one ');
    for (let number = 2; number < 6; number += 1) {
      send({ content: `${number} ` });
      await until(events, `${number} `);
    }
    end();
    await until(events, 'RUN_FINISHED');
  });

  it('gives what waits when the run is stopped', async () => {
    const run = start(hour);
    const events = run[Symbol.asyncIterator]();
    await until(events, 'one ');
    send({ content: 'two ' });
    await later(100);
    run.stop();
    await until(events, 'two ');
  });

  it.each([-1, 1.5, Infinity, '50'])('refuses a span of %p', (span) => {
    expect(() => start(span as number)).toThrow('throttleMs must be a whole number');
  });
});

it('holds the bytes of a chat alike', async () => {
  const runtime = createModelRuntime('openai', settings());
  const response = await runtime.chat(payload, { throttleMs: hour });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!text.includes('"one "')) text += (await reader.read()).value ?? '';
  send({ content: 'two ' });
  const next = reader.read();
  expect(await Promise.race([next, later(300)])).toBe('later');
  end();
  for (let piece = await next; piece.done === false; piece = await reader.read())
    text += piece.value;
  expect(text).toMatch(/"two "[^]*RUN_FINISHED/);
});
