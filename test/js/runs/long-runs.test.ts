// Runs that are longer than what is kept of them, and readers at different paces.
import type { AGUIEvent, ModelRun } from 'millrace';
import { createModelRuntime } from 'millrace';

import { addon } from '../../../dist/cjs/addon';
import { engine } from '../../../dist/cjs/transport/engine';
import type { Provider } from '../../support/provider';
import { startProvider } from '../../support/provider';

const deltas = 40_000;
const piece = `data: {"choices":[{"index":0,"delta":{"content":"word "}}]}\n\n`;
const whole = 'word '.repeat(deltas);

let provider: Provider;
beforeAll(async () => {
  provider = await startProvider((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(piece.repeat(deltas));
    response.write('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n');
    response.end('data: [DONE]\n\n');
  });
});
afterAll(() => provider.close());

function run(replayBufferSize?: number): ModelRun {
  const runtime = createModelRuntime('openai', { apiKey: 'k', baseURL: `${provider.url}/v1` });
  const payload = { model: 'm', messages: [{ role: 'user' as const, content: 'Hi' }] };
  return runtime.stream(payload, replayBufferSize === undefined ? {} : { replayBufferSize });
}

async function read(events: AsyncIterable<AGUIEvent>): Promise<AGUIEvent[]> {
  const all: AGUIEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

function textOf(events: AGUIEvent[]): string {
  return events.map((event) => (event.type === 'TEXT_MESSAGE_CONTENT' ? event.delta : '')).join('');
}

it('gives the same events to every loop, whenever it begins', async () => {
  const one = run();
  const [first, second, text] = await Promise.all([read(one), read(one), one.text()]);
  expect(text).toBe(whole);
  expect(textOf(first)).toBe(whole);
  const all = JSON.stringify(first);
  expect(JSON.stringify(second) === all).toBe(true);
  expect(JSON.stringify(await read(one)) === all).toBe(true);
  expect(JSON.stringify(await read(one)) === all).toBe(true);
});

it('gives the same events to a loop that begins behind one that has read all there was', async () => {
  const pieces = 60;
  // Short and long, of one byte a character and of more.
  const words = ['word', 'f\u00fcr', '\u{1f600}', 'lang '.repeat(60), '\\n'];
  let more = (): void => undefined;
  const slow = await startProvider((response) => {
    let sent = 0;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    more = () => {
      if (sent++ < pieces) response.write(piece.replace('word', words[sent % words.length] ?? ''));
      else
        response.end(`${piece.replace('"word "}', '""},"finish_reason":"stop"')}data: [DONE]\n\n`);
    };
    more();
  });
  try {
    const runtime = createModelRuntime('openai', { apiKey: 'k', baseURL: `${slow.url}/v1` });
    const one = runtime.stream({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] });
    const others: Promise<AGUIEvent[]>[] = [];
    const first: AGUIEvent[] = [];
    for await (const event of one) {
      first.push(event);
      // The next piece is asked for when this one was read, so that each comes alone.
      if (event.type === 'TEXT_MESSAGE_CONTENT') {
        more();
        if (first.length % 10 === 0) others.push(read(one));
      }
    }
    expect(first.filter((event) => event.type === 'TEXT_MESSAGE_CONTENT')).toHaveLength(pieces);
    expect(others.length).toBeGreaterThan(3);
    for (const other of others) expect(await other).toEqual(first);
    expect(await read(one)).toEqual(first);
    expect(await one.text()).toBe(textOf(first));
  } finally {
    await slow.close();
  }
});

it('goes on for a reader that waited in the middle', async () => {
  const one = run();
  const reader = one[Symbol.asyncIterator]();
  const before: AGUIEvent[] = [];
  for (let count = 0; count < 700; count += 1) before.push((await reader.next()).value);
  const all = await read(one);
  const after: AGUIEvent[] = [];
  for (let next = await reader.next(); !next.done; next = await reader.next()) {
    after.push(next.value);
  }
  expect(JSON.stringify([...before, ...after]) === JSON.stringify(all)).toBe(true);
});

it('keeps no more than it may: the beginning is gone, the text is not', async () => {
  const one = run(1);
  expect(textOf(await read(one))).toBe(whole);
  await expect(read(one)).rejects.toMatchObject({ code: 'replay_unavailable' });
  expect(await one.text()).toBe(whole);
});

it('reads the same through a fetch function', async () => {
  const runtime = createModelRuntime('openai', {
    apiKey: 'k',
    baseURL: `${provider.url}/v1`,
    fetch,
  });
  const one = runtime.stream({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] });
  // More than waits for a reader: the transfer stands still and goes on.
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(textOf(await read(one))).toBe(whole);
});

it('closes the connection of an answer that is held back for too long', async () => {
  const endless = await startProvider((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const more = (): void => {
      while (!response.destroyed && response.write(piece.repeat(500)));
    };
    response.on('drain', more);
    more();
  });
  engine();
  const chain = [{ provider: 'openai', apiKey: 'k', baseURL: `${endless.url}/v1`, model: 'm' }];
  const payload = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };
  const options = { protocol: 'events', longestPauseMs: 200, threadId: 't', runId: 'r' };
  const [first, second, third] = [chain, payload, options].map((part) => JSON.stringify(part));
  // Whoever takes nothing more is given one batch.
  addon().startModelCall(first ?? '', second ?? '', third ?? '', () => false);
  while (endless.calls.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  await endless.calls[0]?.closed;
  await endless.close();
});
