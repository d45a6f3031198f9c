// OpenAI Responses: items, the response around them, the events of its stream.
import OpenAI from 'openai';

import { oneOf } from '../frame/model.mjs';
import { serverSentEvents } from '../frame/server.mjs';
import { recordsOf } from './openai-responses-stream.mjs';

const types = `
import type * as R from 'openai/resources/responses/responses';
export type Item = R.ResponseOutputItem;
export type Input = R.ResponseInputItem;
export type Whole = R.Response;
export type Event = R.ResponseStreamEvent;
export type Parameters = R.ResponseCreateParamsNonStreaming;
`;

const said = {
  type: 'message',
  id: 'msg_said',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'Said.', annotations: [], logprobs: [] }],
};

function whole(output, more = {}) {
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1_700_000_000,
    status: 'completed',
    model: 'gpt-5.2',
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    parallel_tool_calls: true,
    temperature: 1,
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    output,
    usage: {
      input_tokens: 3,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 4,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 7,
    },
    ...more,
  };
}

// An output with the call that it belongs to, a thought with the words that it led to.
function withCall(item) {
  if (item.type === 'reasoning') return [item, said];
  const [, kind] = /^(\w+)_output$/.exec(item.type) ?? [];
  if (kind === undefined) return [item];
  const id = 'call_of_output';
  const { call_id = null } = item;
  const calls = {
    function_call: { name: 'look', arguments: '{}' },
    custom_tool_call: { name: 'look', input: 'in' },
    computer_call: { action: { type: 'screenshot' }, pending_safety_checks: [] },
    local_shell_call: { action: { type: 'exec', command: ['ls'], env: {} } },
    shell_call: { action: { commands: ['ls'], timeout_ms: null, max_output_length: null } },
    apply_patch_call: { operation: { type: 'delete_file', path: 'a' } },
    tool_search: { arguments: {}, execution: 'server' },
    program: { code: '1', fingerprint: 'f' },
  };
  const type = kind === 'tool_search' ? 'tool_search_call' : kind;
  return [{ type, id, call_id, status: 'completed', ...calls[kind] }, item];
}

const sse = 'text/event-stream';
const json = 'application/json';

function client(url) {
  return new OpenAI({ apiKey: 'test-key', baseURL: url, maxRetries: 0 });
}

// What the response repeats of the request that it answers.
const repeated = [
  'instructions',
  'metadata',
  'parallel_tool_calls',
  'temperature',
  'tool_choice',
  'tools',
  'top_p',
]
  .concat([
    'background',
    'max_output_tokens',
    'max_tool_calls',
    'previous_response_id',
    'prompt',
    'text',
    'user',
  ])
  .concat([
    'prompt_cache_key',
    'prompt_cache_options',
    'prompt_cache_retention',
    'reasoning',
    'top_logprobs',
  ])
  .concat(['safety_identifier', 'truncation', 'access_programs', 'image']);

// Tools of the names that a choice has.
function toolsOf(choice) {
  const name = choice?.name ?? 'look';
  const tool =
    choice?.type === 'custom'
      ? { type: 'custom', name }
      : { type: 'function', name, parameters: { type: 'object' } };
  return [tool];
}

// The calls of results, and how they are linked.
const linked = {
  callOf(label) {
    if (label === 'program_output') return 'program';
    if (label === 'tool_search_output') return 'tool_search_call';
    if (label === 'mcp_approval_response') return 'mcp_approval_request';
    return /^(\w+)_output$/.exec(label)?.[1];
  },
  link(call, result) {
    if (result.type === 'mcp_approval_response')
      return [call, { ...result, approval_request_id: call.id }];
    if (result.type === 'local_shell_call_output') return [call, { ...result, id: call.call_id }];
    return [call, { ...result, call_id: call.call_id }];
  },
};

// How the API begins the ids of its items.
const ids = [
  ['message', 'msg'],
  ['reasoning', 'rs'],
  ['function_call', 'fc'],
  ['custom_tool_call', 'ctc'],
  ['function_call_output', 'fco'],
  ['custom_tool_call_output', 'ctco'],
];

