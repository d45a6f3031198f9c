// Made-up answers in the bytes of each wire: the same seed gives the same bytes. They imitate what providers
// send today: the size of a record, its members and the share of records that carry text.
import { TextEncoder } from 'node:util';

// Small, seedable and good enough to mix words: mulberry32.
export function randomFrom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const words = (
  ' the of and a to in is that it for on with as are this be by model stream event answer when each' +
  ' tool call function result value number string object array first second because between through' +
  ' server client request response token latency buffer thread memory engine provider message'
)
  .trim()
  .split(' ')
  .map((word) => ` ${word}`);
const marks = [
  ',',
  '.',
  '.\n\n',
  ':',
  ' **',
  '**',
  '`',
  ' "',
  '"',
  '\n- ',
  ' (',
  ')',
  ' 42',
  '\\',
  '\t',
];
const wide = [' café', ' naïve', ' – ', ' 東京', ' данные', ' 👍', '…', ' größer'];
const hex = '0123456789abcdef';
const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';

class Author {
  constructor(random) {
    this.random = random;
  }
  pick(list) {
    return list[Math.floor(this.random() * list.length)];
  }
  token() {
    const dice = this.random();
    return this.pick(dice < 0.8 ? words : dice < 0.95 ? marks : wide);
  }
  code(length, alphabet = letters) {
    let text = '';
    for (let i = 0; i < length; i++) text += this.pick(alphabet);
    return text;
  }
  // The pieces of a tool call's JSON arguments, as a model streams them.
  arguments() {
    const pieces = ['{"', 'query', '":"'];
    for (let i = 0; i < 24; i++) pieces.push(this.pick(words));
    return [...pieces, '","', 'limit', '":', '10', '}'];
  }
}

// What one stream says: text, and unless it is to be plain, reasoning first in every fourth stream and tool calls
// last in every fourth.
function plan(author, deltas, index, plain) {
  const text = Array.from({ length: deltas }, () => author.token());
  const reasoning = !plain && index % 4 === 1 ? text.splice(0, Math.floor(deltas / 4)) : [];
  const calls = !plain && index % 4 === 2 ? [author.arguments(), author.arguments()] : [];
  return { text, reasoning, calls };
}

const sse = (record, name) =>
  `${name ? `event: ${name}\n` : ''}data: ${JSON.stringify(record)}\n\n`;

function* chatRecords(author, { text, reasoning, calls }) {
  const base = {
    id: `chatcmpl-${author.code(29)}`,
    object: 'chat.completion.chunk',
    created: 1770933892,
    model: 'example-large-2026-01-01',
    service_tier: 'default',
    system_fingerprint: `fp_${author.code(10, hex)}`,
  };
  const chunk = (delta, finish = null) => ({
    ...base,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    usage: null,
    obfuscation: author.code(1 + Math.floor(author.random() * 12)),
  });
  yield chunk({ role: 'assistant', content: '', refusal: null });
  for (const token of reasoning) yield chunk({ reasoning_content: token });
  for (const token of text) yield chunk({ content: token });
  for (const [index, pieces] of calls.entries()) {
    const start = { index, id: `call_${author.code(24)}`, type: 'function' };
    yield chunk({ tool_calls: [{ ...start, function: { name: 'search', arguments: '' } }] });
    for (const piece of pieces) {
      yield chunk({ tool_calls: [{ index, function: { arguments: piece } }] });
    }
  }
  yield chunk({}, calls.length > 0 ? 'tool_calls' : 'stop');
  const tokens = text.length + reasoning.length;
  const usage = { prompt_tokens: 120, completion_tokens: tokens, total_tokens: 120 + tokens };
  yield { ...base, choices: [], usage, obfuscation: author.code(4) };
}

function* openaiChat(author, received) {
  for (const record of chatRecords(author, received)) yield sse(record);
  yield 'data: [DONE]\n\n';
}

function* openaiChatNdjson(author, received) {
  for (const record of chatRecords(author, received)) yield `${JSON.stringify(record)}\n`;
}

