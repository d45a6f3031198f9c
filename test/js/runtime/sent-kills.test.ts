// Messages to a durable run whose process ends before or after each of its commits: none that was stored is lost, none comes
// twice, and no tool of effect `once` runs again.
//   MILLRACE_SENT_KILLS: how many of these ends are tried, `all` for each
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { startModel, type ScriptedModel, type Turn } from '../../support/scripted-model';
import { cleanUp, type Line, makeStore, startChild } from '../support/durable-child';

const wanted = process.env['MILLRACE_SENT_KILLS'] ?? '4';
const texts = ['first', 'second', 'third'];
// More commits than a run has.
const mostCommits = 400;
const waitMs = 3000;

let model: ScriptedModel;
afterEach(async () => {
  await cleanUp();
  await model.close();
});

interface Message {
  role: string;
  content?: unknown;
}
const withText = (messages: Message[], text: string): number[] =>
  messages.flatMap(({ role, content }, at) => (role === 'user' && content === text ? [at] : []));

// Whether the sender of a message has an answer, or will never get one.
function isSettled(lines: string[], text: string): boolean {
  const sent = lines.indexOf(`send ${text}`);
  return lines.some(
    (line, at) => sent >= 0 && at > sent && (line === 'begin' || line.endsWith(` ${text}`)),
  );
}

async function settles(logged: () => string[], text: string): Promise<void> {
  const end = Date.now() + waitMs;
  while (!isSettled(logged(), text) && Date.now() < end) await sleep(2);
}

// Pays, gives a slow answer, and once that was followed by the second message books.
function answer(messages: Message[], logged: () => string[]): Turn {
  const results = messages.filter(({ role }) => role === 'tool').length;
  if (results === 0) return { text: 'I pay.', calls: [{ id: 'c1', name: 'pay' }] };
  if (withText(messages, 'second').length === 0) {
    return { text: 'a slow answer', waits: settles(logged, 'second') };
  }
  if (results > 1) return { text: 'All is done.' };
  return { text: 'I book.', calls: [{ id: 'c2', name: 'book' }] };
}

interface Point {
  kind: 'commit' | 'before_commit';
  count: number;
}