export default {
  name: 'openai-responses',
  title: 'OpenAI Responses',
  sdk: 'openai',
  provider: 'openai',
  model: 'gpt-5.2',
  call: { apiMode: 'responses' },
  format: 'openai_conversation',
  reads: 'openAIResponsesAdapter',
  types,
  rules: {
    prefer: [
      [/\.status$/, 'completed'],
      [/\.role$/, 'user'],
    ],
    // Tools are members of the parameters.
    leaves: [/:(additional_tools|tool_search_output)\.tools\[\]$/],
    split: {
      ResponseComputerToolCall: oneOf('action', 'actions'),
      McpCall: oneOf('output', 'error'),
      McpListTools: oneOf('tools', 'error'),
      ResponseInputImage: oneOf('image_url', 'file_id'),
      ResponseInputImageContent: oneOf('image_url', 'file_id'),
      ResponseInputFile: oneOf('file_data', 'file_url', 'file_id'),
      ResponseInputFileContent: oneOf('file_data', 'file_url', 'file_id'),
    },
    values: [
      [/:(function_call|mcp_call)\.arguments$/, ({ text }) => JSON.stringify({ q: text })],
      [/\.image_url$/, ({ text }) => `https://example.com/${text}.png`],
      ...ids.map(([type, start]) => [
        new RegExp(`:${type}(/\\w+)?\\.id$`),
        ({ text }) => `${start}_${text}`,
      ]),
      [
        /\.file_data$/,
        ({ text }) =>
          `data:application/pdf;base64,${Buffer.from(text.repeat(3)).toString('base64')}`,
      ],
      [/\.file_url$/, ({ text }) => `https://example.com/${text}.pdf`],
      [
        /:image_generation_call\.result$/,
        ({ text }) => Buffer.from(text.repeat(3)).toString('base64'),
      ],
    ],
  },
  subjects: [
    { root: 'item', type: 'Item', place: (value) => whole(withCall(value)), back: true },
    {
      root: 'response',
      type: 'Whole',
      place: (value) => whole([said], value),
      rules: {
        without: [/^response\.(output|output_text|error|incomplete_details)$/],
        leaves: repeated.map((name) => new RegExp(`^response\\.${name}$`)),
      },
    },
    {
      root: 'failed',
      type: 'Whole',
      place: (value) => whole([said], { ...value, status: 'failed' }),
      rules: { without: [/^failed\.(?!error\b)/] },
    },
    {
      root: 'incomplete',
      type: 'Whole',
      place: (value) => whole([said], { ...value, status: 'incomplete' }),
      rules: { without: [/^incomplete\.(?!incomplete_details\b)/] },
    },
  ],
  kinds: [
    { type: 'Item', root: 'item', place: (values) => whole(values), ...linked },
    { type: 'Input', root: 'input', history: (values) => values, ...linked },
  ],
  events: {
    type: 'Event',
    nameOf: ({ type }) => type,
    scenes: [
      whole([said], { audio: { data: 'c291bmQ=', transcript: 'Said.' } }),
      whole([
        {
          type: 'mcp_call',
          id: 'mcp_1',
          name: 'look',
          arguments: '{}',
          server_label: 's',
          output: 'seen',
        },
        { type: 'mcp_list_tools', id: 'mcpl_1', server_label: 's', tools: [] },
      ]),
    ],
    without: ['error'],
  },
  records: recordsOf,
  bytes: (records) => ({
    type: sse,
    bytes: serverSentEvents(records, { name: ({ type }) => type }),
  }),
  answer: (value) => ({ type: json, bytes: Buffer.from(JSON.stringify(value)) }),
  plain: {
    type: sse,
    bytes: serverSentEvents(recordsOf(whole([said])), { name: ({ type }) => type }),
  },
  async readStream(url) {
    const stream = client(url).responses.stream({ model: 'gpt-5.2', input: 'Ask' });
    const events = [];
    for await (const event of stream) events.push(event);
    return { events, final: await stream.finalResponse() };
  },
  readAnswer: (url) => client(url).responses.create({ model: 'gpt-5.2', input: 'Ask' }),
  // What a search for tools found are tools.
  next: {
    resultOf: ({ function: { name } }, text) =>
      name === 'tool_search' ? JSON.stringify([{ ...toolsOf()[0], description: text }]) : text,
  },
  // What stands for a turn of the assistant in a request.
  turn: ({ input = [] }) =>
    (Array.isArray(input) ? input : []).filter(
      ({ role, type }) => role !== 'user' || type === 'additional_tools',
    ),
  history: { root: 'input', type: 'Input', wrap: withCall, turn: (request) => request },
  parameters: {
    type: 'Parameters',
    without: ['model', 'input', 'stream', 'stream_options'],
    // Those that the model knows.
    rules: { bounded: [[/reasoning\.effort$/, ['medium', 'low', 'high']]] },
    companions: (name, value) => ({
      // Models that think take no sampling settings.
      ...(name === 'reasoning' ? {} : { model: 'gpt-4.1' }),
      ...(['tool_choice', 'parallel_tool_calls'].includes(name) ? { tools: toolsOf(value) } : {}),
    }),
    // The API's newer name of it.
    pathOf: (path) => (path[0] === 'user' ? ['safety_identifier'] : path),
  },
  headers: ['x-request-id', 'openai-processing-ms', 'openai-version', 'openai-organization'].concat(
    ['limit', 'remaining', 'reset'].flatMap((name) =>
      ['requests', 'tokens'].map((of) => `x-ratelimit-${name}-${of}`),
    ),
  ),
  // Items of an answer that is given are complete.
  defaults: [
    [
      /^(item:(message|reasoning|function_call|function_call_output)|response)\.status$/,
      'completed',
    ],
  ],
  further: {},
  structural: [
    /\.(file_url|file_data|image_url)$/,
    /item:reasoning\.summary\[\]\.text$/,
    // A message without words shows nothing, not even its id.
    /(item|input):message\.content\[\]:(output_text\.text|refusal\.refusal)$/,
  ],
  carriers: [
    [/^response\.created_at$/, /^report\.response\.created$/],
    [/^response\.conversation\.id$/, /^report\.response\.conversationId$/],
    [/:message\.content\[\]:output_text\.text$/, /^TEXT_MESSAGE_CONTENT\.delta$/],
    [/:message\.content\[\]:refusal\.refusal$/, /^TEXT_MESSAGE_CONTENT\.delta$/],
    [/:message\.id$/, /^TEXT_MESSAGE_START\.messageId$/],
    [/:reasoning\.(summary|content)\[\]\.text$/, /^REASONING_MESSAGE_CONTENT\.delta$/],
    [/:reasoning\.id$/, /^REASONING_(MESSAGE_)?START\.messageId$/],
    [/:reasoning\.encrypted_content$/, /^REASONING_ENCRYPTED_VALUE\.encryptedValue$/],
    [/_call\.(call_id|id)$/, /^TOOL_CALL_START\.toolCallId$/],
    [/_call(:\w+)?\.name$/, /^TOOL_CALL_START\.toolCallName$/],
    [/_call(:\w+)?\.(arguments|input|code)$/, /^TOOL_CALL_ARGS\.delta/],
    [/_output\.call_id$/, /^TOOL_CALL_RESULT\.toolCallId$/],
    [/(_call|_output)(:\w+)?\.output/, /^TOOL_CALL_RESULT\.content/],
    [/tool_search_output\.tools/, /^TOOL_CALL_RESULT\.content/],
    [/_output\.id$/, /^TOOL_CALL_RESULT\.messageId$/],
    [/_call\.error/, /^TOOL_CALL_RESULT\.error$/],
    [/_call:error\.error:\w+\.message$/, /^TOOL_CALL_RESULT\.error$/],
    [/local_shell_call\.action/, /^TOOL_CALL_ARGS\.delta/],
    [/\.error\.(code|message)$/, /^RUN_ERROR\./],
    [/^response\.id$/, /^millrace\.provider_state\(response\)/],
    [
      /^response\.usage\./,
      /^(RUN_FINISHED\.usage|millrace\.usage\.value|report\.(usage|attempts\[\]\.usage))/,
    ],
  ],
};
