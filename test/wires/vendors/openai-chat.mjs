// OpenAI Chat Completions: the message of a choice, the choice, the completion around it, the messages of a request.
import OpenAI from 'openai';

import { oneOf, splitBy, variantsOf } from '../frame/model.mjs';
import { halves } from '../frame/pieces.mjs';
import { serverSentEvents } from '../frame/server.mjs';

const types = `
import type * as C from 'openai/resources/chat/completions/completions';
export type Message = C.ChatCompletionMessage;
export type Assistant = C.ChatCompletionAssistantMessageParam;
export type Call = C.ChatCompletionMessageToolCall;
export type Input = C.ChatCompletionMessageParam;
export type Choice = C.ChatCompletion.Choice;
export type Whole = C.ChatCompletion;
export type Event = C.ChatCompletionChunk;
export type Parameters = C.ChatCompletionCreateParamsNonStreaming;
`;

const said = { role: 'assistant', content: 'Said.', refusal: null };

function whole(choices, more = {}) {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'gpt-4o',
    choices: choices.map((choice, index) => ({ index, logprobs: null, ...choice })),
    usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
    ...more,
  };
}

function choiceOf(message) {
  const finish_reason = message.tool_calls
    ? 'tool_calls'
    : message.function_call
      ? 'function_call'
      : 'stop';
  return { message: { content: null, refusal: null, ...message }, finish_reason };
}

function recordsOf({ choices, usage, ...completion }) {
  const head = { ...completion, object: 'chat.completion.chunk' };
  delete head.metadata;
  const plain = { ...head };
  delete plain.moderation;
  const records = choices.flatMap((choice) =>
    choiceRecords(choice).map((part) => ({ ...plain, choices: [part], usage: null })),
  );
  return [...records, { ...head, choices: [], usage }];
}

function choiceRecords({ index, message, logprobs, finish_reason }) {
  const parts = deltasOf(message).map((delta) => ({
    index,
    delta,
    finish_reason: null,
    logprobs: null,
  }));
  if (logprobs) parts[1].logprobs = logprobs;
  return [...parts, { index, delta: {}, finish_reason, logprobs: null }];
}

function deltasOf({
  role,
  content,
  refusal,
  annotations,
  audio,
  function_call: call,
  tool_calls: calls = [],
}) {
  const deltas = [{ role, content: typeof content === 'string' ? '' : null }];
  if (typeof content === 'string')
    deltas.push(...halves(content).map((text) => ({ content: text })));
  if (refusal) deltas.push(...halves(refusal).map((text) => ({ refusal: text })));
  if (annotations) deltas.push({ annotations });
  if (audio) {
    const { id, transcript, data, expires_at } = audio;
    deltas.push({ audio: { id, transcript } }, { audio: { data } }, { audio: { expires_at } });
  }
  if (call)
    deltas.push(
      { function_call: { name: call.name, arguments: '' } },
      { function_call: { arguments: call.arguments } },
    );
  calls.forEach((one, index) => deltas.push(...callDeltas(one, index)));
  if (deltas.length < 2) deltas.push({ content: '' });
  return deltas;
}

function callDeltas(call, index) {
  const kind = call.type;
  const text = kind === 'custom' ? 'input' : 'arguments';
  const begun = { ...call, index, [kind]: { ...call[kind], [text]: '' } };
  const pieces = halves(call[kind][text]).map((piece) => ({ index, [kind]: { [text]: piece } }));
  return [begun, ...pieces].map((piece) => ({ tool_calls: [piece] }));
}

const sse = 'text/event-stream';
const asked = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Ask' }] };
const bytes = (records) => ({
  type: sse,
  bytes: serverSentEvents(records, { end: 'data: [DONE]\n\n' }),
});

function client(url) {
  return new OpenAI({ apiKey: 'test-key', baseURL: url, maxRetries: 0 });
}

