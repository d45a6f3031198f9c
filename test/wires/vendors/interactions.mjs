// Gemini Interactions: the steps of an interaction, their deltas, the interaction around them.
import { GoogleGenAI } from '@google/genai';

import { halves } from '../frame/pieces.mjs';
import { serverSentEvents } from '../frame/server.mjs';

const types = `
import type { Interactions } from '@google/genai';
export type Step = Interactions.Step;
export type Event = Interactions.InteractionSSEEvent;
export type Delta = Extract<Interactions.InteractionSSEEvent, { event_type: 'step.delta' }>['delta'];
export type Whole = Extract<Interactions.InteractionSSEEvent, { event_type: 'interaction.completed' }>['interaction'];
`;

const said = { type: 'model_output', content: [{ type: 'text', text: 'Said.' }] };

function whole(steps, more = {}) {
  return {
    id: 'i1',
    object: 'interaction',
    model: 'gemini-3-pro',
    status: 'completed',
    created: '2026-01-01T00:00:00Z',
    updated: '2026-01-01T00:00:01Z',
    steps,
    usage: { total_input_tokens: 3, total_output_tokens: 4, total_tokens: 7 },
    ...more,
  };
}

// A whole interaction as a stream. A step may come with `deltas` of its own instead.
function recordsOf({ steps, ...interaction }) {
  const begun = {
    id: interaction.id,
    object: interaction.object,
    model: interaction.model,
    status: 'in_progress',
  };
  const records = [
    { event_type: 'interaction.created', interaction: begun },
    {
      event_type: 'interaction.status_update',
      interaction_id: interaction.id,
      status: 'in_progress',
    },
  ];
  steps.forEach(({ deltas, ...step }, index) => {
    const [first, own] = deltas ? [step, deltas] : grown(step);
    records.push({ event_type: 'step.start', index, step: first });
    for (const delta of own) records.push({ event_type: 'step.delta', index, delta });
    records.push({ event_type: 'step.stop', index });
  });
  return [...records, { event_type: 'interaction.completed', interaction }];
}

// How a step begins and what its deltas add.
function grown(step) {
  if (step.type === 'model_output')
    return [{ ...step, content: [] }, (step.content ?? []).flatMap(contentDeltas)];
  if (step.type === 'function_call') {
    const pieces = halves(JSON.stringify(step.arguments ?? {}));
    const deltas = pieces.map((piece) => ({ type: 'arguments_delta', arguments: piece }));
    return [{ ...step, arguments: {} }, deltas];
  }
  if (step.type !== 'thought') return [step, []];
  const summaries = (step.summary ?? []).map((content) => ({ type: 'thought_summary', content }));
  const signature = step.signature
    ? [{ type: 'thought_signature', signature: step.signature }]
    : [];
  return [{ type: 'thought' }, [...summaries, ...signature]];
}

function contentDeltas(content) {
  if (content.type !== 'text') return [content];
  const deltas = halves(content.text).map((text) => ({ type: 'text', text }));
  const { annotations } = content;
  return annotations ? [...deltas, { type: 'text_annotation_delta', annotations }] : deltas;
}

const starts = {
  arguments_delta: { type: 'function_call', id: 'f1', name: 'look', arguments: {} },
  thought_signature: { type: 'thought' },
  thought_summary: { type: 'thought' },
  function_result: { type: 'function_result', call_id: 'f1', name: 'look', result: '' },
};

// A step in which a delta stands.
function stepOf(delta) {
  const output = { type: 'model_output', content: [] };
  const isTool = /_(call|result)$/.test(delta.type);
  const tool = {
    type: delta.type,
    ...(/_call$/.test(delta.type) ? { id: 't1' } : { call_id: 't1' }),
  };
  return { ...(starts[delta.type] ?? (isTool ? tool : output)), deltas: [delta] };
}

const bytes = (records) => ({
  type: 'text/event-stream',
  bytes: serverSentEvents(records, {
    name: ({ event_type }) => event_type,
    end: 'event: done\ndata: [DONE]\n\n',
  }),
});

function client(url) {
  return new GoogleGenAI({ apiKey: 'test-key', httpOptions: { baseUrl: url } });
}

const asked = { model: 'gemini-3-pro', input: 'Ask', automaticContinuation: false };

export default {
  name: 'interactions',
  title: 'Gemini Interactions',
  sdk: '@google/genai',
  adapter: {
    name: 'geminiInteractionsAdapter',
    options: (states) => ({ onState: (state) => states.push(state) }),
  },
  reads: 'geminiInteractionsAdapter',
  types,
  rules: {
    bounded: [
      [
        /^interaction\.status(:\w+)?$/,
        ['completed', 'incomplete', 'requires_action', 'failed', 'cancelled', 'budget_exceeded'],
      ],
    ],
    values: [
      [/\.(data|signature)$/, ({ text }) => Buffer.from(text.repeat(3)).toString('base64')],
      [/:arguments_delta\.arguments$/, ({ text }) => JSON.stringify({ q: text })],
    ],
  },
  subjects: [
    { root: 'step', type: 'Step', place: (value) => whole([value]) },
    { root: 'delta', type: 'Delta', place: (value) => whole([stepOf(value)]), streamOnly: true },
    {
      root: 'interaction',
      type: 'Whole',
      place: (value) => whole([said], value),
      rules: { without: [/^interaction\.(steps|object)$/] },
    },
  ],
  kinds: {
    type: 'Step',
    root: 'step',
    place: (steps) => whole(steps),
    back: false,
    callOf: (label) => (label.endsWith('_result') ? label.replace(/result$/, 'call') : undefined),
    link: (call, result) => [call, { ...result, call_id: call.id }],
  },
  events: { type: 'Event', nameOf: ({ event_type }) => event_type, without: ['error'] },
  records: recordsOf,
  bytes,
  answer: (value) => ({ type: 'application/json', bytes: Buffer.from(JSON.stringify(value)) }),
  async readStream(url) {
    const events = [];
    for await (const event of await client(url).interactions.create({ ...asked, stream: true }))
      events.push(event);
    return events;
  },
  readAnswer: (url) => client(url).interactions.create(asked),
  turn: () => [],
  structural: [/\.(id|call_id|name|type)$/],
  carriers: [
    [/model_output\.content\[\]:text\.text$/, /^TEXT_MESSAGE_CONTENT\.delta$/],
    [/^delta:text\.text$/, /^TEXT_MESSAGE_CONTENT\.delta$/],
    [/thought\.summary\[\]:text\.text$/, /^REASONING_MESSAGE_CONTENT\.delta$/],
    [/thought_summary\.content:text\.text$/, /^REASONING_MESSAGE_CONTENT\.delta$/],
    [/signature$/, /^REASONING_ENCRYPTED_VALUE\.encryptedValue/],
    [/_call\.id$/, /^TOOL_CALL_START\.toolCallId$/],
    [/_call\.name$/, /^TOOL_CALL_START\.toolCallName$/],
    [/(_call|_delta)\.arguments/, /^TOOL_CALL_ARGS\.delta/],
    [/_result\.call_id$/, /^TOOL_CALL_RESULT\.toolCallId$/],
    [/_result\.result/, /^TOOL_CALL_RESULT\.content/],
    [/^interaction\.id$/, /^millrace\.provider_state\(interaction\)/],
    [/^interaction\.usage\./, /^(RUN_FINISHED\.usage|millrace\.usage\.value)/],
  ],
};
