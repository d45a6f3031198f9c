// A program whose agents, tools and job steps are added, removed, renamed and reordered between restarts, and which is killed
// at any time: what its readers saw, what its tools and steps did, and how its runs end.
//   MILLRACE_DEPLOYS: how many restarts; MILLRACE_DEPLOY_SECONDS: in how much time at most; MILLRACE_SEED: the printed seed
import { setTimeout as sleep } from 'node:timers/promises';

import { startModel, type ScriptedModel, type Turn } from '../../support/scripted-model';
import {
  Deploys,
  gone,
  isEnd,
  linesOf,
  type Plan,
  randomOf,
  readsOf,
  wrongEffects,
  wrongReadings,
} from '../support/deploys';
import { type Child, cleanUp, type Line, makeStore, startChild } from '../support/durable-child';

const most = Number(process.env['MILLRACE_DEPLOYS'] ?? 8);
const seconds = Number(process.env['MILLRACE_DEPLOY_SECONDS'] ?? 60);
const seed = Number(process.env['MILLRACE_SEED'] ?? Date.now() % 1_000_000);
const callsOfRun = 3;

let model: ScriptedModel;
afterEach(async () => {
  await cleanUp();
  await model.close();
});

// Calls tools of those that the request offers, then answers.
function answer({ messages, tools = [] }: Line): Turn {
  const list = messages as { role: string; content: unknown }[];
  if (list.some(({ content }) => content === 'hang')) return { text: 'one two', hang: true };
  const results = list.filter(({ role }) => role === 'tool').length;
  const names = (tools as { function: { name: string } }[]).map((one) => one.function.name);
  if (results >= callsOfRun || names.length === 0) return { text: 'this is the answer' };
  const count = results === 0 ? 1 : 2;
  const calls = Array.from({ length: count }, (_, at) => ({
    id: `c${results}_${at}`,
    name: names[(results + at) % names.length] as string,
  }));
  return { text: 'I call', calls };
}

const send = (child: Child, text: string): void => void child.process.stdin?.write(`${text}\n`);

async function work(child: Child, plan: Plan): Promise<void> {
  await child.until(({ loaded }) => loaded === true);
  send(child, JSON.stringify(plan));
  await child.until(({ working, failed }) => working === true || failed !== undefined);
}

// Deploys until there were enough of them, or the time is over. Gives how many there were, and how the last one found all runs.
async function deployAll(store: string, log: string): Promise<{ count: number; ends: Line[] }> {
  const random = randomOf(seed);
  const deploys = new Deploys(random);
  const start = (): Child => startChild({ store, log, model: model.url }, 'deploy-child');
  const end = Date.now() + seconds * 1000;
  let count = 0;
  let next = start();
  for (; count < most && Date.now() < end; count++) {
    const child = next;
    await work(child, deploys.plan(count, count === 0 ? {} : readsOf(linesOf(log))));
    // Loads while this one works.
    next = start();
    do await sleep(random() * 250);
    while (!linesOf(log).some(({ name }) => name === gone));
    if (random() < 0.8) {
      await child.kill();
      continue;
    }
    send(child, 'close');
    await child.ended();
  }
  await work(next, deploys.lastPlan(count, readsOf(linesOf(log))));
  return { count, ends: (await next.ended()).filter(({ run }) => run) };
}

function expectEnds(ends: Line[], lines: Line[]): void {
  const ids = ends.map(({ run }) => run.id as string);
  expect(new Set(ids).size).toBe(ids.length);
  // Others of its runs may have ended before their agent was gone, or been cut as well.
  const isParked = ({ run }: Line): boolean => run.name === gone && run.state === 'parked';
  expect(ends.filter(isParked)).not.toEqual([]);
  const started = lines.filter((line) => line['started']).map((line) => line['started'] as string);
  expect(started.filter((id) => !ids.includes(id))).toEqual([]);
  for (const { run, records } of ends) {
    if (isParked({ run })) {
      const waitsFor = { reason: 'agent_not_registered' };
      expect(run).toMatchObject({ state: 'parked', waitsFor });
      continue;
    }
    const list = records as [number, string][];
    const seqs = list.map(([seq]) => seq);
    expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
    const last = list.filter(([, event]) => isEnd(event)).length;
    expect({ run, last }).toMatchObject({
      run: { state: expect.not.stringMatching('parked') as string },
      last: 1,
    });
  }
}

// What a process printed is lost where it exits before a slow reader has it: it would look like a lost run.
it('gives a slow reader all that the last deploy found', async () => {
  model = await startModel((body) => answer(body));
  const { store, log } = makeStore();
  const start = (): Child => startChild({ store, log, model: model.url }, 'deploy-child');
  const names = ['function_plain'];
  const starts = Array.from({ length: 30 }, (_, at) => ({
    name: 'function_plain',
    key: `${at} ${'x'.repeat(20_000)}`,
  }));
  const plan = { number: 0, names, tools: [], steps: [], parallel: false, starts, reads: {} };
  const first = start();
  await work(first, plan);
  const started = (): string[] =>
    linesOf(log).flatMap((line) => (line['started'] as string | undefined) ?? []);
  while (started().length < starts.length) await sleep(20);
  await first.kill();
  const child = start();
  await work(child, { ...plan, starts: [], last: true });
  child.process.stdout?.pause();
  const late = Date.now() + 1500;
  while (Date.now() < late && child.process.exitCode === null) await sleep(20);
  child.process.stdout?.resume();
  const ends = (await child.ended()).filter(({ run }) => run);
  expect(ends.map(({ run }) => run.id as string).sort()).toEqual(started().sort());
}, 60_000);

it(
  `loses and repeats nothing over ${most} deploys (seed ${seed})`,
  async () => {
    model = await startModel((body) => answer(body));
    const { store, log } = makeStore();
    const { count, ends } = await deployAll(store, log);
    const lines = linesOf(log);
    const began = lines.filter(({ began }) => began).length;
    console.info(
      `MILLRACE_SEED=${seed}, ${count} of ${most} deploys, ${ends.length} runs, ${began} calls and steps`,
    );
    // What was not tried within the time proves nothing.
    expect({ seed, count }).toEqual({ seed, count: most });
    expect(lines.filter(({ failed, code }) => failed && code !== 'engine_closed')).toEqual([]);
    expectEnds(ends, lines);
    const wholes = new Map(ends.map(({ run, records }) => [run.id as string, records]));
    const readings = lines.filter(({ run }) => wholes.get(run as string)?.length);
    expect(wrongReadings(readings, wholes)).toEqual([]);
    expect(wrongEffects(lines)).toEqual([]);
  },
  (seconds + 240) * 1000,
);
