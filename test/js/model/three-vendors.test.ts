// A conversation with every kind of part goes through three vendors and back: each gets its own parts as it sent them,
// the words of the others, and a note of what it does not read.
import { isDeepStrictEqual } from 'node:util';

import { createModelRuntime, foldEvents } from 'millrace';
import type { Message } from 'millrace';

import { all, sse } from '../support/responses';

type Json = Record<string, unknown>;

const usage = { input_tokens: 1, output_tokens: 1 };
const png = 'iVBORw0KGgo=';
const photo = 'R0lGODlhAQA=';
const pdf = 'JVBERi0xLjQ=';

// Members that no types of the vendor list.
const brandNew = (vendor: string): Json => ({
  [`zz_${vendor}`]: 7,
  [`zy_${vendor}`]: ['w', { a: false }],
});

// --- Anthropic: thinking, a redacted thought, a search of its own, a cited text, a call

const claudeBlocks: Json[] = [
  {
    ...{ type: 'thinking', thinking: 'Claude ponders.', signature: 'Y2xhdWRl' },
    ...brandNew('anthropic'),
  },
  { type: 'redacted_thinking', data: 'cmVkYWN0ZWQ=' },
  { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'rain' } },
  {
    type: 'web_search_tool_result',
    tool_use_id: 'srvtoolu_1',
    content: [
      {
        type: 'web_search_result',
        url: 'https://rain.example',
        title: 'Rain',
        encrypted_content: 'ZW5j',
      },
    ],
  },
  {
    type: 'text',
    text: 'Claude found rain.',
    citations: [
      {
        type: 'web_search_result_location',
        url: 'https://rain.example',
        title: 'Rain',
        encrypted_index: 'aWR4',
        cited_text: 'rain',
      },
    ],
    ...brandNew('anthropic'),
  },
  {
    ...{ type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'sky' } },
    ...brandNew('anthropic'),
  },
];

// A block as it begins, and what a stream adds to it.
const blockEvents = (block: Json, index: number): Json[] => {
  const { type, text, citations, thinking, signature, input, ...rest } = block as {
    type: string;
    text?: string;
    citations?: Json[];
    thinking?: string;
    signature?: string;
    input?: Json;
  };
  const deltas: Json[] = [];
  if (thinking) deltas.push({ type: 'thinking_delta', thinking });
  if (signature) deltas.push({ type: 'signature_delta', signature });
  for (const citation of citations ?? []) {
    deltas.push({ type: 'citations_delta', citation });
  }
  if (text) deltas.push({ type: 'text_delta', text });
  if (input) deltas.push({ type: 'input_json_delta', partial_json: JSON.stringify(input) });
  const empty = {
    ...(text && { text: '' }),
    ...(citations && { citations: [] }),
    ...(thinking && { thinking: '', signature: '' }),
    ...(input && { input: {} }),
  };
  return [
    { type: 'content_block_start', index, content_block: { type, ...rest, ...empty } },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
};
const claude = (...blocks: Json[]): string =>
  sse(
    { type: 'message_start', message: { id: 'msg_c', role: 'assistant', content: [], usage } },
    ...blocks.flatMap(blockEvents),
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage },
    { type: 'message_stop' },
  );

// --- OpenAI's Responses: reasoning, a search, code, a message with annotations and a refusal, a call of each kind

const openaiItems: Json[] = [
  {
    type: 'reasoning',
    id: 'rs_1',
    summary: [{ type: 'summary_text', text: 'GPT ponders.', ...brandNew('openai') }],
    encrypted_content: 'gAAAArs1',
    ...brandNew('openai'),
  },
  {
    type: 'web_search_call',
    id: 'ws_1',
    status: 'completed',
    action: { type: 'search', query: 'snow' },
  },
  {
    type: 'code_interpreter_call',
    id: 'ci_1',
    status: 'completed',
    code: '6*7',
    container_id: 'cntr_1',
    outputs: [{ type: 'logs', logs: 'forty-two' }],
  },
  {
    type: 'message',
    id: 'msg_o',
    role: 'assistant',
    status: 'completed',
    content: [
      {
        type: 'output_text',
        text: 'GPT found snow.',
        annotations: [
          {
            type: 'url_citation',
            url: 'https://s.example',
            title: 'S',
            start_index: 0,
            end_index: 3,
          },
        ],
        ...brandNew('openai'),
      },
      { type: 'refusal', refusal: 'No more.' },
    ],
    ...brandNew('openai'),
  },
  {
    type: 'function_call',
    id: 'fc_1',
    call_id: 'call_1',
    name: 'look',
    arguments: '{"at":"hill"}',
    ...brandNew('openai'),
  },
  { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_2', name: 'note', input: 'plain words' },
];
const gpt = (...output: Json[]): string =>
  sse(
    { type: 'response.created', response: { id: 'resp_1' } },
    ...output.flatMap((item, output_index) => [
      { type: 'response.output_item.added', output_index, item },
      { type: 'response.output_item.done', output_index, item },
    ]),
    { type: 'response.completed', response: { id: 'resp_1', status: 'completed', output } },
  );

// --- Gemini: a thought, a text and a call with signatures, code, a search, an image

const geminiParts: Json[] = [
  { text: 'Gemini found hail.', thoughtSignature: 'c2lnMQ==', ...brandNew('google') },
  { executableCode: { id: 'e1', language: 'PYTHON', code: '2**5' } },
  { codeExecutionResult: { id: 'e1', outcome: 'OUTCOME_OK', output: 'thirty-two' } },
  { toolCall: { id: 't1', toolType: 'GOOGLE_SEARCH_WEB', args: { queries: ['hail'] } } },
  { toolResponse: { id: 't1', toolType: 'GOOGLE_SEARCH_WEB', response: { hits: 1 } } },
  { inlineData: { mimeType: 'image/png', data: png } },
  { functionCall: { id: 'g1', name: 'look', args: { at: 'sea' } }, thoughtSignature: 'c2lnMg==' },
];
const gemini = (...parts: Json[]): string =>
  sse({
    responseId: 'gem_1',
    candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  });

// --- The conversation

const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }];
const vendors = {
  anthropic: {
    ...{ model: 'claude-opus-4-8', call: {}, answer: claude(...claudeBlocks) },
    parts: ({ messages }: Json) =>
      (messages as { content: Json[] }[]).flatMap(({ content }) => content),
    own: claudeBlocks,
  },
  openai: {
    ...{ model: 'gpt-5.2', call: { apiMode: 'responses' }, answer: gpt(...openaiItems) },
    parts: ({ input }: Json) => input as Json[],
    own: openaiItems,
  },
  google: {
    ...{ model: 'gemini-3-pro-preview', call: {}, answer: gemini(...geminiParts) },
    parts: ({ contents }: Json) => (contents as { parts: Json[] }[]).flatMap(({ parts }) => parts),
    own: geminiParts,
  },
};
type Vendor = keyof typeof vendors;

