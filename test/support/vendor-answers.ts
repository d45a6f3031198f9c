// What each vendor's API answers: a text, a call, thoughts, an object, in pieces and whole, and a failure
// in the vendor's own words.
// Sources: the API references of the vendors (2026).
import { bytesOf, recordsOf, wholeOf } from './model-wires';
import { awsMessage } from './recordings';

/** What the model is to say. */
export interface ScriptedAnswer {
  thought?: string;
  text?: string;
  call?: { name: string; arguments: object };
}

export interface VendorAnswer {
  type: string;
  body: string | Uint8Array;
}

/** How a chat endpoint spells thoughts. */
export type ReasoningSpelling =
  'reasoning_content' | 'reasoning' | 'reasoning_details' | 'think_tags';

export interface VendorFailure {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
  /** What it means. */
  code: string;
}

const sse = 'text/event-stream';
const json = 'application/json';
const callId = 'call_1';

function chat(
  scripted: ScriptedAnswer,
  streamed: boolean,
  spelling: ReasoningSpelling,
): VendorAnswer {
  const { thought = '', text = '', call } = scripted;
  const tagged = spelling === 'think_tags' && thought !== '';
  const deltas = [...(tagged ? ['<think>', thought, '</think>'] : []), ...(text ? [text] : [])];
  const calls = call
    ? [{ id: callId, name: call.name, pieces: halves(JSON.stringify(call.arguments)) }]
    : [];
  const answer = { deltas, calls, usage: { input: 3, output: 4 } };
  const extra = thought === '' || tagged ? undefined : reasoningMember(spelling, thought);
  if (!streamed) {
    const whole = wholeOf('chat', answer) as { choices: [{ message: object }] };
    Object.assign(whole.choices[0].message, extra);
    return { type: json, body: JSON.stringify(whole) };
  }
  const records = recordsOf('chat', answer);
  if (extra) {
    const delta = { choices: [{ index: 0, delta: extra }] };
    records.splice(1, 0, { data: JSON.stringify(delta) });
  }
  return { type: sse, body: bytesOf(records) };
}

function reasoningMember(spelling: ReasoningSpelling, thought: string): object {
  if (spelling === 'reasoning_details') {
    return { reasoning_details: [{ type: 'reasoning.text', index: 0, text: thought }] };
  }
  return { [spelling]: thought };
}

function halves(text: string): string[] {
  const middle = text.length >> 1;
  return [text.slice(0, middle), text.slice(middle)];
}

function mistral(scripted: ScriptedAnswer, streamed: boolean): VendorAnswer {
  const { thought, ...rest } = scripted;
  const answer = chat(rest, streamed, 'reasoning');
  if (thought === undefined) return answer;
  const content = [{ type: 'thinking', thinking: [{ type: 'text', text: thought }] }];
  const record = JSON.stringify({ choices: [{ index: 0, delta: { content } }] });
  return { ...answer, body: `data: ${record}\n\n${String(answer.body)}` };
}

function messages(scripted: ScriptedAnswer, streamed: boolean): VendorAnswer {
  const { thought, text = '', call } = scripted;
  const calls = call
    ? [{ id: callId, name: call.name, pieces: halves(JSON.stringify(call.arguments)) }]
    : [];
  const answer = { deltas: text ? [text] : [], calls, usage: { input: 3, output: 4 } };
  if (!streamed) return { type: json, body: JSON.stringify(wholeOf('messages', answer)) };
  const records = recordsOf('messages', answer);
  if (thought === undefined) return { type: sse, body: bytesOf(records) };
  // The blocks of the answer stand behind that of the thought.
  const shifted = records.map(({ event, data }) => {
    const record = JSON.parse(data) as { index?: number };
    if (record.index !== undefined) record.index += 1;
    return { ...(event === undefined ? {} : { event }), data: JSON.stringify(record) };
  });
  const block = [
    { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: thought } },
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 's' } },
    { type: 'content_block_stop', index: 0 },
  ].map((record) => ({ event: record.type, data: JSON.stringify(record) }));
  return { type: sse, body: bytesOf([...shifted.slice(0, 1), ...block, ...shifted.slice(1)]) };
}

