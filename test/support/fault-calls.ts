// Modes of the faulty provider: calls of tools in odd shapes. What they call stands beside them.
import type { Mode } from './fault-kit';
import { answerWith, json, ok, okWhole, raw } from './fault-kit';
import type { Api, WireCall } from './model-wires';
import { bytesOf, recordsOf, usage, wholeOf } from './model-wires';

export interface CalledTool {
  name: string;
  arguments: unknown;
}

const paris: CalledTool = { name: 'get_weather', arguments: { city: 'Paris' } };
const rome: CalledTool = { name: 'get_weather', arguments: { city: 'Rome' } };
const call: WireCall = { id: 'call_1', name: 'get_weather', pieces: ['{"city"', ':"Pa', 'ris"}'] };
const second: WireCall = { id: 'call_2', name: 'get_weather', pieces: ['{"city":', '"Rome"}'] };

const chat = { apis: ['chat'] as readonly Api[] };
const responses = { apis: ['responses'] as readonly Api[] };
const messages = { apis: ['messages'] as readonly Api[] };

interface CallMode extends Mode {
  calls: CalledTool[];
}

const shaped = (mode: Mode, calls: CalledTool[] = [paris]): CallMode => ({ ...mode, calls });

function both(calls: WireCall[], called: CalledTool[]): CallMode {
  const answer: Mode['answer'] = (context) => answerWith(context, { deltas: [], calls, usage });
  return { outcome: 'complete', answer, calls: called };
}

/** A chat stream with these entries of `tool_calls`, each in a record of its own. */
function entries(list: (object | object[])[], called = [paris], finish = 'tool_calls'): CallMode {
  const chunk = (delta: object, reason: string | null = null): { data: string } => ({
    data: JSON.stringify({
      id: 'chatcmpl-1',
      model: 'm',
      choices: [{ index: 0, delta, finish_reason: reason }],
    }),
  });
  const bytes = bytesOf([
    chunk({ role: 'assistant', content: null }),
    ...list.map((entry) => chunk({ tool_calls: Array.isArray(entry) ? entry : [entry] })),
    chunk({}, finish),
    { data: '[DONE]' },
  ]);
  return shaped(
    ok(
      raw(() => bytes),
      { ...chat, reported: false },
    ),
    called,
  );
}

/** A whole chat answer with these calls. */
function wholeEntries(list: object[], called = [paris], finish = 'tool_calls'): CallMode {
  const message = { role: 'assistant', content: null, tool_calls: list };
  const body = {
    choices: [{ index: 0, message, finish_reason: finish }],
    object: 'chat.completion',
  };
  return shaped(
    okWhole(
      raw(() => JSON.stringify(body), json),
      { ...chat, reported: false },
    ),
    called,
  );
}

const fn = (name: string | undefined, text: unknown): object => ({
  function: { ...(name === undefined ? {} : { name }), arguments: text },
});
const whole = fn('get_weather', '{"city":"Paris"}');
const wholeRome = fn('get_weather', '{"city":"Rome"}');
const head = { id: 'call_1', type: 'function', ...fn('get_weather', '') };
const a = fn(undefined, '{"city":');
const b = fn(undefined, '"Paris"}');