function* openaiResponses(author, { text, reasoning, calls }) {
  let sequence = 0;
  let output = 0;
  const event = (type, members) => sse({ type, ...members, sequence_number: sequence++ }, type);
  const obfuscation = () => author.code(1 + Math.floor(author.random() * 14));
  const response = {
    id: `resp_${author.code(50, hex)}`,
    object: 'response',
    created_at: 1770803615,
    status: 'in_progress',
    model: 'example-large-2026-01-01',
    output: [],
  };
  yield event('response.created', { response });
  if (reasoning.length > 0) {
    const item_id = `rs_${author.code(50, hex)}`;
    const place = { item_id, output_index: output, summary_index: 0 };
    const item = { id: item_id, type: 'reasoning', summary: [] };
    yield event('response.output_item.added', { output_index: output, item });
    yield event('response.reasoning_summary_part.added', {
      ...place,
      part: { type: 'summary_text', text: '' },
    });
    for (const delta of reasoning) {
      yield event('response.reasoning_summary_text.delta', {
        ...place,
        delta,
        obfuscation: obfuscation(),
      });
    }
    yield event('response.reasoning_summary_text.done', { ...place, text: reasoning.join('') });
    yield event('response.output_item.done', { output_index: output++, item });
  }
  const item_id = `msg_${author.code(50, hex)}`;
  const place = { item_id, output_index: output, content_index: 0 };
  const item = {
    id: item_id,
    type: 'message',
    status: 'in_progress',
    content: [],
    role: 'assistant',
  };
  yield event('response.output_item.added', { output_index: output, item });
  yield event('response.content_part.added', {
    ...place,
    part: { type: 'output_text', annotations: [], logprobs: [], text: '' },
  });
  for (const delta of text) {
    yield event('response.output_text.delta', {
      ...place,
      delta,
      logprobs: [],
      obfuscation: obfuscation(),
    });
  }
  yield event('response.output_text.done', { ...place, text: text.join(''), logprobs: [] });
  const content = [{ type: 'output_text', annotations: [], logprobs: [], text: text.join('') }];
  yield event('response.output_item.done', {
    output_index: output++,
    item: { ...item, status: 'completed', content },
  });
  for (const pieces of calls) {
    const id = `fc_${author.code(50, hex)}`;
    const call = {
      id,
      type: 'function_call',
      status: 'in_progress',
      arguments: '',
      call_id: `call_${author.code(24)}`,
      name: 'search',
    };
    yield event('response.output_item.added', { output_index: output, item: call });
    for (const delta of pieces) {
      yield event('response.function_call_arguments.delta', {
        item_id: id,
        output_index: output,
        delta,
        obfuscation: obfuscation(),
      });
    }
    const whole = pieces.join('');
    yield event('response.function_call_arguments.done', {
      item_id: id,
      output_index: output,
      arguments: whole,
    });
    yield event('response.output_item.done', {
      output_index: output++,
      item: { ...call, status: 'completed', arguments: whole },
    });
  }
  const usage = { input_tokens: 120, output_tokens: text.length, total_tokens: 120 + text.length };
  yield event('response.completed', { response: { ...response, status: 'completed', usage } });
}

function* anthropic(author, { text, reasoning, calls }) {
  let index = 0;
  const event = (type, members) => sse({ type, ...members }, type);
  const usage = {
    input_tokens: 120,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 1,
  };
  const message = {
    model: 'example-4-5-20260101',
    id: `msg_${author.code(24)}`,
    type: 'message',
    role: 'assistant',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  };
  const block = function* (content_block, deltas) {
    yield event('content_block_start', { index, content_block });
    for (const delta of deltas) yield event('content_block_delta', { index, delta });
    yield event('content_block_stop', { index: index++ });
  };
  yield event('message_start', { message });
  yield event('ping', {});
  if (reasoning.length > 0) {
    const deltas = reasoning.map((thinking) => ({ type: 'thinking_delta', thinking }));
    deltas.push({ type: 'signature_delta', signature: author.code(320) });
    yield* block({ type: 'thinking', thinking: '', signature: '' }, deltas);
  }
  yield* block(
    { type: 'text', text: '' },
    text.map((token) => ({ type: 'text_delta', text: token })),
  );
  for (const pieces of calls) {
    const start = { type: 'tool_use', id: `toolu_${author.code(24)}`, name: 'search', input: {} };
    yield* block(
      start,
      pieces.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
    );
  }
  const stop_reason = calls.length > 0 ? 'tool_use' : 'end_turn';
  yield event('message_delta', {
    delta: { stop_reason, stop_sequence: null },
    usage: { output_tokens: text.length },
  });
  yield event('message_stop', {});
}

