// Clients of one chat server. `how` is "paced": many streams at a time that begin one after the other, or "jobs": lanes that
// have one short answer after the other. Reports what it counted, and the CPU time of the server meanwhile.
import { setTimeout as sleep } from 'node:timers/promises';

import { protocols, wholeTurn } from '../support/chat-protocols.mjs';
import { cpuOf, cpuSince } from '../support/cpu.mjs';
import { openLane } from '../support/http-lane.mjs';
import { shareOf } from '../support/medians.mjs';
import { options, report } from '../support/worker.mjs';

const { how, protocol: name, port, pid, lanes: laneCount, message, last } = options;
const protocol = protocols[name];
const firsts = [];

const lanes = await Promise.all(Array.from({ length: laneCount }, () => openLane(port)));

async function turn(lane, conversation) {
  const begun = performance.now();
  await wholeTurn(protocol, lane, conversation, { message, last }, () => {
    firsts.push(performance.now() - begun);
  });
}

const ways = {
  // One turn of each lane, spread over a second.
  async paced({ deltas }) {
    const conversations = await Promise.all(lanes.map((lane) => protocol.conversation(lane)));
    const before = cpuOf(pid);
    await Promise.all(
      lanes.map(async (lane, at) => {
        await sleep((at * 1000) / laneCount);
        await turn(lane, conversations[at]);
      }),
    );
    const { all } = cpuSince(before, pid);
    return { cpuEach: all / (laneCount * deltas) };
  },
  // Each lane makes its conversations before, so that only jobs count.
  async jobs({ jobs, seconds }) {
    const each = Math.ceil(jobs / laneCount);
    const conversations = await Promise.all(
      lanes.map(async (lane) => {
        const made = [];
        while (made.length < each) made.push(await protocol.conversation(lane));
        return made;
      }),
    );
    await Promise.all(lanes.map((lane, at) => turn(lane, conversations[at].pop())));
    const [begun, before] = [performance.now(), cpuOf(pid)];
    const end = begun + seconds * 1000;
    let [done, last] = [0, begun];
    await Promise.all(
      lanes.map(async (lane, at) => {
        while (performance.now() < end && conversations[at].length > 0) {
          await turn(lane, conversations[at].pop());
          done += 1;
          last = performance.now();
        }
      }),
    );
    const { all } = cpuSince(before, pid);
    return { perSecond: done / ((last - begun) / 1000), cpuMs: all / 1000 / done };
  },
};

const found = await ways[how](options);
for (const lane of lanes) lane.close();
report({ ...found, first50: shareOf(firsts, 0.5), first99: shareOf(firsts, 0.99) });
