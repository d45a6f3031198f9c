// Anthropic Messages with its betas: the blocks of an answer, the message around them, the blocks of a request.
import Anthropic from '@anthropic-ai/sdk';

import { halves } from '../frame/pieces.mjs';
import { serverSentEvents } from '../frame/server.mjs';

const types = `
import type * as B from '@anthropic-ai/sdk/resources/beta/messages/messages';
export type Block = B.BetaContentBlock;
export type Input = B.BetaContentBlockParam;
export type System = B.BetaSystemMessageParam;
export type Whole = B.BetaMessage;
export type Event = B.BetaRawMessageStreamEvent;
export type Parameters = B.MessageCreateParamsNonStreaming;
`;

const said = { type: 'text', text: 'Said.', citations: null };
const usage = {
  input_tokens: 3,
  output_tokens: 4,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
};

function whole(content, more = {}) {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5',
    content,
    stop_reason: content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage,
    ...more,
  };
}

// The members of a message that come with its end.
const late = ['stop_reason', 'stop_sequence', 'stop_details', 'container'];

function recordsOf(message) {
  const begun = {
    ...message,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...message.usage, output_tokens: 1 },
  };
  for (const name of ['stop_details', 'container', 'context_management', 'input_transformations'])
    delete begun[name];
  const records = [{ type: 'message_start', message: begun }, { type: 'ping' }];
  message.content.forEach((block, index) => records.push(...blockRecords(block, index)));
  const delta = Object.fromEntries(
    late.filter((name) => name in message).map((name) => [name, message[name]]),
  );
  const end = { type: 'message_delta', delta, usage: deltaUsage(message.usage) };
  for (const name of ['context_management', 'input_transformations']) {
    if (name in message) end[name] = message[name];
  }
  return [...records, end, { type: 'message_stop' }];
}

const inDelta = [
  'input_tokens',
  'output_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
].concat(['server_tool_use', 'iterations', 'fallback_credit', 'output_tokens_details']);

function deltaUsage(all) {
  return Object.fromEntries(inDelta.filter((name) => name in all).map((name) => [name, all[name]]));
}