const messages: Message[] = [];
let count = 0;
const id = (): string => `m${(count += 1)}`;

// Sends the conversation, appends the answer with results for its open calls; gives the body and the notes.
async function turn(vendor: Vendor) {
  const { model, call, answer } = vendors[vendor];
  let body: Json = {};
  const runtime = createModelRuntime(vendor, {
    ...{ apiKey: 'k', maxRetries: 0, circuit: false, baseURL: 'https://gateway.example/v1' },
    fetch: (_url, init) => {
      body = JSON.parse(init?.body as string) as Json;
      const headers = { 'content-type': 'text/event-stream' };
      return Promise.resolve(new Response(answer, { headers }));
    },
  });
  const run = runtime.stream({ model, ...call, messages, tools, format: 'canonical' });
  const folded = foldEvents(await all(run));
  messages.push(...folded);
  const answered = new Set(folded.flatMap((one) => ('toolCallId' in one ? [one.toolCallId] : [])));
  for (const message of folded) {
    const calls = 'toolCalls' in message ? (message.toolCalls ?? []) : [];
    for (const open of calls.filter((one) => !answered.has(one.id))) {
      messages.push({ id: id(), role: 'tool', toolCallId: open.id, content: `saw ${open.id}` });
    }
  }
  return { body, text: JSON.stringify(body), notes: (await run.report).notes };
}

const ask = (content: unknown) => messages.push({ id: id(), role: 'user', content } as Message);

it('gives each vendor its own parts as they were, and the words of the others', async () => {
  ask([
    { type: 'text', text: 'What falls?' },
    { type: 'image', source: { type: 'data', value: photo, mimeType: 'image/gif' } },
    { type: 'document', source: { type: 'data', value: pdf, mimeType: 'application/pdf' } },
  ]);
  const first = await turn('anthropic');
  expect(first.notes).toEqual([]);
  const order: Vendor[] = ['openai', 'google', 'anthropic', 'openai', 'google'];
  const words: Record<Vendor, string[]> = {
    anthropic: ['Claude found rain.', 'saw toolu_1', 'sky'],
    openai: ['GPT found snow.', 'saw call_1', 'saw call_2', 'forty-two', 'plain words', 'hill'],
    google: ['Gemini found hail.', 'saw g1', 'thirty-two', 'sea'],
  };
  const seen: Vendor[] = ['anthropic'];
  for (const vendor of order) {
    ask('And else?');
    const { body, text, notes } = await turn(vendor);
    for (const earlier of seen) {
      for (const word of words[earlier]) expect(`${vendor}: ${text}`).toContain(word);
    }
    for (const other of ['anthropic', 'openai', 'google'].filter((one) => one !== vendor)) {
      for (const name of Object.keys(brandNew(other))) expect(text).not.toContain(name);
    }
    for (const medium of [photo, pdf]) expect(text).toContain(medium);
    if (seen.includes(vendor)) {
      const sent = vendors[vendor].parts(body);
      const { own } = vendors[vendor];
      expect(sent.filter((part) => own.some((one) => isDeepStrictEqual(one, part)))).toEqual(own);
    }
    // What it cannot read is named once, and stays.
    const withheld = notes.filter((note) => note.includes('what other providers made'));
    expect(withheld).toHaveLength(1);
    for (const earlier of new Set(seen)) {
      if (earlier === vendor) continue;
      expect(withheld[0]).toContain(earlier === 'openai' ? 'openai_responses' : earlier);
    }
    seen.push(vendor);
  }
});
