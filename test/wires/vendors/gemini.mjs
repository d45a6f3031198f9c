// Gemini generateContent: the parts of a candidate, the candidate, the response around it, the contents of a request.
import { GoogleGenAI } from '@google/genai';

import { splitBy } from '../frame/model.mjs';
import { serverSentEvents } from '../frame/server.mjs';

const types = `
import type * as G from '@google/genai';
export type Part = G.Part;
export type Candidate = G.Candidate;
export type Whole = G.GenerateContentResponse;
export type Config = G.GenerateContentConfig;
`;

const said = { text: 'Said.' };

function whole(candidates, more = {}) {
  return {
    candidates: candidates.map((candidate, index) => ({ index, ...candidate })),
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4, totalTokenCount: 7 },
    modelVersion: 'gemini-3-pro',
    responseId: 'r1',
    ...more,
  };
}

function candidateOf(parts, more = {}) {
  return { content: { role: 'model', parts }, finishReason: 'STOP', ...more };
}

// Texts come in two pieces, everything else whole; what ends a candidate comes with its last record.
function recordsOf({ candidates, usageMetadata, modelVersion, responseId, ...rest }) {
  const head = { modelVersion, responseId };
  const records = candidates.flatMap(({ content, index }) =>
    content.parts.flatMap(pieces).map((part) => ({
      candidates: [{ content: { role: content.role, parts: [part] }, index }],
      ...head,
    })),
  );
  const ends = candidates.map((candidate) => ({
    ...candidate,
    content: { role: 'model', parts: [] },
  }));
  return [...records, { candidates: ends, usageMetadata, ...head, ...rest }];
}

function pieces(part) {
  if (typeof part.text !== 'string' || part.text.length < 4) return [part];
  const { text, thoughtSignature, ...others } = part;
  const middle = text.length >> 1;
  const last = {
    ...others,
    text: text.slice(middle),
    ...(thoughtSignature ? { thoughtSignature } : {}),
  };
  return [{ ...(part.thought ? { thought: true } : {}), text: text.slice(0, middle) }, last];
}

// A part with what it needs beside it: the code of a result, the words that a thought led to.
function inTurn(part) {
  if (part.thought) return [part, said];
  if (!part.codeExecutionResult) return [part];
  const { id } = part.codeExecutionResult;
  return [{ executableCode: { id, code: '1', language: 'PYTHON' } }, part];
}

const sse = 'text/event-stream';
const asked = { model: 'gemini-3-pro', contents: 'Ask', config: { automaticContinuation: false } };
const bytes = (records) => ({ type: sse, bytes: serverSentEvents(records) });

function client(url) {
  return new GoogleGenAI({ apiKey: 'test-key', httpOptions: { baseUrl: url } });
}

const common = ['thoughtSignature', 'partMetadata'];
const media = ['mediaResolution', 'videoMetadata', 'mediaProcessing'];
const parts = splitBy({
  text: ['text', 'speechMetadata', ...common],
  thought: ['text', 'thought', ...common],
  inlineData: ['inlineData', ...media, ...common],
  fileData: ['fileData', ...media, ...common],
  functionCall: ['functionCall', ...common],
  functionResponse: ['functionResponse', ...common],
  executableCode: ['executableCode', ...common],
  codeExecutionResult: ['codeExecutionResult', ...common],
  toolCall: ['toolCall', ...common],
  toolResponse: ['toolResponse', ...common],
  audioTranscription: ['audioTranscription', ...common],
});

function userContents(part) {
  const question = { role: 'user', parts: [{ text: 'Ask' }] };
  if (!part.functionResponse) return { contents: [{ role: 'user', parts: [part] }] };
  const { id, name } = part.functionResponse;
  const call = { role: 'model', parts: [{ functionCall: { id, name, args: {} } }] };
  return { contents: [question, call, { role: 'user', parts: [part] }] };
}

function modelContents(list) {
  return {
    contents: [
      { role: 'user', parts: [{ text: 'Ask' }] },
      { role: 'model', parts: list },
      { role: 'user', parts: [{ text: 'Go on' }] },
    ],
  };
}

const calls = {
  functionResponse: 'functionCall',
  codeExecutionResult: 'executableCode',
  toolResponse: 'toolCall',
};

// A call and its result with one id.
function linked(call, result) {
  const [name] = Object.keys(result).filter((member) => member in calls);
  const { id, name: tool } = call[calls[name]];
  const named = name === 'functionResponse' ? { name: tool } : {};
  return [call, { ...result, [name]: { ...result[name], id, ...named } }];
}

// The contents of parts, each on its side.
function contentsOf(list) {
  const contents = [{ role: 'user', parts: [{ text: 'Ask' }] }];
  for (const part of list) {
    const role = part.functionResponse ? 'user' : 'model';
    if (contents.at(-1).role === role) contents.at(-1).parts.push(part);
    else contents.push({ role, parts: [part] });
  }
  return { contents };
}

function partsOf({ contents = [] }, side) {
  return contents.filter(({ role }) => role === side).flatMap(({ parts: list }) => list ?? []);
}

// What stands beside the contents; everything else is a member of generationConfig.
const beside = new Set([
  'systemInstruction',
  'tools',
  'toolConfig',
  'safetySettings',
  'cachedContent',
  'labels',
]);
for (const name of [
  'serviceTier',
  'store',
  'modelArmorConfig',
  'continuationToken',
  'generationOutputConfig',
])
  beside.add(name);
const ofSdk = ['httpOptions', 'abortSignal', 'automaticFunctionCalling', 'automaticContinuation'];

