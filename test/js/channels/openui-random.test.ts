// @openuidev/react-headless 0.9.13 beside us on random input, within what both promise alike.
import * as openui from '@openuidev/react-headless';
import * as millrace from 'millrace';

import { randomPieces } from '../../support/recordings';
import { all, named, responseOf } from '../support/responses';
import { testSeed } from '../support/seed';

const rounds = 150;
const seed = testSeed();

type Random = () => number;

// mulberry32: the same numbers for the same seed, everywhere.
function numbers(from: number): Random {
  let state = from;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
const below = (random: Random, limit: number) => Math.floor(random() * limit);
const oneOf = <T>(random: Random, list: readonly T[]): T => list[below(random, list.length)] as T;
const some = <T>(random: Random, limit: number, make: (index: number) => T): T[] =>
  Array.from({ length: below(random, limit) }, (_none, index) => make(index));

const texts = ['Hi', '', ' ', '\u00e9\ud83d\ude80', '\ud83d', 'a\nb', '"\\', '\u2028', '0', '\0'];
const argumentTexts = ['{"q":"x"}', '', '5', '{oops', '{"b":1,"a":1.50}', '{"__proto__":1}'];

function chatChunks(random: Random): object[] {
  const chunk = (delta: object) => ({ choices: [{ index: 0, delta, finish_reason: null }] });
  const known = new Set<number>();
  const call = () => {
    const index = below(random, known.size + 1);
    const isNew = !known.has(index);
    known.add(index);
    const started = isNew ? { id: `call${index}`, type: 'function' } : {};
    const name = isNew ? { name: `f${index}` } : {};
    return {
      index,
      ...started,
      function: { ...name, arguments: oneOf(random, argumentTexts) },
    };
  };
  const list = some(random, 9, () =>
    oneOf(random, [
      () => chunk({ content: oneOf(random, texts) }),
      () => chunk({ content: oneOf(random, texts) }),
      () => chunk({ tool_calls: [call(), call()] }),
      () => ({ choices: [], usage: { prompt_tokens: 1 } }),
    ])(),
  );
  const ended = known.size === 0 ? [{ choices: [{ delta: {}, finish_reason: 'stop' }] }] : [];
  return [chunk({ role: 'assistant', content: oneOf(random, texts) }), ...list, ...ended];
}

function streamOf(random: Random, records: object[]): string {
  const end = oneOf(random, ['\n', '\r\n']);
  const noise = ['', '', '', `: ping${end}${end}`, `event: x${end}`, `data: [DONE]${end}${end}`];
  const record = (value: object) =>
    `${oneOf(random, noise)}data: ${JSON.stringify(value)}${end}${oneOf(random, [end, end, ''])}`;
  return oneOf(random, ['', '\ufeff']) + records.map(record).join('');
}

function conversation(random: Random): millrace.Message[] {
  const text = () => oneOf(random, texts);
  const parts = () =>
    some<millrace.InputContent>(random, 3, () =>
      oneOf<millrace.InputContent>(random, [
        { type: 'text', text: text() },
        { type: 'binary', mimeType: 'image/png', url: 'https://a/b' },
        { type: 'binary', mimeType: 'image/png', data: 'AAAA' },
      ]),
    );
  const toolCalls = () =>
    some<millrace.ToolCall>(random, 3, (index) => ({
      id: `call${index}`,
      type: 'function',
      function: { name: 'f', arguments: oneOf(random, argumentTexts) },
    }));
  return some<millrace.Message>(random, 7, (index) => {
    const id = `m${index}`;
    return oneOf<() => millrace.Message>(random, [
      () => ({ id, role: 'user', content: text() }),
      () => ({ id, role: 'user', content: parts() }),
      () => ({ id, role: 'assistant', content: text(), toolCalls: toolCalls() }),
      () => ({ id, role: 'assistant', toolCalls: toolCalls() }),
      () => ({ id, role: 'tool', content: text(), toolCallId: 'call0' }),
      () => ({ id, role: oneOf(random, ['system', 'developer'] as const), content: text() }),
    ])();
  });
}

describe(`random input, seed ${seed}`, () => {
  const random = numbers(seed);

  it('gives the same events of chat completions, however it is cut', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const body = streamOf(random, chatChunks(random));
      const bytes = Buffer.from(body);
      const theirs = await all(openui.openAIAdapter().parse(responseOf([bytes])));
      const pieces = [...randomPieces(bytes, below(random, 2 ** 32))];
      const ours = await all(millrace.openAIAdapter().parse(responseOf(pieces)));
      expect([body, named(ours)]).toEqual([body, named(theirs)]);
    }
  });

  it.each(['openAIMessageFormat', 'openAIConversationMessageFormat'] as const)(
    '%s writes the same',
    (format) => {
      for (let round = 0; round < rounds; round += 1) {
        const messages = conversation(random);
        const theirs: unknown = JSON.parse(JSON.stringify(openui[format].toApi(messages)));
        expect([messages, millrace[format].toApi(messages)]).toEqual([messages, theirs]);
      }
    },
  );

  it('openAIMessageFormat reads the same', () => {
    const format = 'openAIMessageFormat';
    for (let round = 0; round < rounds; round += 1) {
      const onlyTexts = conversation(random).filter(({ content }) => !Array.isArray(content));
      const stored = openui[format].toApi(onlyTexts);
      const theirs = named(openui[format].fromApi(stored));
      expect([stored, named(millrace[format].fromApi(stored))]).toEqual([stored, theirs]);
    }
  });
});