function responses(scripted: ScriptedAnswer, streamed: boolean): VendorAnswer {
  const { thought, text = '', call } = scripted;
  const calls = call
    ? [{ id: callId, name: call.name, pieces: halves(JSON.stringify(call.arguments)) }]
    : [];
  const answer = { deltas: text ? [text] : [], calls };
  if (!streamed) return { type: json, body: JSON.stringify(wholeOf('responses', answer)) };
  const records = recordsOf('responses', answer);
  if (thought === undefined) return { type: sse, body: bytesOf(records) };
  const place = { item_id: 'rs_1', output_index: 9, summary_index: 0 };
  const item = {
    id: 'rs_1',
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: thought }],
  };
  const events = [
    { type: 'response.output_item.added', output_index: 9, item: { ...item, summary: [] } },
    { type: 'response.reasoning_summary_text.delta', ...place, delta: thought },
    { type: 'response.reasoning_summary_text.done', ...place, text: thought },
    { type: 'response.output_item.done', output_index: 9, item },
  ].map((record) => ({ event: record.type, data: JSON.stringify(record) }));
  return { type: sse, body: bytesOf([...records.slice(0, 1), ...events, ...records.slice(1)]) };
}

function gemini({ thought, text, call }: ScriptedAnswer): VendorAnswer {
  const parts = [
    ...(thought === undefined ? [] : [{ text: thought, thought: true }]),
    ...(text === undefined ? [] : [{ text }]),
    ...(call === undefined ? [] : [{ functionCall: { name: call.name, args: call.arguments } }]),
  ];
  const records = parts.map((part) => ({
    candidates: [{ content: { role: 'model', parts: [part] } }],
  }));
  const end = { candidates: [{ content: { parts: [] }, finishReason: 'STOP' }] };
  return {
    type: sse,
    body: bytesOf([...records, end].map((one) => ({ data: JSON.stringify(one) }))),
  };
}

function ollama({ thought, text, call }: ScriptedAnswer): VendorAnswer {
  const line = (message: object, done: object): string =>
    `${JSON.stringify({ model: 'm', message: { role: 'assistant', content: '', ...message }, ...done })}\n`;
  const going = { done: false };
  const body = [
    ...(thought === undefined ? [] : [line({ thinking: thought }, going)]),
    ...(text === undefined ? [] : [line({ content: text }, going)]),
    ...(call === undefined ? [] : [line({ tool_calls: [{ function: call }] }, going)]),
    line({}, { done: true, done_reason: 'stop', prompt_eval_count: 3, eval_count: 4 }),
  ];
  return { type: 'application/x-ndjson', body: body.join('') };
}

interface TypedRecord {
  type: string;
  [member: string]: unknown;
}

function cohere({ thought, text, call }: ScriptedAnswer): VendorAnswer {
  const content = (index: number, member: object): TypedRecord[] => [
    { type: 'content-start', index, delta: { message: { content: { type: 'text', text: '' } } } },
    { type: 'content-delta', index, delta: { message: { content: member } } },
    { type: 'content-end', index },
  ];
  const [first, second] = halves(JSON.stringify(call?.arguments ?? {}));
  const events: TypedRecord[] = [
    { type: 'message-start', id: 'm', delta: { message: { role: 'assistant' } } },
    ...(thought === undefined ? [] : content(0, { thinking: thought })),
    ...(text === undefined ? [] : content(1, { text })),
    ...(call === undefined
      ? []
      : [
          {
            type: 'tool-call-start',
            index: 0,
            delta: {
              message: {
                tool_calls: {
                  id: callId,
                  type: 'function',
                  function: { name: call.name, arguments: first },
                },
              },
            },
          },
          {
            type: 'tool-call-delta',
            index: 0,
            delta: { message: { tool_calls: { function: { arguments: second } } } },
          },
          { type: 'tool-call-end', index: 0 },
        ]),
    {
      type: 'message-end',
      delta: { finish_reason: call === undefined ? 'COMPLETE' : 'TOOL_CALL' },
    },
  ];
  const records = events.map((one) => ({ event: one.type, data: JSON.stringify(one) }));
  return { type: sse, body: bytesOf(records) };
}

