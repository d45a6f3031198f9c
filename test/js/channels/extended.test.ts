// What the drop-in adapters give with `extended`, beside OpenUI's vocabulary: sound, refusals and calls of the older kind.
import { openAIAdapter, openAIResponsesAdapter } from 'millrace';

import { responseOf, sse } from '../support/responses';

const chunk = (delta: object, finish_reason: string | null = null): object => ({
  id: 'c',
  choices: [{ index: 0, delta, finish_reason }],
});
const ended = { type: 'response.completed', response: { id: 'r', status: 'completed' } };
const item = { id: 'm', type: 'message', role: 'assistant' };
const parts = [{ type: 'refusal', refusal: 'No.' }];

const chat = { spoken: openAIAdapter, called: openAIAdapter, rejected: openAIAdapter };
const adapters = { ...chat, voiced: openAIResponsesAdapter, declined: openAIResponsesAdapter };

const streams: Record<keyof typeof adapters, object[]> = {
  spoken: [
    chunk({ audio: { id: 'a', transcript: 'Hi' } }),
    chunk({ audio: { id: 'a', data: 'QUJD' } }),
    chunk({}, 'stop'),
  ],
  called: [
    chunk({ function_call: { name: 'f', arguments: '' } }),
    chunk({ function_call: { arguments: '{"a":1}' } }),
    chunk({}, 'function_call'),
  ],
  rejected: [chunk({ refusal: 'No.' }), chunk({}, 'stop')],
  voiced: [
    { type: 'response.audio.transcript.delta', delta: 'Hi' },
    { type: 'response.audio.delta', delta: 'QUJD' },
    ended,
  ],
  declined: [
    { type: 'response.output_item.added', output_index: 0, item },
    { type: 'response.refusal.delta', item_id: 'm', content_index: 0, delta: 'No.' },
    { type: 'response.output_item.done', output_index: 0, item: { ...item, content: parts } },
    ended,
  ],
};

interface Seen {
  text: string;
  args: string;
  custom: string[];
}

async function read(name: keyof typeof adapters, extended: boolean): Promise<Seen> {
  const seen: Seen = { text: '', args: '', custom: [] };
  const body = responseOf([sse(...streams[name])]);
  for await (const event of adapters[name]({ extended }).parse(body)) {
    if (event.type === 'TEXT_MESSAGE_CONTENT') seen.text += event.delta;
    if (event.type === 'TOOL_CALL_ARGS') seen.args += event.delta;
    if (event.type === 'CUSTOM') seen.custom.push(JSON.stringify(event));
  }
  return seen;
}

it.each<[keyof typeof adapters, Omit<Seen, 'custom'>, string[]]>([
  ['spoken', { text: 'Hi', args: '' }, ['"state":{"id":"a"}', '"data":"QUJD"']],
  ['called', { text: '', args: '{"a":1}' }, ['"kind":"function_call"', '"reason":"function_call"']],
  ['rejected', { text: 'No.', args: '' }, ['"kind":"refusal"', '"reason":"refusal"']],
  ['voiced', { text: 'Hi', args: '' }, ['"data":"QUJD"']],
  ['declined', { text: 'No.', args: '' }, ['"type":"refusal"']],
])('an answer that was %s', async (name, { text, args }, custom) => {
  const seen = await read(name, true);
  expect(seen).toMatchObject({ text, args });
  for (const part of custom) expect(seen.custom.join('\n')).toContain(part);
  expect((await read(name, false)).custom).toEqual([]);
});
