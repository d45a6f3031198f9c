// Starts runs of an agent that wait for a tool, and reports what one of them holds in memory: the slope of resident
// memory between two numbers of waiting runs.
import { createRequire } from 'node:module';

import { collect } from '../support/collect.mjs';
import { residentBytes } from '../support/cpu.mjs';
import { millracePath } from '../support/packages.mjs';
import { options, report } from '../support/worker.mjs';

const { address, runs, question } = options;
const { createAgent, tool } = createRequire(import.meta.url)(millracePath);
const input = {
  type: 'object',
  properties: { value: { type: 'string' } },
  required: ['value'],
};

// Waits in the fifth of ten steps until it is told to go on.
let waiting = 0;
let release;
const released = new Promise((resolve) => (release = resolve));
const run = async ({ value }) => {
  if (value === 'step 4') {
    waiting += 1;
    await released;
  }
  return 'done';
};
const agent = createAgent({
  model: 'openai:scripted',
  provider: { baseURL: address, apiKey: 'k' },
  tools: [tool({ name: 'noop', input, effect: 'read', run, timeoutMs: 0 })],
});

const pause = () => new Promise((resolve) => setTimeout(resolve, 5));

// A few at a time, so that idle connections do not count as memory of runs.
const live = [];
async function start(count, requested) {
  const goal = waiting + count;
  for (let started = 0; started < count; started += 10) {
    const group = Math.min(10, count - started);
    for (let i = 0; i < group; i++) live.push(agent.run(requested).text());
    while (waiting < goal - count + started + group) await pause();
  }
}

// The compilers of V8 take some 10 MB once, after a few hundred runs: they are no part of the slope.
await start(600, 'Take ten steps.');
await start(Math.ceil(runs / 30) * 10, question);
await collect();
const before = residentBytes();
await start(runs, question);
await collect();
const bytes = residentBytes() - before;
release();
const texts = await Promise.all(live);
const wrong = texts.filter((text) => text !== 'The end.').length;
report({ bytesPerRun: bytes / runs, wrong });