function historyOf(messages) {
  const question = { role: 'user', content: 'Ask' };
  const [first] = messages;
  if (first.role === 'tool') {
    const call = {
      id: first.tool_call_id,
      type: 'function',
      function: { name: 'look', arguments: '{}' },
    };
    return [question, { role: 'assistant', content: null, tool_calls: [call] }, ...messages];
  }
  if (first.role === 'function') {
    return [
      question,
      { role: 'assistant', content: null, function_call: { name: first.name, arguments: '{}' } },
      ...messages,
    ];
  }
  const asks = first.role === 'assistant' || first.role === 'system' || first.role === 'developer';
  return asks ? [question, ...messages] : messages;
}

// Settings that stand beside tools alone, and tools of the names that a choice has.
const toolSettings = ['tool_choice', 'parallel_tool_calls'];

function toolsOf(choice) {
  if (choice?.type === 'custom') return [{ type: 'custom', custom: choice.custom }];
  const name = choice?.function?.name ?? 'look';
  return [{ type: 'function', function: { name, parameters: { type: 'object' } } }];
}

const message = splitBy({
  text: ['role', 'content', 'annotations'],
  refusal: ['role', 'refusal'],
  audio: ['role', 'audio'],
  calls: ['role', 'content', 'tool_calls'],
  function_call: ['role', 'function_call'],
});
const assistant = splitBy({
  text: ['role', 'content', 'name'],
  refusal: ['role', 'refusal'],
  audio: ['role', 'audio'],
  calls: ['role', 'content', 'tool_calls'],
  function_call: ['role', 'function_call'],
});

// The part of a message and what it holds have the same name.
function file(node) {
  const isContent = node.members.some(({ name }) => name === 'file_data');
  return isContent
    ? oneOf('file_data', 'file_id')(node)
    : [{ label: 'part', node: { ...node, name: 'part' } }];
}