const chatCalls: Record<string, CallMode> = {
  'no-index': entries([head, a, b]),
  'null-index': entries([head, a, b].map((entry) => ({ index: null, ...entry }))),
  'text-index': entries([head, a, b].map((entry) => ({ index: '0', ...entry }))),
  'index-from-one': entries([head, a, b].map((entry) => ({ index: 1, ...entry }))),
  'huge-index': entries([head, a, b].map((entry) => ({ index: 2 ** 52, ...entry }))),
  'negative-index': entries([head, a, b].map((entry) => ({ index: -1, ...entry }))),
  'broken-index': entries([head, a, b].map((entry) => ({ index: 0.5, ...entry }))),
  'sparse-index': entries(
    [
      { index: 0, id: 'x', ...whole },
      { index: 7, id: 'y', ...wholeRome },
    ],
    [paris, rome],
  ),
  'descending-index': entries(
    [
      { index: 1, id: 'x', ...whole },
      { index: 0, id: 'y', ...wholeRome },
    ],
    [paris, rome],
  ),
  'colliding-index': entries(
    [
      { index: 0, id: 'x', ...whole },
      { index: 0, id: 'y', ...wholeRome },
    ],
    [paris, rome],
  ),
  'colliding-index-in-pieces': entries(
    [
      { index: 0, id: 'x', ...fn('get_weather', '') },
      { index: 0, ...a },
      { index: 0, ...b },
      { index: 0, id: 'y', ...fn('get_weather', '') },
      { index: 0, ...fn(undefined, '{"city":"Rome"}') },
    ],
    [paris, rome],
  ),
  'missing-id': entries([
    { index: 0, ...fn('get_weather', '') },
    { index: 0, ...a },
    { index: 0, ...b },
  ]),
  'missing-id-twice': entries(
    [
      { index: 0, ...whole },
      { index: 1, ...wholeRome },
    ],
    [paris, rome],
  ),
  'missing-everything': entries([[whole, wholeRome]], [paris, rome]),
  'null-id': entries([{ index: 0, id: null, ...whole }]),
  'number-id': entries([{ index: 0, id: 7, ...whole }]),
  'empty-id': entries([{ index: 0, id: '', ...whole }]),
  'late-id': entries([
    { index: 0, ...fn('get_weather', '') },
    { index: 0, id: 'call_1', ...a },
    { index: 0, ...b },
  ]),
  'late-name': entries([
    { index: 0, id: 'call_1', ...fn(undefined, '') },
    { index: 0, ...fn('get_weather', '{"city":') },
    { index: 0, ...b },
  ]),
  'name-after-arguments': entries([
    { index: 0, id: 'call_1', ...a },
    { index: 0, ...b },
    { index: 0, ...fn('get_weather', '') },
  ]),
  'repeated-id': entries([head, a, b].map((entry) => ({ ...entry, index: 0, id: 'call_1' }))),
  'repeated-id-without-index': entries([head, a, b].map((entry) => ({ ...entry, id: 'call_1' }))),
  'repeated-id-and-name': entries(
    ['', '{"city":', '"Paris"}'].map((text) => ({ index: 0, id: 'c', ...fn('get_weather', text) })),
  ),
  'empty-id-repeated': entries([
    { index: 0, id: 'call_1', ...fn('get_weather', '') },
    { index: 0, id: '', ...fn('', '{"city":') },
    { index: 0, id: '', ...fn('', '"Paris"}') },
  ]),
  interleaved: entries(
    [
      [
        { index: 0, id: 'x', ...fn('get_weather', '') },
        { index: 1, id: 'y', ...fn('get_weather', '') },
      ],
      { index: 0, ...a },
      { index: 1, ...fn(undefined, '{"city":') },
      { index: 0, ...b },
      { index: 1, ...fn(undefined, '"Rome"}') },
    ],
    [paris, rome],
  ),
  'two-in-one-record': entries(
    [
      [
        { index: 0, id: 'x', ...whole },
        { index: 1, id: 'y', ...wholeRome },
      ],
    ],
    [paris, rome],
  ),
  'arguments-object': entries([{ index: 0, id: 'x', ...fn('get_weather', { city: 'Paris' }) }]),
  'arguments-null-first': entries([
    { index: 0, id: 'x', ...fn('get_weather', null) },
    { index: 0, ...a },
    { index: 0, ...b },
  ]),
  'arguments-missing': entries(
    [{ index: 0, id: 'x', function: { name: 'now' } }],
    [{ name: 'now', arguments: {} }],
  ),
  'arguments-empty': entries(
    [{ index: 0, id: 'x', ...fn('now', '') }],
    [{ name: 'now', arguments: {} }],
  ),
  'arguments-spread-out': entries([
    { index: 0, id: 'x', ...fn('get_weather', '\n { "city" :\t"Paris" }\n') },
  ]),
  'type-missing': entries([{ index: 0, id: 'x', ...whole }]),
  'entries-of-other-types': entries([
    [null as never, 42 as never, {}],
    { index: 0, id: 'x', ...whole },
  ]),
  'finish-says-stop': entries([{ index: 0, id: 'x', ...whole }], [paris], 'stop'),
  'finish-says-function-call': entries([{ index: 0, id: 'x', ...whole }], [paris], 'function_call'),
  'odd-text-in-arguments': entries(
    [{ index: 0, id: 'x', ...fn('get_weather', JSON.stringify({ city: '\u{1f30d}"\\\n\u2028' })) }],
    [{ name: 'get_weather', arguments: { city: '\u{1f30d}"\\\n\u2028' } }],
  ),
  'arguments-byte-by-byte': entries([
    { index: 0, id: 'x', ...fn('get_weather', '') },
    ...[...'{"city":"Paris"}'].map((text) => ({ index: 0, ...fn(undefined, text) })),
  ]),
  'whole-equal-ids': wholeEntries(
    [
      { id: 'x', type: 'function', ...whole },
      { id: 'x', type: 'function', ...whole },
    ],
    [paris, paris],
  ),
  'whole-no-ids': wholeEntries([whole, wholeRome], [paris, rome]),
  'whole-arguments-object': wholeEntries([{ id: 'x', ...fn('get_weather', { city: 'Paris' }) }]),
  'whole-finish-stop': wholeEntries([{ id: 'x', ...whole }], [paris], 'stop'),
};

