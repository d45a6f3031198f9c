// A conversation with every kind of part goes through three vendors and back: each gets its own parts as it sent them,
// the words of the others, and a note of what it does not read.
import { isDeepStrictEqual } from 'node:util';

import { createModelRuntime, foldEvents } from 'millrace';
import type { Message } from 'millrace';

import { all } from '../support/responses';
import {
  brandNew,
  claude,
  claudeBlocks,
  gemini,
  geminiParts,
  gpt,
  openaiItems,
  png,
} from '../support/three-vendors';
import type { Json } from '../support/three-vendors';

const photo = 'R0lGODlhAQA=';
const pdf = 'JVBERi0xLjQ=';

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

// What each vendor's turn says in words or shows to the others, in this order.
const words: Record<Vendor, string[]> = {
  anthropic: [
    ...['Claude looks it up.', 'web_search ran', 'query', 'rain', 'https://rain.example'],
    ...['web_fetch ran', 'https://fetch.example', 'fetched words'],
    ...['bash_code_execution ran', 'echo fifty', 'stdout'],
    ...['text_editor_code_execution ran', '/lost', 'Error: file_not_found'],
    ...['tool_search_tool_regex ran', 'loo', 'tool_name'],
    ...['ask of the server wiki ran', 'dew', 'dew is water'],
    ...['Claude found rain.', 'sky', 'saw toolu_1'],
  ],
  openai: [
    ...['web_search ran', 'snow', 'file_search ran', 'terms', 'a passage'],
    ...['code_interpreter ran', '6*7', 'forty-two', 'image_generation ran', 'a snowman'],
    ...['mcp_list_tools of the server deep ran', 'dig', 'dig of the server deep ran', 'a mammoth'],
    ...['drill of the server deep ran', 'mcp_tool_execution_error'],
    ...['shell ran', 'ls', 'shell files', 'GPT found snow.', 'No more.', 'hill', 'plain words'],
    ...['old.txt', 'saw call_1', 'saw call_2', 'saw call_3', png],
  ],
  google: [
    ...['Gemini found hail.', 'code_execution ran', '2**5', 'thirty-two', '1/0', 'by zero'],
    ...['OUTCOME_FAILED', 'GOOGLE_SEARCH_WEB ran', 'sleet', 'GOOGLE_SEARCH_WEB ran', 'two sleets'],
    ...['sea', 'saw g1'],
  ],
};
// What no other vendor is sent.
const secrets: Record<Vendor, string[]> = {
  anthropic: [
    ...['ZW5j', 'aWR4', 'Y2xhdWRl', 'cmVkYWN0ZWQ=', 'Y29tcA==', 'srvtoolu'],
    ...Object.keys(brandNew('anthropic')),
  ],
  openai: ['gAAAA', 'cntr_', 'rs_1', 'ws_1', 'mcp_1', ...Object.keys(brandNew('openai'))],
  google: ['c2ln', 'toolResponse', ...Object.keys(brandNew('google'))],
};

// The notes of a hop.
const ran = (names: string, images = 0): string =>
  `\`messages\`: Tools that another provider ran are sent as text: ${names}. It has arguments and results; ` +
  'ids, citations, names and contexts of documents stay in the history.' +
  (images > 0 ? ` Images that they made are in the next message of the user: ${images}.` : '');
const withheld = (names: string): string =>
  `\`messages\`: The API does not read what other providers made: ${names}. It stays in the history.`;
const reasoningLeftOut = (left: number): string =>
  `\`messages\`: Thoughts of earlier turns are left out: ${left}. The API takes back only what it encrypted or stored itself.`;
const ranBy = {
  anthropic:
    'web_search, web_fetch, bash_code_execution, text_editor_code_execution, tool_search_tool_regex, ask',
  openai: 'file_search, code_interpreter, image_generation, mcp_list_tools, dig, drill, shell',
  google: 'code_execution, GOOGLE_SEARCH_WEB',
};
const kinds = {
  anthropic: 'members reasoning compaction content_block cited_text container tool_use',
  openai_responses: 'members reasoning content response compaction item',
  google: 'reasoning members part',
};
// What a vendor made; `except` has a note of its own, or goes along.
const made = (vendor: keyof typeof kinds, except = ''): string =>
  kinds[vendor]
    .split(' ')
    .filter((kind) => kind !== except)
    .map((kind) => `${vendor} ${kind}`)
    .join(', ');

const citationsLeftOut =
  '`messages`: Citations of earlier answers are left out: the API has no place for them. They stay in the history.';
const hops: { vendor: Vendor; notes: string[] }[] = [
  { vendor: 'anthropic', notes: [] },
  {
    vendor: 'openai',
    notes: [ran(ranBy.anthropic), withheld(made('anthropic', 'reasoning')), reasoningLeftOut(1)],
  },
  {
    vendor: 'google',
    notes: [
      ran(`${ranBy.anthropic}, ${ranBy.openai}`, 1),
      citationsLeftOut,
      withheld(`${made('anthropic')}, ${made('openai_responses')}`),
    ],
  },
  {
    vendor: 'anthropic',
    notes: [
      ran(`web_search, ${ranBy.openai}, ${ranBy.google}`, 1),
      citationsLeftOut,
      withheld(`${made('openai_responses')}, ${made('google')}`),
    ],
  },
  {
    vendor: 'openai',
    notes: [
      ran(`${ranBy.anthropic}, ${ranBy.google}`),
      withheld(`${made('anthropic', 'reasoning')}, ${made('google', 'reasoning')}`),
      reasoningLeftOut(3),
    ],
  },
  {
    vendor: 'google',
    notes: [
      ran(`${ranBy.anthropic}, ${ranBy.openai}`, 2),
      citationsLeftOut,
      withheld(`${made('anthropic')}, ${made('openai_responses')}`),
    ],
  },
];

// What the text has not of the words in this order.
function missing(text: string, wanted: string[]): string[] {
  let at = 0;
  return wanted.filter((word) => {
    const found = text.indexOf(word, at);
    if (found >= 0) at = found + word.length;
    return found < 0;
  });
}

it('gives each vendor its own parts as they were, the words of the others in their order, and names the rest', async () => {
  ask([
    { type: 'text', text: 'What falls?' },
    { type: 'image', source: { type: 'data', value: photo, mimeType: 'image/gif' } },
    { type: 'document', source: { type: 'data', value: pdf, mimeType: 'application/pdf' } },
  ]);
  const seen: Vendor[] = [];
  for (const { vendor, notes: expected } of hops) {
    const hop = `${seen.length}: ${vendor}`;
    const { body, text, notes } = await turn(vendor);
    ask('And else?');
    expect({ hop, notes }).toEqual({ hop, notes: expected });
    const others = seen.filter((earlier) => earlier !== vendor);
    const lost = missing(text, [
      photo,
      pdf,
      ...seen.flatMap((one) => (one === vendor ? [] : words[one])),
    ]);
    expect({ hop, lost }).toEqual({ hop, lost: [] });
    const leaked = others.flatMap((one) => secrets[one]).filter((word) => text.includes(word));
    expect({ hop, leaked }).toEqual({ hop, leaked: [] });
    const { own, parts } = vendors[vendor];
    const sent = parts(body).filter((part) => own.some((one) => isDeepStrictEqual(one, part)));
    expect({ hop, sent }).toEqual({ hop, sent: seen.includes(vendor) ? own : [] });
    seen.push(vendor);
  }
  expect(messages.filter(({ role }) => role === 'user')).toHaveLength(1 + hops.length);
});