// A page of the journal is a commit.
function commitsOf(store: string): number {
  const cli = join(__dirname, '../../../dist/cjs/cli/main.js');
  const lines = `${store}.jsonl`;
  spawnSync(process.execPath, [cli, 'storage', 'export', lines, '--storage', `file:${store}`]);
  return readFileSync(lines, 'utf8').match(/^\{"page"/gm)?.length ?? 0;
}

interface Ended {
  store: string;
  wasKilled: boolean;
  lines: string[];
  end: Line;
}

// Runs the program until the point, and then to its end.
async function runThrough(point: Point, interrupts: boolean): Promise<Ended> {
  const { store, log, logged } = makeStore();
  model = await startModel(({ messages }) => answer(messages, logged));
  const options = { store, log, interrupts, model: model.url };
  const first = startChild({ ...options, point }, 'sent-child');
  await new Promise((resolve) => first.process.once('close', resolve));
  const wasKilled = first.process.exitCode === 137;
  const [end] = await (wasKilled ? startChild(options, 'sent-child') : first).ended();
  return { store, wasKilled, lines: logged(), end: end as Line };
}

// The texts of the answers as readers have them in the end.
function answersIn(events: Line[]): string[] {
  const answers = new Map<string, string>();
  for (const { type, messageId, delta, name, value } of events) {
    if (type === 'TEXT_MESSAGE_CONTENT') {
      const before = answers.get(messageId as string) ?? '';
      answers.set(messageId as string, before + (delta as string));
    } else if (name === 'millrace.reset') {
      for (const id of (value as { messageIds?: string[] }).messageIds ?? []) answers.delete(id);
    }
  }
  return [...answers.values()];
}

function expectWhole({ wasKilled, lines, end }: Ended): void {
  expect(end).toMatchObject({ status: 'completed' });
  const messages = end['messages'] as Message[];
  const requests = model.chatBodies.map((body) => body.messages as Message[]);
  const places = texts.flatMap((text) => {
    const isStored = lines.includes(`stored ${text}`);
    const counts = requests.map((request) => withText(request, text).length);
    const entered = counts.at(-1) ?? 0;
    // It enters one request, and each later one has it.
    expect([...counts].sort()).toEqual(counts);
    expect({ text, counts, isStored }).toMatchObject({
      counts: counts.map((count) => Math.min(count, 1)),
    });
    if (isStored) expect({ text, entered }).toEqual({ text, entered: 1 });
    expect(withText(messages, text)).toHaveLength(entered);
    return withText(messages, text);
  });
  expect([...places].sort((a, b) => a - b)).toEqual(places);
  if (!wasKilled) expect(places).toHaveLength(texts.length);
  const answers = messages.filter(({ role, content }) => role === 'assistant' && content);
  expect(answers.map(({ content }) => content)).toEqual(answersIn(end['events'] as Line[]));
  expect(lines.filter((line) => line === 'ran pay').length).toBeLessThanOrEqual(1);
  const results = (end['events'] as Line[]).filter(({ type }) => type === 'TOOL_CALL_RESULT');
  const calls = results.map(({ toolCallId }) => toolCallId as string);
  expect(new Set(calls).size).toBe(calls.length);
}

// All points, or some of them in even distances.
function* pointsOf(commits: number): Generator<Point> {
  const all = Array.from({ length: commits * 2 }, (_, at): Point => {
    return { kind: at % 2 === 0 ? 'before_commit' : 'commit', count: 1 + Math.floor(at / 2) };
  });
  const some = wanted === 'all' ? all.length : Math.min(all.length, Number(wanted));
  const offset = Math.random();
  for (let at = 0; at < some; ++at) {
    yield all[Math.floor(((at + offset) * all.length) / some)] as Point;
  }
}

it.each([
  ['sent', false],
  ['interrupting', true],
])(
  `messages that are %s enter once, wherever the process ends (${wanted} ends)`,
  async (_name, interrupts) => {
    const whole = await runThrough({ kind: 'commit', count: mostCommits }, interrupts);
    expect(whole.wasKilled).toBe(false);
    expectWhole(whole);
    await model.close();
    for (const point of pointsOf(commitsOf(whole.store))) {
      try {
        expectWhole(await runThrough(point, interrupts));
      } catch (error) {
        console.error(`at ${JSON.stringify(point)}`);
        throw error;
      }
      await model.close();
      await cleanUp();
    }
  },
  wanted === 'all' ? 600_000 : 120_000,
);

it.each([
  ['sent', false],
  ['interrupting', true],
])(
  'a message that is %s to a run whose process was killed is taken by the process that goes on with it',
  async (_name, interrupts) => {
    const { store } = makeStore();
    model = await startModel(({ messages }) =>
      messages.some(({ role }: Message) => role === 'tool')
        ? { text: 'Ten.' }
        : { calls: [{ id: 'c1', name: 'look' }] },
    );
    const start = (part: string) =>
      startChild({ store, model: model.url, part, interrupts }, 'left-child');
    const first = start('begin');
    await first.until(({ looks }) => looks === true);
    await first.kill();
    const second = start('send');
    expect(await second.until(({ stored }) => stored !== undefined)).toEqual({ stored: 'running' });
    await second.kill();
    const end = (await start('finish').ended()).at(-1) as Line;
    expect(end).toMatchObject({ status: 'completed' });
    const sent = withText(model.chatBodies.at(-1)?.messages as Message[], 'In euros.');
    expect(sent).toHaveLength(1);
    expect(withText(end['messages'] as Message[], 'In euros.')).toHaveLength(1);
    const results = (end['messages'] as Message[]).filter(({ role }) => role === 'tool');
    expect(results).toEqual([
      expect.objectContaining({
        content: expect.stringContaining(interrupts ? 'aborted' : 'seen') as string,
      }),
    ]);
  },
);
