// The loop of an agent: ten steps, nine calls of a tool that does nothing and an answer, events out.
import { execFile, execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { measure, start } from '../support/children.mjs';
import { atLeast, atMost } from '../support/goals.mjs';
import { bench, root } from '../support/paths.mjs';

const execute = promisify(execFile);

export const name = 'agent';
export const title = 'An agent of ten steps, CPU of the process that runs it';
export const columns = [
  { key: 'label', title: 'agent' },
  { key: 'model', title: 'model' },
  { key: 'together', title: 'runs at a time' },
  { key: 'cpu', title: 'us a step', digits: 0 },
  { key: 'stepsPerSecond', title: 'steps/s', digits: 0 },
  { key: 'convert', title: 'us conversion', digits: 2 },
  { key: 'kilobytes', title: 'KB a waiting run', digits: 1 },
];
export const notes = [
  'The model answers at once, with the same bytes of a provider for everybody: inside the same process, or a server in ' +
    'another one. The engine calls a native tool and writes AG-UI events; the other libraries call a function and ' +
    'stream their own. A model that is an object skips the bytes, and the writing of requests with them. ' +
    'A waiting run waits for a tool in its fifth step. Its memory is the slope of resident memory between two numbers ' +
    'of waiting runs, after V8 was told to give back what it can, as it does by itself after some quiet seconds: ' +
    'its room for young objects is there once for all runs, as is what its compilers took before the first number.',
  'Turns 10 and 200 are of one long run, each the fastest of five turns and of all runs; conversion: of the ' +
    'conversation to the messages of the request, as the run does it. A result of a tool has 1 KB.',
];

const peers = { langgraph: 'LangGraph.js', ai: 'AI SDK', mastra: 'Mastra' };

function engine(runs, together) {
  const program = join(root, 'build/release/bench/native/agent_bench');
  const args = [String(runs), String(together)];
  return JSON.parse(execFileSync(program, args, { encoding: 'utf8', timeout: 120_000 }));
}

async function library(who, model, runs, together = 1) {
  const args = [join(bench, 'workers/agent.mjs'), who, model, String(runs), String(together)];
  const { stdout } = await execute(process.execPath, args, { timeout: 120_000 });
  return JSON.parse(stdout);
}

// The turns 10 and 200 of one long run: {turn, convert, cpu, bytes} each.
function turns(runs) {
  const program = join(root, 'build/release/bench/native/turn_bench');
  const resultBytes = 1024;
  const args = ['200', String(runs), String(resultBytes)];
  return JSON.parse(execFileSync(program, args, { encoding: 'utf8', timeout: 120_000 }));
}

// The best of some rounds: other programs only make them slower.
async function best(rounds, once) {
  let found;
  for (let round = 0; round < rounds; round++) {
    const sample = await once();
    if (!found || sample.cpu < found.cpu) found = sample;
  }
  return found;
}

async function memoryOf(waiting) {
  const { wrong, bytesPerRun } = await measure('workers/agent-memory.mjs', waiting);
  if (wrong > 0) throw new Error(`${wrong} runs ended wrongly`);
  return bytesPerRun / 1024;
}

export async function run({ quick }) {
  const rounds = quick ? 1 : 3;
  const model = start('servers/scripted-model.mjs', {}, { seconds: 600 });
  const rows = [];
  const add = (label, where, together, figures) =>
    rows.push({ label, model: where, together, ...figures });
  try {
    const address = await model.answer();
    const own = await best(rounds, () => engine(quick ? 500 : 5000, 1));
    add('Millrace, engine', 'inside', 1, own);
    for (const [who, label] of Object.entries(peers)) {
      for (const where of quick ? ['inside'] : ['inside', 'object']) {
        const figures = await best(rounds, () => library(who, where, quick ? 10 : 200));
        add(label, where, 1, figures);
      }
    }
    const many = await best(rounds, () => engine(quick ? 1000 : 10_000, 1000));
    add('Millrace, engine', 'inside', 1000, many);
    for (const [who, label] of [
      ['millrace', 'Millrace'],
      ['ai', peers.ai],
    ]) {
      add(label, 'HTTP', 1, await best(rounds, () => library(who, address, quick ? 20 : 200)));
    }
    const [early, late] = turns(quick ? 3 : 20);
    for (const { turn, cpu, convert } of [early, late]) {
      add(`Millrace, engine, turn ${turn}`, 'inside', 1, { cpu, convert });
    }
    const runs = quick ? 300 : 1000;
    const crowd = await best(rounds, () => library('millrace', address, runs, runs));
    add('Millrace', 'HTTP', runs, crowd);
    const waiting = quick ? 500 : 3000;
    const kilobytes = await memoryOf({ address, runs: waiting, question: 'Take ten steps.' });
    add('Millrace', 'HTTP', `${waiting} waiting`, { kilobytes });
    const long = { address, runs: quick ? 60 : 120, question: 'x'.repeat(100 * 1024) };
    add('Millrace, a question of 100 KB', 'HTTP', `${long.runs} waiting`, {
      kilobytes: await memoryOf(long),
    });
    return {
      rows,
      goals: [...goalsOf(rows, own.cpu, kilobytes), ...turnGoals(early, late)],
    };
  } finally {
    await model.stop();
  }
}

function turnGoals(early, late) {
  const more = ((late.cpu - early.cpu) * 1000) / late.bytes;
  return [
    atMost('conversion in turn 200, times that of turn 10', late.convert / early.convert, 1.3),
    atMost('turn 200, more than turn 10', more, 1, 'ns a byte of body'),
  ];
}

function goalsOf(rows, cpu, kilobytes) {
  const goals = Object.values(peers).map((label) => {
    const peer = rows.find((row) => row.label === label && row.model === 'inside');
    return atLeast(`a step, times less CPU than ${label}`, peer.cpu / cpu, 20);
  });
  return [...goals, atMost('memory of a waiting run', kilobytes, 32, 'KB')];
}
