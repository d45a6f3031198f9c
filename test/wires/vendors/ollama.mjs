// Ollama's own chat: the message of an answer, the response around it, the messages of a request.
import { Ollama } from 'ollama';

import { splitBy } from '../frame/model.mjs';
import { halves } from '../frame/pieces.mjs';

const types = `
import type * as O from 'ollama';
export type Input = O.Message;
export type Whole = O.ChatResponse;
export type Parameters = O.ChatRequest;
`;

const said = { role: 'assistant', content: 'Said.' };

function whole(message, more = {}) {
  return {
    model: 'llama3.2',
    created_at: '2026-01-01T00:00:00Z',
    message,
    done: true,
    done_reason: 'stop',
    total_duration: 5,
    load_duration: 1,
    prompt_eval_count: 3,
    prompt_eval_duration: 1,
    eval_count: 4,
    eval_duration: 1,
    ...more,
  };
}

// The pieces of a message, and an end without words.
function recordsOf({ model, created_at, message, parts = [message], logprobs, ...end }) {
  const { role } = message;
  const head = { model, created_at };
  const pieces = parts.flatMap(piecesOf);
  const records = pieces.map((piece, at) => ({
    ...head,
    message: piece,
    done: false,
    ...(at === 0 && logprobs ? { logprobs } : {}),
  }));
  return [...records, { ...head, message: { role, content: '' }, ...end }];
}

function piecesOf({ content, thinking, role, ...others }) {
  return [
    ...halves(thinking).map((piece) => ({ role, content: '', thinking: piece })),
    ...halves(content).map((piece) => ({ role, content: piece })),
    ...(Object.keys(others).length > 0 ? [{ role, content: '', ...others }] : []),
  ];
}

const bytes = (records) => ({
  type: 'application/x-ndjson',
  bytes: Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join('')),
});
const asked = { model: 'llama3.2', messages: [{ role: 'user', content: 'Ask' }] };

function client(url) {
  return new Ollama({ host: url });
}

// What a message of the assistant may hold.
const content = splitBy({
  text: ['role', 'content', 'images'],
  thinking: ['role', 'thinking'],
  calls: ['role', 'tool_calls'],
});

// A message of one role.
function messageOf(node, role, names) {
  const members = node.members
    .filter(({ name }) => names.includes(name))
    .map((member) =>
      member.name === 'role' ? { ...member, node: { kind: 'const', value: role } } : member,
    );
  return { label: role, node: { kind: 'object', name: role, members } };
}

function messagesOf(node) {
  return [
    ...content(node),
    messageOf(node, 'user', ['role', 'content', 'images']),
    messageOf(node, 'system', ['role', 'content', 'images']),
    messageOf(node, 'tool', ['role', 'content', 'images', 'tool_name']),
  ];
}

function historyOf(message) {
  const question = { role: 'user', content: 'Ask' };
  if (message.role === 'user') return [message];
  return [question, message, { role: 'user', content: 'Go on' }];
}

export default {
  name: 'ollama',
  title: 'Ollama',
  sdk: 'ollama',
  provider: 'ollama',
  model: 'llama3.2',
  call: {},
  asks: { logprobs: true, top_logprobs: 2 },
  format: 'ollama',
  reads: 'ollamaAdapter',
  // A message has one text, one `thinking` and one list of calls, and of messages in a row the server's templates take
  // thinking and calls of the first alone (ollama/template/template.go, `collate`).
  joinedNote: /in answers of another order these are joined there/,
  types,
  rules: {
    bounded: [[/\.role$/, ['assistant', 'user', 'system', 'tool']]],
    values: [
      [/\.images:list\[\]/, ({ text }) => Buffer.from(text.repeat(3)).toString('base64')],
      [/\.created_at$/, ({ number }) => new Date(number * 100_000).toISOString()],
      [/\.function\.arguments$/, ({ text }) => ({ q: text })],
    ],
    prefer: [[/\.done$/, true]],
    without: [/\.images:list(\/2|\[\]:bytes)/],
  },
  subjects: [
    {
      root: 'message',
      type: 'Input',
      place: (value) => whole({ role: 'assistant', ...value }),
      back: true,
      rules: { without: [/^message\.(role|tool_name)$/] },
    },
    {
      root: 'response',
      type: 'Whole',
      place: (value) => whole(said, value),
      rules: { without: [/^response\.(message|done)$/] },
    },
  ],
  kinds: [
    {
      root: 'message',
      variants: ({ Input }) => content(Input),
      place: (parts) => ({ ...whole({ role: 'assistant' }), parts }),
      streamOnly: true,
    },
    {
      root: 'input',
      variants: ({ Input }) => messagesOf(Input),
      history: (messages) => messages.map((message) => ({ content: '', ...message })),
      callOf: (label) => ({ tool: 'calls' })[label],
      link: (call, result) => [call, { ...result, tool_name: call.tool_calls[0].function.name }],
      between: false,
    },
  ],
  records: recordsOf,
  bytes,
  answer: (value) => ({ type: 'application/json', bytes: Buffer.from(JSON.stringify(value)) }),
  plain: bytes(recordsOf(whole(said))),
  async readStream(url) {
    const events = [];
    for await (const event of await client(url).chat({ ...asked, stream: true }))
      events.push(event);
    return events;
  },
  readAnswer: (url) => client(url).chat(asked),
  // A model gets the members of a message in this order.
  partsOf: ({ thinking, content: words, tool_calls: made, ...rest }) => [
    ...(thinking === undefined ? [] : [{ thinking }]),
    { content: words, ...rest },
    ...(made ?? []),
  ],
  turn: ({ messages = [] }) => messages.filter(({ role }) => role === 'assistant'),
  history: {
    root: 'input',
    type: 'Input',
    wrap: historyOf,
    turn: (request) => request.messages ?? request,
  },
  parameters: {
    type: 'Parameters',
    without: ['model', 'messages', 'stream'],
    rules: { bounded: [[/\.format:string$/, ['json']]] },
  },
  structural: [/\.(name|role)$/],
  carriers: [
    [/done_reason$/, /^millrace\.finish\.value\.reason$/],
    [/message\.content$/, /^TEXT_MESSAGE_CONTENT\.delta$/],
    [/message\.thinking$/, /^REASONING_MESSAGE_CONTENT\.delta$/],
    [/tool_calls\[\]\.function\.name$/, /^TOOL_CALL_START\.toolCallName$/],
    [/tool_calls\[\]\.function\.arguments/, /^TOOL_CALL_ARGS\.delta/],
    [
      /^response\.(prompt_)?eval_count$/,
      /^(RUN_FINISHED\.usage|millrace\.usage\.value|report\.(usage|attempts\[\]\.usage))/,
    ],
  ],
};
