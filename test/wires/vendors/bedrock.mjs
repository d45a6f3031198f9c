// Amazon Bedrock Converse and ConverseStream: the blocks of an answer, the response around them, those of a request.
import {
  BedrockRuntimeClient,
  ConverseCommand,
  ConverseStreamCommand,
} from '@aws-sdk/client-bedrock-runtime';
import { NodeHttpHandler } from '@smithy/node-http-handler';

import { awsMessage } from '../frame/event-stream.mjs';
import { variantsOf } from '../frame/model.mjs';
import { halves } from '../frame/pieces.mjs';

const types = `
import type * as B from '@aws-sdk/client-bedrock-runtime';
export type Block = B.ContentBlock;
export type Whole = B.ConverseResponse;
export type System = B.SystemContentBlock;
export type Parameters = B.ConverseRequest;
`;

const said = { text: 'Said.' };

function whole(content, more = {}) {
  return {
    output: { message: { role: 'assistant', content } },
    stopReason: content.some(({ toolUse }) => toolUse && toolUse.type === undefined)
      ? 'tool_use'
      : 'end_turn',
    usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 },
    metrics: { latencyMs: 5 },
    ...more,
  };
}

// The stream's records: { kind of event: its members }.
function recordsOf({ output, stopReason, additionalModelResponseFields, ...metadata }) {
  const stop = {
    stopReason,
    ...(additionalModelResponseFields ? { additionalModelResponseFields } : {}),
  };
  return [
    { messageStart: { role: 'assistant' } },
    ...output.message.content.flatMap(blockRecords),
    { messageStop: stop },
    { metadata },
  ];
}

function blockRecords(block, contentBlockIndex) {
  const { start, deltas } = grown(block);
  return [
    ...(start ? [{ contentBlockStart: { start, contentBlockIndex } }] : []),
    ...deltas.map((delta) => ({ contentBlockDelta: { delta, contentBlockIndex } })),
    { contentBlockStop: { contentBlockIndex } },
  ];
}

function grown({
  text,
  reasoningContent: thought,
  toolUse,
  toolResult,
  image,
  citationsContent: cited,
}) {
  if (text !== undefined) return { deltas: halves(text).map((piece) => ({ text: piece })) };
  if (thought)
    return { deltas: thoughtDeltas(thought).map((reasoningContent) => ({ reasoningContent })) };
  if (toolUse) {
    const { input, ...start } = toolUse;
    return {
      start: { toolUse: start },
      deltas: halves(JSON.stringify(input)).map((piece) => ({ toolUse: { input: piece } })),
    };
  }
  if (toolResult) {
    const { content, ...start } = toolResult;
    return { start: { toolResult: start }, deltas: [{ toolResult: content }] };
  }
  if (image) {
    const { format, ...rest } = image;
    return { start: { image: { format } }, deltas: [{ image: rest }] };
  }
  const texts = cited.content.map((one) => ({ text: one.text }));
  return { deltas: [...texts, ...cited.citations.map((citation) => ({ citation }))] };
}

function thoughtDeltas({ reasoningText: said, redactedContent }) {
  if (redactedContent) return [{ redactedContent }];
  const deltas = halves(said.text).map((text) => ({ text }));
  return said.signature === undefined ? deltas : [...deltas, { signature: said.signature }];
}

// A block with what it needs beside it: a call or a result of a tool that ran at Amazon, words behind a thought.
function inTurn(block) {
  const { reasoningContent, toolUse, toolResult } = block;
  if (reasoningContent) return [block, said];
  if (toolUse?.type)
    return [block, { toolResult: { toolUseId: toolUse.toolUseId, content: [{ text: 'seen' }] } }];
  if (!toolResult) return [block];
  const { toolUseId } = toolResult;
  return [{ toolUse: { toolUseId, name: 'look', input: {}, type: 'server_tool_use' } }, block];
}

const type = 'application/vnd.amazon.eventstream';
const bytes = (records) => ({
  type,
  bytes: Buffer.concat(
    records.flatMap((record) =>
      Object.entries(record).map(([name, value]) => awsMessage('event', name, value)),
    ),
  ),
});
const asked = { modelId: 'test-model', messages: [{ role: 'user', content: [{ text: 'Ask' }] }] };

function client(url) {
  const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'test-secret' };
  return new BedrockRuntimeClient({
    region: 'us-east-1',
    endpoint: url,
    credentials,
    maxAttempts: 1,
    requestHandler: new NodeHttpHandler(),
  });
}

const question = { role: 'user', content: [{ text: 'Ask' }] };
const inAnswer = ['reasoningContent', 'toolUse', 'citationsContent', 'text', 'image'];
const inStream = new RegExp(`^block:(?!(${['toolResult', ...inAnswer].join('|')})\\b)`);

function userTurn(blocks) {
  const calls = blocks.flatMap(({ toolResult }) =>
    toolResult ? [{ toolUse: { toolUseId: toolResult.toolUseId, name: 'look', input: {} } }] : [],
  );
  const asksFirst = calls.length > 0 ? [question, { role: 'assistant', content: calls }] : [];
  return { messages: [...asksFirst, { role: 'user', content: blocks }] };
}

function assistantTurn(blocks) {
  return {
    messages: [
      question,
      { role: 'assistant', content: blocks },
      { role: 'user', content: [{ text: 'Go on' }] },
    ],
  };
}

function blocksOf({ messages = [] }, side) {
  return messages.filter(({ role }) => role === side).flatMap(({ content }) => content);
}