function blockRecords(block, index) {
  const [begun, deltas] = grown(block);
  return [
    { type: 'content_block_start', index, content_block: begun },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
}

// How a block begins and what its deltas add.
function grown(block) {
  if (block.type === 'text') {
    const cited = (block.citations ?? []).map((citation) => ({
      type: 'citations_delta',
      citation,
    }));
    return [
      { ...block, text: '', citations: block.citations && [] },
      [...halves(block.text).map((text) => ({ type: 'text_delta', text })), ...cited],
    ];
  }
  if (block.type === 'thinking') {
    const deltas = halves(block.thinking).map((thinking) => ({ type: 'thinking_delta', thinking }));
    const { signature } = block;
    return [
      { ...block, thinking: '', signature: '' },
      [...deltas, { type: 'signature_delta', signature }],
    ];
  }
  if (['tool_use', 'server_tool_use', 'mcp_tool_use'].includes(block.type)) {
    const pieces = halves(JSON.stringify(block.input));
    return [
      { ...block, input: {} },
      pieces.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
    ];
  }
  if (block.type === 'compaction') {
    const { content, encrypted_content } = block;
    return [
      { ...block, content: null },
      [{ type: 'compaction_delta', content, encrypted_content }],
    ];
  }
  return [block, []];
}

const sse = 'text/event-stream';
const asked = {
  model: 'test-model',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Ask' }],
};

function client(url) {
  return new Anthropic({ apiKey: 'test-key', baseURL: url, maxRetries: 0 });
}

const inUser = new Set(['image', 'document', 'search_result', 'tool_result', 'container_upload']);
const inSystem = new Set(['tool_addition', 'tool_removal']);

// A block with what it needs beside it: a result with its call, a thought with the words that it led to.
function inTurn(block) {
  if (block.type.includes('thinking')) return [block, said];
  const [, kind] = /^(\w+)_tool_result$/.exec(block.type) ?? [];
  if (kind === undefined) return [block];
  const id = block.tool_use_id;
  if (kind === 'mcp') {
    return [{ type: 'mcp_tool_use', id, name: 'look', server_name: 'server', input: {} }, block];
  }
  const name = kind === 'tool_search' ? 'tool_search_tool_regex' : kind;
  return [{ type: 'server_tool_use', id, name, input: {} }, block];
}

// A history in which a block stands where the API takes it.
function historyOf(blocks) {
  const [first] = blocks;
  if (inSystem.has(first.type))
    return {
      messages: [user([text('Ask')]), { role: 'system', content: blocks }, user([text('Go on')])],
    };
  const calls = blocks.filter(({ type }) => type === 'tool_result');
  const called = calls.map(({ tool_use_id }) => ({
    type: 'tool_use',
    id: tool_use_id,
    name: 'look',
    input: {},
  }));
  if (called.length > 0)
    return {
      messages: [user([text('Ask')]), { role: 'assistant', content: called }, user(blocks)],
    };
  if (inUser.has(first.type)) return { messages: [user(blocks)] };
  return { messages: [user([text('Ask')]), { role: 'assistant', content: blocks }] };
}

// The messages of blocks, each on its side.
function turnsOf(blocks) {
  const turns = [user([text('Ask')])];
  for (const block of blocks) {
    const role = inUser.has(block.type) ? 'user' : 'assistant';
    if (turns.at(-1).role === role) turns.at(-1).content.push(block);
    else turns.push({ role, content: [block] });
  }
  return { messages: turns };
}

// The call of a kind of result.
function callOf(label) {
  if (label === 'tool_result') return 'tool_use';
  return label === 'mcp_tool_result' ? 'mcp_tool_use' : 'server_tool_use';
}

// A call and its result with one id; the call has the name of the tool that gives such results.
function linked(call, result) {
  const kind = result.type.replace(/_tool_result$/, '');
  const name = kind === 'tool_search' ? 'tool_search_tool_regex' : kind;
  const named = call.type === 'server_tool_use' ? { name } : {};
  return [
    { ...call, ...named },
    { ...result, tool_use_id: call.id },
  ];
}

function text(words) {
  return { type: 'text', text: words };
}

function user(content) {
  return { role: 'user', content };
}

function blocksOf({ system, messages = [] }) {
  const lists = [...messages.map(({ content }) => content), system];
  return lists.flatMap((content) =>
    typeof content === 'string' ? [text(content)] : (content ?? []),
  );
}

export default {
  name: 'anthropic',
  title: 'Anthropic Messages',
  sdk: '@anthropic-ai/sdk',
  provider: 'anthropic',
  model: 'claude-sonnet-4-5',
  call: {},
  format: 'anthropic',
  reads: 'anthropicAdapter',
  types,
  input: 'Input',
  rules: {
    // Tools are members of the parameters.
    leaves: [/tool_definition\.definition$/],
    values: [
      [/:(tool_use|server_tool_use|mcp_tool_use)\.input$/, ({ text: words }) => ({ q: words })],
      [/\.(url|source:url\.url)$/, ({ text: words }) => `https://example.com/${words}`],
      [
        /source:base64\.data$/,
        ({ text: words }) => Buffer.from(words.repeat(3)).toString('base64'),
      ],
    ],
    prefer: [[/:server_tool_use\.name$/, 'web_search']],
  },
  subjects: [
    {
      root: 'block',
      type: 'Block',
      place: (value) => whole(inTurn(value)),
      back: true,
    },
    {
      root: 'message',
      type: 'Whole',
      place: (value) => whole([said], value),
      rules: {
        without: [/^message\.(content|type|role|stop_details)$/],
        prefer: [[/^message\.stop_reason$/, 'stop_sequence']],
      },
    },
    {
      root: 'refusal',
      type: 'Whole',
      place: (value) => whole([said], { ...value, stop_reason: 'refusal' }),
      rules: { without: [/^refusal\.(?!stop_details\b)/] },
    },
  ],
  kinds: [
    {
      type: 'Block',
      root: 'block',
      place: (values) => whole(values),
      callOf: (label) => (label.endsWith('_tool_result') ? callOf(label) : undefined),
      link: linked,
    },
    {
      type: 'Input',
      root: 'input',
      without: [...inSystem],
      history: turnsOf,
      callOf: (label) => (label.endsWith('tool_result') ? callOf(label) : undefined),
      link: linked,
      // The API takes results only at the beginning of the turn behind their calls.
      between: false,
    },
  ],
  events: { type: 'Event', nameOf: ({ type }) => type },
  records: recordsOf,
  bytes: (records) => ({
    type: sse,
    bytes: serverSentEvents(records, { name: ({ type }) => type }),
  }),
  answer: (value) => ({ type: 'application/json', bytes: Buffer.from(JSON.stringify(value)) }),
  plain: {
    type: sse,
    bytes: serverSentEvents(recordsOf(whole([said])), { name: ({ type }) => type }),
  },
  async readStream(url) {
    const stream = client(url).beta.messages.stream(asked);
    const events = [];
    for await (const event of stream) events.push(event);
    return { events, final: await stream.finalMessage() };
  },
  readAnswer: (url) => client(url).beta.messages.create(asked),
  next: { resumes: true },
  turn: ({ messages = [] }) =>
    blocksOf({ messages: messages.filter(({ role }) => role !== 'user') }),
  history: {
    root: 'input',
    type: 'Input',
    wrap: (value) => historyOf(inTurn(value)),
    turn: blocksOf,
  },
  parameters: {
    type: 'Parameters',
    without: ['model', 'messages', 'stream', 'betas'],
    base: { max_tokens: 4000 },
    companions: (name, value) =>
      name === 'tool_choice'
        ? { tools: [{ name: value?.name ?? 'look', input_schema: { type: 'object' } }] }
        : {},
  },
  headers: ['request-id', 'anthropic-organization-id', 'retry-after'].concat(
    ['requests', 'tokens', 'input-tokens', 'output-tokens'].flatMap((of) =>
      ['limit', 'remaining', 'reset'].map((name) => `anthropic-ratelimit-${of}-${name}`),
    ),
  ),
  further: {},
  // What a compaction used is added.
  best: [/^message\.usage\./],
  structural: [/\.(id|tool_use_id|name|type)$/, /block:text\.text$/],
  carriers: [
    [/:text\.text$/, /^TEXT_MESSAGE_CONTENT\.delta$/],
    [/:thinking\.thinking$/, /^REASONING_MESSAGE_CONTENT\.delta$/],
    [/:thinking\.signature$/, /^REASONING_ENCRYPTED_VALUE\.encryptedValue/],
    [/:redacted_thinking\.data$/, /^REASONING_ENCRYPTED_VALUE\.encryptedValue/],
    [/tool_use\.id$/, /^TOOL_CALL_START\.toolCallId$/],
    [/tool_use\.name$/, /^TOOL_CALL_START\.toolCallName$/],
    [/tool_use\.input$/, /^TOOL_CALL_ARGS\.delta/],
    [/tool_result\.tool_use_id$/, /^TOOL_CALL_RESULT\.toolCallId$/],
    [/tool_result\.content/, /^TOOL_CALL_RESULT\.content/],
    [/^message\.id$/, /^TEXT_MESSAGE_START\.messageId$/],
    [
      /^message\.usage\./,
      /^(RUN_FINISHED\.usage|millrace\.usage\.value|report\.(usage|attempts\[\]\.usage))/,
    ],
    [/^refusal\.stop_details\.explanation$/, /^RUN_ERROR\.message$/],
  ],
};