function bedrock({ thought, text, call }: ScriptedAnswer): VendorAnswer {
  let index = 0;
  const blocks: [string, object][] = [];
  const block = (deltas: object[], start?: object): void => {
    if (start) blocks.push(['contentBlockStart', { contentBlockIndex: index, start }]);
    for (const delta of deltas)
      blocks.push(['contentBlockDelta', { contentBlockIndex: index, delta }]);
    blocks.push(['contentBlockStop', { contentBlockIndex: index }]);
    index += 1;
  };
  if (thought !== undefined) block([{ reasoningContent: { text: thought } }]);
  if (text !== undefined) block([{ text }]);
  if (call !== undefined) {
    const pieces = halves(JSON.stringify(call.arguments));
    const start = { toolUse: { toolUseId: callId, name: call.name } };
    block(
      pieces.map((input) => ({ toolUse: { input } })),
      start,
    );
  }
  const stopReason = call === undefined ? 'end_turn' : 'tool_use';
  const events: [string, object][] = [
    ['messageStart', { role: 'assistant' }],
    ...blocks,
    ['messageStop', { stopReason }],
    ['metadata', { usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 } }],
  ];
  const body = Buffer.concat(
    events.map(([name, payload]) => awsMessage(name, JSON.stringify(payload))),
  );
  return { type: 'application/vnd.amazon.eventstream', body };
}

/** The answer of an API: `wire` is the engine's name of what it answers. */
export function vendorAnswer(
  wire: string,
  scripted: ScriptedAnswer,
  options: { streamed?: boolean; spelling?: ReasoningSpelling } = {},
): VendorAnswer {
  const { streamed = true, spelling = 'reasoning_content' } = options;
  switch (wire) {
    case 'openai_chat':
      return chat(scripted, streamed, spelling);
    case 'mistral':
      return mistral(scripted, streamed);
    case 'anthropic':
      return messages(scripted, streamed);
    case 'openai_responses':
      return responses(scripted, streamed);
    case 'gemini':
      return gemini(scripted);
    case 'ollama':
      return ollama(scripted);
    case 'cohere':
      return cohere(scripted);
    case 'bedrock_converse':
      return bedrock(scripted);
    default:
      throw new Error(`no answers for the wire ${wire}`);
  }
}

/** Vendors whose chat endpoint does not call thoughts `reasoning_content`. */
export const reasoningSpellings: Record<string, ReasoningSpelling> = {
  openrouter: 'reasoning',
  vercelaigateway: 'reasoning',
  groq: 'reasoning',
  cerebras: 'reasoning',
  togetherai: 'reasoning',
  minimax: 'reasoning_details',
  lmstudio: 'think_tags',
  perplexity: 'think_tags',
  azureai: 'think_tags',
};

const wrongKey: VendorFailure = {
  status: 401,
  body: {
    error: {
      message: 'Incorrect API key provided.',
      type: 'invalid_request_error',
      param: null,
      code: 'invalid_api_key',
    },
  },
  code: 'authentication_failed',
};

const failuresOfWires: Record<string, VendorFailure> = {
  anthropic: {
    status: 529,
    body: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    code: 'provider_overloaded',
  },
  gemini: {
    status: 400,
    body: [
      {
        error: {
          code: 400,
          message: 'API key not valid. Please pass a valid API key.',
          status: 'INVALID_ARGUMENT',
          details: [{ '@type': 'type.googleapis.com/ErrorInfo', reason: 'API_KEY_INVALID' }],
        },
      },
    ],
    code: 'authentication_failed',
  },
  ollama: {
    status: 404,
    body: { error: 'model "m" not found, try pulling it first' },
    code: 'model_not_found',
  },
  cohere: { status: 401, body: { message: 'invalid api token' }, code: 'authentication_failed' },
  mistral: {
    status: 422,
    body: { object: 'error', message: { detail: [{ msg: 'Field required' }] }, type: 'invalid' },
    code: 'provider_bad_request',
  },
  bedrock_converse: {
    status: 403,
    headers: { 'x-amzn-errortype': 'UnrecognizedClientException:http://internal.example/' },
    body: { message: 'The security token included in the request is invalid.' },
    code: 'invalid_bedrock_credentials',
  },
};