// A call of a tool that the caller runs: it has no type.
function hostCall(node) {
  const { node: block } = variantsOf(node).find(({ label }) => label === 'toolUse');
  const [member] = block.members.filter(({ name }) => name === 'toolUse');
  const call = {
    ...member.node,
    members: member.node.members.filter(({ name }) => name !== 'type'),
  };
  return { label: 'toolUse/host', node: { ...block, members: [{ ...member, node: call }] } };
}

const base64 = ({ text }) => Buffer.from(text.repeat(3)).toString('base64');

// The API takes calls beside tools only.
const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }];

export default {
  name: 'bedrock',
  title: 'Amazon Bedrock Converse',
  sdk: '@aws-sdk/client-bedrock-runtime',
  provider: 'bedrock',
  model: 'anthropic.claude-sonnet-4-5-20250929-v1:0',
  call: {},
  settings: { apiKey: undefined, accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'test-secret' },
  format: 'bedrock_converse',
  reads: 'bedrockConverseAdapter',
  types,
  leaves: { DocumentType: 'any', __DocumentType: 'any' },
  rules: {
    values: [
      // Objects without members.
      [/\.(noTranslations|tooComplex)$/, () => ({})],
      [/toolUse\.input$/, ({ text }) => ({ q: text })],
      [/\.bytes$/, base64],
      [/\.redactedContent$/, base64],
    ],
    prefer: [[/stopReason$/, 'end_turn']],
  },
  subjects: [
    {
      root: 'block',
      type: 'Block',
      place: (value) => whole(inTurn(value)),
      back: true,
      rules: { without: [inStream] },
    },
    {
      root: 'block',
      type: 'Block',
      place: (value) => whole([value]),
      back: true,
      wholeOnly: true,
      rules: { without: [/^block:(?!(audio|video|document)\b)/] },
    },
    {
      root: 'response',
      type: 'Whole',
      place: (value) => whole([said], value),
      rules: { without: [/^response\.output$/] },
    },
  ],
  kinds: {
    type: 'Block',
    root: 'block',
    without: [
      'audio',
      'video',
      'document',
      'cachePoint',
      'guardContent',
      'searchResult',
      'toolAddition',
      'toolRemoval',
    ],
    place: (values) => whole(values),
    history: (values) => assistantTurn(values),
    variants: ({ Block }) => [...variantsOf(Block), hostCall(Block)],
    callOf: (label) => (label === 'toolResult' ? 'toolUse' : undefined),
    link: ({ toolUse }, { toolResult }) => [
      { toolUse },
      { toolResult: { ...toolResult, toolUseId: toolUse.toolUseId } },
    ],
  },
  records: recordsOf,
  bytes,
  answer: (value) => ({ type: 'application/json', bytes: Buffer.from(JSON.stringify(value)) }),
  plain: bytes(recordsOf(whole([said]))),
  async readStream(url) {
    const { stream } = await client(url).send(new ConverseStreamCommand(asked));
    const events = [];
    for await (const event of stream) events.push(event);
    return events;
  },
  readAnswer: (url) => client(url).send(new ConverseCommand(asked)),
  next: { members: { tools } },
  turn: (request) => blocksOf(request, 'assistant'),
  history: [
    {
      root: 'assistant block',
      type: 'Block',
      wrap: (value) => assistantTurn(inTurn(value)),
      turn: (request) => blocksOf(request, 'assistant'),
      rules: {
        without: [
          /^assistant block:(searchResult|document|video|audio|guardContent|toolAddition|toolRemoval)/,
        ],
      },
    },
    {
      root: 'user block',
      type: 'Block',
      wrap: (value) => userTurn([value]),
      turn: (request) => blocksOf(request, 'user'),
      rules: { without: [/^user block:(reasoningContent|citationsContent|toolUse)/] },
    },
  ],
  parameters: { type: 'Parameters', without: ['modelId', 'messages', 'system'] },
  // A result without a status is one of success.
  defaults: [[/toolResult\.status$/, 'success']],
  headers: [
    'x-amzn-requestid',
    'x-amzn-bedrock-cache-read-input-token-count',
    'x-amzn-bedrock-invocation-latency',
  ],
  structural: [
    /\.(toolUseId|name|type|format)$/,
    /block:text\.text$/,
    /citationsContent\.content\[\]\.text$/,
  ],
  carriers: [
    [/block:text\.text$/, /^TEXT_MESSAGE_CONTENT\.delta$/],
    [/citationsContent\.content\[\]:?\w*\.text$/, /^TEXT_MESSAGE_CONTENT\.delta$/],
    [/reasoningText\.text$/, /^REASONING_MESSAGE_CONTENT\.delta$/],
    [/toolUse\.toolUseId$/, /^TOOL_CALL_START\.toolCallId$/],
    [/toolUse\.name$/, /^TOOL_CALL_START\.toolCallName$/],
    [/toolUse\.input/, /^TOOL_CALL_ARGS\.delta/],
    [/toolResult\.toolUseId$/, /^TOOL_CALL_RESULT\.toolCallId$/],
    [/toolResult\.content/, /^TOOL_CALL_RESULT\.content/],
    [/citations\[\]\./, /^millrace\.citation\.value\.citation/],
    [
      /^response\.usage\./,
      /^(RUN_FINISHED\.usage|millrace\.usage\.value|report\.(usage|attempts\[\]\.usage))/,
    ],
  ],
};