function responsesCalls(
  change: (records: ReturnType<typeof recordsOf>) => ReturnType<typeof recordsOf>,
  called = [paris],
  calls = [call],
): CallMode {
  return shaped(
    ok(
      raw(() => bytesOf(change(recordsOf('responses', { deltas: [], calls, usage })))),
      responses,
    ),
    called,
  );
}
const without = (...names: string[]) =>
  responsesCalls((all) => all.filter(({ event }) => !names.includes(event ?? '')));
const deltaName = 'response.function_call_arguments.delta';
const doneName = 'response.function_call_arguments.done';

const responsesModes: Record<string, CallMode> = {
  'no-argument-deltas': without(deltaName),
  'no-arguments-done': without(doneName),
  'only-item-done': without(deltaName, doneName),
  'no-item-added': without('response.output_item.added'),
  'no-item-done': without('response.output_item.done'),
  'only-completed': without(
    'response.output_item.added',
    'response.output_item.done',
    deltaName,
    doneName,
  ),
  'no-output-index': responsesCalls((all) =>
    all.map(({ event, data }) => ({
      ...(event === undefined ? {} : { event }),
      data: data.replace(/"output_index":\d+,?/, ''),
    })),
  ),
  'no-call-id': responsesCalls((all) =>
    all.map((record) => ({ ...record, data: record.data.replaceAll('"call_id":"call_1",', '') })),
  ),
  'equal-call-ids': responsesCalls(
    (all) => all,
    [paris, rome],
    [call, { ...second, id: 'call_1' }],
  ),
  'whole-equal-call-ids': shaped(
    okWhole(
      raw(
        () => JSON.stringify(wholeOf('responses', { deltas: [], calls: [call, call], usage })),
        json,
      ),
      responses,
    ),
    [paris, paris],
  ),
};

const start = (index: number, id: string, input: unknown): { event: string; data: string } => ({
  event: 'content_block_start',
  data: JSON.stringify({
    type: 'content_block_start',
    index,
    content_block: { type: 'tool_use', id, name: 'get_weather', input },
  }),
});

function messagesCalls(
  change: (records: ReturnType<typeof recordsOf>) => ReturnType<typeof recordsOf>,
  called = [paris],
  calls = [call],
): CallMode {
  return shaped(
    ok(
      raw(() => bytesOf(change(recordsOf('messages', { deltas: [], calls, usage })))),
      messages,
    ),
    called,
  );
}
const beforeDelta = (all: ReturnType<typeof recordsOf>): number =>
  all.findIndex(({ event }) => event === 'message_delta');

const messagesModes: Record<string, CallMode> = {
  'input-in-the-start': messagesCalls((all) => [
    ...all.slice(0, 1),
    start(0, 'x', { city: 'Paris' }),
    { event: 'content_block_stop', data: '{"type":"content_block_stop","index":0}' },
    ...all.slice(beforeDelta(all)),
  ]),
  'empty-pieces': messagesCalls((all) =>
    all.flatMap((record) =>
      record.event === 'content_block_delta'
        ? [
            {
              ...record,
              data: record.data.replace(/"partial_json":".*?[^\\]"/, '"partial_json":""'),
            },
            record,
          ]
        : [record],
    ),
  ),
  'no-input': messagesCalls(
    (all) => all.filter(({ event }) => event !== 'content_block_delta'),
    [{ name: 'get_weather', arguments: {} }],
  ),
  'no-block-stop': messagesCalls((all) =>
    all.filter(({ event }) => event !== 'content_block_stop'),
  ),
  'index-used-twice': messagesCalls(
    (all) =>
      all.map((record) => ({ ...record, data: record.data.replace('"index":1', '"index":0') })),
    [paris, rome],
    [call, second],
  ),
  'equal-block-ids': messagesCalls(
    (all) => all,
    [paris, rome],
    [call, { ...second, id: 'call_1' }],
  ),
  'whole-equal-block-ids': shaped(
    okWhole(
      raw(
        () => JSON.stringify(wholeOf('messages', { deltas: [], calls: [call, call], usage })),
        json,
      ),
      messages,
    ),
    [paris, paris],
  ),
};

const named = (prefix: string, modes: Record<string, CallMode>): Record<string, CallMode> =>
  Object.fromEntries(Object.entries(modes).map(([name, mode]) => [`${prefix}-${name}`, mode]));

/** Their answers are calls of tools instead of the text. */
export const callModes: Record<string, CallMode> = {
  'call-in-pieces': both([call], [paris]),
  'call-whole': both([{ ...call, pieces: [call.pieces.join('')] }], [paris]),
  'two-calls': both([call, second], [paris, rome]),
  'equal-ids': both([call, { ...second, id: call.id }], [paris, rome]),
  ...named('chat', chatCalls),
  ...named('responses', responsesModes),
  ...named('messages', messagesModes),
};