const failuresOfVendors: Record<string, VendorFailure> = {
  vertexai: {
    status: 401,
    body: [
      {
        error: {
          code: 401,
          message: 'Request had invalid authentication credentials.',
          status: 'UNAUTHENTICATED',
        },
      },
    ],
    code: 'invalid_vertex_credentials',
  },
  azure: {
    status: 404,
    body: {
      error: { code: 'DeploymentNotFound', message: 'The API deployment does not exist.' },
    },
    code: 'model_not_found',
  },
  deepseek: {
    status: 402,
    body: { error: { message: 'Insufficient Balance', type: 'unknown_error', param: null } },
    code: 'insufficient_quota',
  },
  moonshot: {
    status: 429,
    body: {
      error: { type: 'exceeded_current_quota_error', message: 'Your account is not active.' },
    },
    code: 'insufficient_quota',
  },
  zhipu: {
    status: 429,
    body: { error: { code: '1113', message: 'Pay first.' } },
    code: 'insufficient_quota',
  },
  minimax: {
    status: 200,
    body: { base_resp: { status_code: 1008, status_msg: 'insufficient balance' } },
    code: 'insufficient_quota',
  },
  siliconcloud: {
    status: 400,
    body: { code: 20012, message: 'Model does not exist. Please check it carefully.', data: null },
    code: 'model_not_found',
  },
  qwen: {
    status: 400,
    body: {
      error: { code: 'data_inspection_failed', message: 'Input may contain unsuitable content.' },
    },
    code: 'content_filtered',
  },
  xai: {
    status: 400,
    body: {
      code: 'Client specified an invalid argument',
      error: 'Incorrect API key provided: no. You can obtain one from the console.',
    },
    code: 'authentication_failed',
  },
  openrouter: {
    status: 402,
    body: { error: { code: 402, message: 'This request requires more credits.' } },
    code: 'insufficient_quota',
  },
  github: {
    status: 401,
    body: { error: { code: 'unauthorized', message: 'Bad credentials' } },
    code: 'invalid_github_token',
  },
  githubcopilot: {
    status: 400,
    body: { error: { code: 'model_not_supported', message: 'The model is not supported.' } },
    code: 'provider_bad_request',
  },
  groq: {
    status: 413,
    body: {
      error: {
        message: 'Request too large for the model',
        type: 'tokens',
        code: 'rate_limit_exceeded',
      },
    },
    code: 'rate_limited',
  },
  huggingface: {
    status: 401,
    body: { error: 'Invalid username or password.' },
    code: 'authentication_failed',
  },
  cloudflare: {
    status: 401,
    body: {
      result: null,
      success: false,
      errors: [{ code: 10000, message: 'Authentication error' }],
      messages: [],
    },
    code: 'authentication_failed',
  },
  newapi: {
    status: 503,
    body: { error: { message: 'no available channel for the model', type: 'new_api_error' } },
    code: 'no_available_channel',
  },
  vllm: {
    status: 400,
    body: {
      object: 'error',
      message: "This model's maximum context length is 10 tokens.",
      type: 'BadRequestError',
      code: 400,
    },
    code: 'context_window_exceeded',
  },
  nvidia: {
    status: 404,
    body: { status: 404, title: 'Not Found', detail: 'Function not found for account' },
    code: 'model_not_found',
  },
};

/** One failed answer as the vendor writes it. */
export function vendorFailure(provider: string, wire: string): VendorFailure {
  return failuresOfVendors[provider] ?? failuresOfWires[wire] ?? wrongKey;
}