export default {
  name: 'openai-chat',
  title: 'OpenAI Chat Completions',
  sdk: 'openai',
  provider: 'openai',
  model: 'gpt-4o',
  call: { apiMode: 'chatCompletion' },
  asks: { logprobs: true },
  format: 'openai',
  reads: 'openAIAdapter',
  types,
  input: 'Assistant',
  rules: {
    split: {
      ChatCompletionMessage: message,
      ChatCompletionAssistantMessageParam: assistant,
      File: file,
    },
    values: [
      [/\.arguments$/, ({ text }) => JSON.stringify({ q: text })],
      [/image_url\.url$/, ({ text }) => `https://example.com/${text}.png`],
      [
        /(input_audio\.data|file\.file_data)$/,
        ({ text }) => Buffer.from(text.repeat(3)).toString('base64'),
      ],
    ],
  },
  subjects: [
    { root: 'message', type: 'Message', place: (value) => whole([choiceOf(value)]), back: true },
    {
      root: 'choice',
      type: 'Choice',
      place: (value) => whole([{ ...value, message: said }]),
      rules: { without: [/^choice\.(message|index)$/] },
    },
    {
      root: 'choices[1].message',
      type: 'Message',
      place: (value) => whole([choiceOf(said), choiceOf(value)]),
      rules: { without: [/^choices\[1\]\.message:(?!text)/], prefer: [] },
    },
    {
      root: 'completion',
      type: 'Whole',
      place: (value) => whole([choiceOf(said)], value),
      rules: { without: [/^completion\.(choices|object|metadata)$/] },
    },
    // Chunks have none.
    {
      root: 'completion',
      type: 'Whole',
      place: (value) => whole([choiceOf(said)], value),
      rules: { without: [/^completion\.(?!metadata)/] },
      wholeOnly: true,
    },
  ],
  kinds: [
    {
      type: 'Call',
      root: 'call',
      place: (calls) => whole([choiceOf({ role: 'assistant', tool_calls: calls })]),
      history: (calls) => [
        { role: 'user', content: 'Ask' },
        { role: 'assistant', content: null, tool_calls: calls },
      ],
    },
    {
      root: 'input',
      variants: ({ Assistant, Input }) => [
        ...assistant(Assistant),
        ...variantsOf(Input).filter(({ label }) => label !== 'assistant'),
      ],
      history: (messages) => messages,
      callOf: (label) => ({ tool: 'calls', function: 'function_call' })[label],
      link: (call, result) => [
        call,
        result.role === 'tool'
          ? { ...result, tool_call_id: call.tool_calls[0].id }
          : { ...result, name: call.function_call.name },
      ],
      between: false,
    },
  ],
  events: { type: 'Event', nameOf: () => 'chunk', label: 'chunk' },
  records: recordsOf,
  bytes,
  answer: (value) => ({ type: 'application/json', bytes: Buffer.from(JSON.stringify(value)) }),
  plain: bytes(recordsOf(whole([choiceOf(said)]))),
  async readStream(url) {
    const stream = client(url).chat.completions.stream(asked);
    const events = [];
    for await (const event of stream) events.push(event);
    return { events, final: await stream.finalChatCompletion() };
  },
  readAnswer: (url) => client(url).chat.completions.create(asked),
  turn: ({ messages = [] }) => messages.filter(({ role }) => role === 'assistant'),
  history: {
    root: 'input',
    type: 'Input',
    wrap: (value) => historyOf([value]),
    turn: (request) => request,
  },
  parameters: {
    type: 'Parameters',
    without: ['model', 'messages', 'stream', 'stream_options'],
    rules: { bounded: [[/reasoning_effort$/, ['low', 'medium', 'high']]] },
    companions: (name, value) => ({
      ...(name === 'reasoning_effort' ? { model: 'gpt-5.2' } : {}),
      ...(toolSettings.includes(name) ? { tools: toolsOf(value) } : {}),
    }),
    // The API's newer name of it, and its list of one.
    pathOf: (path, value) => {
      if (path[0] === 'max_tokens') return ['max_completion_tokens'];
      return path[0] === 'stop' && typeof value === 'string' ? ['stop', 0] : path;
    },
  },
  headers: ['x-request-id', 'openai-processing-ms', 'openai-version', 'openai-organization'].concat(
    ['limit', 'remaining', 'reset'].flatMap((name) =>
      ['requests', 'tokens'].map((of) => `x-ratelimit-${name}-${of}`),
    ),
  ),
  // Requests have no annotations, and of the audio its id alone. The records of a stream here are made of known members.
  further: { without: [/\.(annotations|audio)\b/, /^stream message:(\.function_call)?$/] },
  // A list of a refusal that refuses nothing is no message.
  structural: [/\.(id|name|schema)$/, /list\[\]:refusal\.refusal$/],
  carriers: [
    [/\.system_fingerprint$/, /^report\.response\.fingerprint$/],
    [/message:(text|calls)\.content$/, /^TEXT_MESSAGE_CONTENT\.delta$/],
    [/:refusal\.refusal$/, /^TEXT_MESSAGE_CONTENT\.delta$/],
    [/audio\.transcript$/, /^TEXT_MESSAGE_CONTENT\.delta$/],
    [/tool_calls\[\]:\w+\.id$/, /^TOOL_CALL_START\.toolCallId$/],
    [/\.name$/, /^TOOL_CALL_START\.toolCallName$/],
    [/\.(arguments|input)$/, /^TOOL_CALL_ARGS\.delta/],
    [/audio\.(id|data)$/, /^millrace\.provider_state\(audio(_data)?\)\.value\.state/],
    [/annotations\[\]/, /^millrace\.citation\.value\.citation/],
    [/^completion\.id$/, /^TEXT_MESSAGE_START\.messageId$/],
    [
      /^completion\.usage\./,
      /^(RUN_FINISHED\.usage|millrace\.usage\.value|report\.(usage|attempts\[\]\.usage))/,
    ],
  ],
};