export default {
  name: 'gemini',
  title: 'Gemini generateContent',
  sdk: '@google/genai',
  provider: 'google',
  model: 'gemini-3-pro-preview',
  asks: { logprobs: true },
  call: {},
  format: 'gemini',
  reads: 'geminiAdapter',
  types,
  leaves: { Schema: 'any', HttpResponse: 'any' },
  input: 'Part',
  rules: {
    split: { Part: parts },
    // The Gemini API's own name; Vertex AI's is the SDK's.
    rename: (name, type) => (type === 'CitationMetadata' ? 'citationSources' : name),
    values: [
      [/\.thought$/, () => true],
      [/\.thoughtSignature$/, ({ text }) => Buffer.from(text.repeat(3)).toString('base64')],
      [/(inlineData|imageBytes|videoBytes)(\.data)?$/, () => undefined],
      [/\.data$/, ({ text }) => Buffer.from(text.repeat(3)).toString('base64')],
      [/\.mimeType$/, ({ text }) => `image/${text}`],
      [/\.(fileUri|uri|url)$/i, ({ text }) => `https://example.com/${text}`],
    ],
    prefer: [
      [/finishReason$/, 'STOP'],
      [/\.outcome$/, 'OUTCOME_OK'],
      [/\.language$/, 'PYTHON'],
    ],
  },
  subjects: [
    {
      root: 'part',
      type: 'Part',
      place: (value) => whole([candidateOf(inTurn(value))]),
      back: true,
      rules: { without: [/^part:functionResponse$/] },
    },
    {
      root: 'candidate',
      type: 'Candidate',
      // Its reason to finish is absent where the instance has none.
      place: (value) => whole([{ content: { role: 'model', parts: [said] }, ...value }]),
      rules: { without: [/^candidate\.(content|index)$/] },
    },
    {
      root: 'candidates[1].part',
      type: 'Part',
      place: (value) => whole([candidateOf([said]), candidateOf([value])]),
      rules: { without: [/^candidates\[1\]\.part:(?!text)/] },
    },
    {
      root: 'response',
      type: 'Whole',
      place: (value) => whole([candidateOf([said])], value),
      rules: {
        without: [/^response\.(candidates|sdkHttpResponse|automaticFunctionCallingHistory)$/],
      },
    },
  ],
  kinds: [
    {
      root: 'part',
      variants: ({ Part }) => parts(Part),
      without: ['functionResponse'],
      place: (values) => whole([candidateOf(values)]),
      history: modelContents,
      callOf: (label) => calls[label],
      link: linked,
    },
    {
      root: 'input part',
      variants: ({ Part }) => parts(Part),
      history: contentsOf,
      callOf: (label) => calls[label],
      link: linked,
      between: false,
    },
  ],
  records: recordsOf,
  bytes,
  answer: (value) => ({ type: 'application/json', bytes: Buffer.from(JSON.stringify(value)) }),
  plain: bytes(recordsOf(whole([candidateOf([said])]))),
  async readStream(url) {
    const stream = await client(url).models.generateContentStream(asked);
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    return chunks;
  },
  readAnswer: (url) => client(url).models.generateContent(asked),
  turn: (request) => partsOf(request, 'model'),
  history: [
    {
      root: 'model part',
      type: 'Part',
      wrap: (value) => modelContents([value]),
      turn: (request) => partsOf(request, 'model'),
      rules: { without: [/:functionResponse$/] },
    },
    {
      root: 'user part',
      type: 'Part',
      wrap: userContents,
      turn: (request) => partsOf(request, 'user'),
      rules: {
        without: [
          /:(thought|functionCall|executableCode|codeExecutionResult|toolCall|toolResponse)$/,
        ],
      },
    },
  ],
  parameters: {
    type: 'Config',
    without: ofSdk,
    // A tool with methods, which the SDK calls itself.
    rules: { without: [/\.tools\[\]:any$/] },
    place: (members) =>
      beside.has(Object.keys(members)[0]) ? members : { generationConfig: members },
    pathOf: ([name, ...path]) =>
      beside.has(name) ? [name, ...path] : ['generationConfig', name, ...path],
  },
  headers: ['x-goog-request-id', 'x-cloud-trace-context'],
  further: {},
  structural: [
    /\.(id|name|mimeType|fileUri|data)$/,
    /part:(text|thought)\.text$/,
    /functionCall\.args$/,
  ],
  carriers: [
    [/^response\.modelVersion$/, /^report\.response\.model$/],
    [/part:text\.text$/, /^TEXT_MESSAGE_CONTENT\.delta$/],
    [/part:thought\.text$/, /^REASONING_MESSAGE_CONTENT\.delta$/],
    [
      /\.thoughtSignature$/,
      /^REASONING_ENCRYPTED_VALUE\.encryptedValue\{\}\.google\.thought_signature$/,
    ],
    [/functionCall\.id$/, /^TOOL_CALL_START\.toolCallId$/],
    [/functionCall\.name$/, /^TOOL_CALL_START\.toolCallName$/],
    [/functionCall\.args/, /^TOOL_CALL_ARGS\.delta/],
    [/executableCode\.code$/, /^TOOL_CALL_ARGS\.delta/],
    [/codeExecutionResult\.output$/, /^TOOL_CALL_RESULT\.content/],
    [/^response\.responseId$/, /^TEXT_MESSAGE_START\.messageId$/],
    [
      /^response\.usageMetadata\./,
      /^(RUN_FINISHED\.usage|millrace\.usage\.value|report\.(usage|attempts\[\]\.usage))/,
    ],
  ],
};
