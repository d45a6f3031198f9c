// One client that asks for answers one after the other, as fast as they come and then paced; tells what each cost the
// JavaScript thread.
import http from 'node:http';

import { clients } from '../support/clients.mjs';
import { cpuOf, cpuSince } from '../support/cpu.mjs';
import { options, report } from '../support/worker.mjs';

const { client, url, seconds, paced, pacedAnswers } = options;
const agent = new http.Agent({ keepAlive: true });
const firsts = [];
let requested = 0;
// Called with each event; the first one of an answer counts.
const onEvent = () => {
  if (requested > 0) firsts.push((performance.now() - requested) * 1e3);
  requested = 0;
};
const readOnce = await clients[client]({ url, agent, onEvent });
const readPaced = await clients[client]({ url, agent, words: paced });

// Warm up until the compilers have nothing left to do.
const warm = performance.now() + seconds * 500;
do await readOnce();
while (performance.now() < warm);

async function measure(read, goesOn) {
  let answers = 0;
  let letters = 0;
  const before = cpuOf();
  do {
    requested = performance.now();
    letters = await read();
    answers += 1;
  } while (goesOn(answers));
  return { each: cpuSince(before).main / answers, letters };
}

firsts.length = 0;
const end = performance.now() + seconds * 1000;
const unpaced = await measure(readOnce, () => performance.now() < end);
const slow = await measure(readPaced, (answers) => answers < pacedAnswers);
firsts.sort((a, b) => a - b);
report({
  unpaced: unpaced.each,
  letters: unpaced.letters,
  first: firsts[firsts.length >> 1],
  paced: slow.each,
  pacedLetters: slow.letters,
});
agent.destroy();
