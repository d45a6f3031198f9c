// A model's server for the page: what it answers follows from the last words of the user.
import { createServer } from 'node:http';

const chunk = (delta, finish = null) => ({
  ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'scripted' },
  choices: [{ index: 0, delta, finish_reason: finish }],
});

/** Words that take some seconds to be written. */
export const slowText = Array.from({ length: 60 }, (_, at) => `word${at + 1}`).join(' ');

/** An answer that a test cuts. */
export const endlessText = Array.from({ length: 900 }, (_, at) => `word${at + 1}`).join(' ');

/** What must not do anything in a page. */
export const hostileText = [
  '# Hello <script>window.hacked = 1</script>',
  '<img src=x onerror="window.hacked = 2">',
  '[a link](javascript:window.hacked=3) and [another](data:text/html,<script>window.hacked=4</script>)',
  '![a picture](https://evil.example/pixel.png?seen=1)',
  '[vb]: javascript:window.hacked=5 "t"',
  '[vb] and <javascript:window.hacked=6> and [x](  java&#115;cript:window.hacked=7)',
  '<iframe srcdoc="<script>parent.hacked = 8</script>"></iframe>',
  '<style>body { display: none }</style>',
  '```html"><script>window.hacked = 9</script>',
  '</code></pre><script>window.hacked = 10</script>',
  '```',
  '<details open ontoggle="window.hacked = 11"><a href="https://ok.example/">fine</a>',
  '[fine](https://ok.example/path)',
  `${'> '.repeat(300)}deep`,
].join('\n\n');

const richText = `## A short plan

Here is **what** we do, with \`code\` and a [link](https://example.com/docs):

1. Read the numbers
2. Compare them
   - by month
   - by place
3. Write a summary

| Month | Visitors | Change |
| --- | ---: | ---: |
| May | 1,204 | +4 % |
| June | 1,377 | +14 % |

\`\`\`python
def change(before, after):
    return (after - before) / before  # a line that is long enough to be scrolled on a narrow screen
\`\`\`

> Numbers without a place are left out.`;

const noteText = JSON.stringify({ title: 'Shopping', text: 'milk, eggs' });

const rows = [
  { word: 'slow', answer: { text: slowText, pauseMs: 80 } },
  { word: 'held', answer: { text: slowText, pauseMs: 80, holdsAt: 'word30' } },
  { word: 'endless', answer: { text: endlessText, pauseMs: 80 } },
  { word: 'hostile', answer: { text: hostileText } },
  { word: 'broken', answer: { status: 400 } },
  { word: 'note', answer: { call: { name: 'save_note', arguments: noteText } } },
  {
    word: 'plan',
    answer: {
      reasoning: 'The user wants a plan.\nI begin with the numbers, and end with a summary.',
      text: richText,
    },
  },
];

function answerTo(body) {
  // What follows a call is about its result.
  if (body.messages.at(-1)?.role === 'tool') return { text: 'It is done.' };
  const user = body.messages.filter(({ role }) => role === 'user').at(-1);
  const { content } = user ?? {};
  const text = typeof content === 'string' ? content : JSON.stringify(content ?? '');
  // A title comes at any time after an answer, and a row of the page is found by the question.
  const question = /<question>\n(.*)/.exec(text);
  if (question) return { text: question[1] };
  const row = rows.find(({ word }) => text.includes(word));
  return { question: text, ...(row?.answer ?? { text: 'A short answer.' }) };
}

const pieces = (text) => text.match(/\s*\S+\s*?(?=\s|$)|\s+$/g) ?? [];
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Answers that stop in the middle until a test releases them: what a test sees there hangs on no clock. */
class Gate {
  #released = new Set();
  #waiting = new Map();

  release(question) {
    this.#released.add(question);
    for (const go of this.#waiting.get(question) ?? []) go();
    this.#waiting.delete(question);
  }

  async wait(question) {
    if (this.#released.has(question)) return;
    await new Promise((go) => {
      this.#waiting.set(question, [...(this.#waiting.get(question) ?? []), go]);
    });
  }
}

async function answer(request, response, gate) {
  const chunks = [];
  for await (const part of request) chunks.push(part);
  const given = answerTo(JSON.parse(Buffer.concat(chunks)));
  const { reasoning = '', text = '', call, status = 200, pauseMs = 2, holdsAt } = given;
  const write = (value) => response.write(`data: ${JSON.stringify(value)}\n\n`);
  if (status !== 200)
    return response.writeHead(status).end('{"error":{"message":"It is broken."}}');
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const piece of pieces(reasoning)) {
    write(chunk({ reasoning_content: piece }));
    await pause(pauseMs);
  }
  for (const piece of pieces(text)) {
    if (response.destroyed) return;
    if (piece.trim() === holdsAt) await gate.wait(given.question);
    write(chunk({ content: piece }));
    await pause(pauseMs);
  }
  if (call) {
    write(chunk({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: call }] }));
  }
  write(chunk({}, call ? 'tool_calls' : 'stop'));
  const usage = { prompt_tokens: 21, completion_tokens: 34, total_tokens: 55 };
  write({ ...chunk({}), choices: [], usage });
  response.end('data: [DONE]\n\n');
}

/** { url, close, release } of a server that listens. `release(question)` lets the rest of a held answer go. */
export async function startConsoleModel() {
  const gate = new Gate();
  const server = createServer((request, response) => {
    answer(request, response, gate).catch(() => response.destroy());
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    close: () => (server.closeAllConnections(), server.close()),
    release: (question) => gate.release(question),
  };
}