function* langgraph(author, { text, reasoning, calls }) {
  const id = `run--${author.code(8, hex)}-${author.code(4, hex)}-${author.code(12, hex)}`;
  const metadata = {
    langgraph_step: 1,
    langgraph_node: 'agent',
    langgraph_triggers: ['branch:to:agent'],
    langgraph_path: ['__pregel_pull', 'agent'],
    langgraph_checkpoint_ns: `agent:${author.code(32, hex)}`,
    thread_id: author.code(32, hex),
    run_id: author.code(32, hex),
    ls_provider: 'example',
    ls_model_name: 'example-large',
    ls_model_type: 'chat',
  };
  const chunk = (content, tool_call_chunks = []) => {
    const message = {
      content,
      additional_kwargs: {},
      response_metadata: {},
      type: 'AIMessageChunk',
      name: null,
      id,
      example: false,
      tool_calls: [],
      invalid_tool_calls: [],
      usage_metadata: null,
      tool_call_chunks,
    };
    return sse([message, metadata], 'messages');
  };
  yield sse({ run_id: metadata.run_id, attempt: 1 }, 'metadata');
  for (const token of [...reasoning, ...text]) yield chunk(token);
  for (const [index, pieces] of calls.entries()) {
    const start = {
      name: 'search',
      args: '',
      id: `call_${author.code(24)}`,
      index,
      type: 'tool_call_chunk',
    };
    yield chunk('', [start]);
    for (const args of pieces) yield chunk('', [{ ...start, name: null, id: null, args }]);
  }
  yield sse(null, 'end');
}

function* agUi(author, { text, reasoning, calls }) {
  const ids = { threadId: author.code(24), runId: author.code(24) };
  const messageId = `msg_${author.code(24)}`;
  const event = (type, members) => sse({ type, ...members });
  yield event('RUN_STARTED', ids);
  if (reasoning.length > 0) {
    const thought = { messageId: `rs_${author.code(24)}` };
    yield event('REASONING_START', thought);
    yield event('REASONING_MESSAGE_START', { ...thought, role: 'reasoning' });
    for (const delta of reasoning) yield event('REASONING_MESSAGE_CONTENT', { ...thought, delta });
    yield event('REASONING_MESSAGE_END', thought);
    yield event('REASONING_END', thought);
  }
  yield event('TEXT_MESSAGE_START', { messageId, role: 'assistant' });
  for (const delta of text) yield event('TEXT_MESSAGE_CONTENT', { messageId, delta });
  yield event('TEXT_MESSAGE_END', { messageId });
  for (const pieces of calls) {
    const toolCallId = `call_${author.code(24)}`;
    yield event('TOOL_CALL_START', {
      toolCallId,
      toolCallName: 'search',
      parentMessageId: messageId,
    });
    for (const delta of pieces) yield event('TOOL_CALL_ARGS', { toolCallId, delta });
    yield event('TOOL_CALL_END', { toolCallId });
  }
  yield event('RUN_FINISHED', ids);
}

const writers = {
  openai_chat: openaiChat,
  openai_chat_ndjson: openaiChatNdjson,
  openai_responses: openaiResponses,
  anthropic,
  langgraph,
  ag_ui: agUi,
};

export const wires = Object.keys(writers);

// `count` bodies of about `deltas` records each.
export function makeStreams(wire, { count = 8, deltas = 1000, plain = false, seed = 1 } = {}) {
  const encoder = new TextEncoder();
  return Array.from({ length: count }, (_, index) => {
    const author = new Author(randomFrom(seed * 1000 + index));
    return encoder.encode([...writers[wire](author, plan(author, deltas, index, plain))].join(''));
  });
}
