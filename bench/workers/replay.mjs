// One client that reads replayed answers from the provider as fast as they come; tells what the JavaScript thread
// and the process spent.
import http from 'node:http';

import { cpuOf, cpuSince } from '../support/cpu.mjs';
import { clients } from '../support/clients.mjs';
import { options, report } from '../support/worker.mjs';

const { client, url, seconds, warmSeconds } = options;
const agent = new http.Agent({ keepAlive: true });
const readOnce = await clients[client]({ url, agent });

// Warm up until the compilers have nothing left to do: a reader that is called once a batch, not once an event,
// needs some dozen answers for that.
const warmAnswers = 60;
const warm = performance.now() + warmSeconds * 1000;
for (let i = 0; i < warmAnswers && performance.now() < warm; i++) await readOnce();

let answers = 0;
let letters = 0;
const before = cpuOf();
const started = performance.now();
const end = started + seconds * 1000;
do {
  letters = await readOnce();
  answers++;
} while (performance.now() < end);
const spent = cpuSince(before);
report({
  answers,
  letters,
  main: spent.main,
  all: spent.all,
  wall: (performance.now() - started) * 1e3,
});
agent.destroy();
