// The engine alone: bytes of each wire to AG-UI server-sent events on one core, with the UTF-8 check and the
// depth limit on, beside what JavaScript needs for the same bytes.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

import { measure } from '../support/children.mjs';
import { madeFiles, recordedFiles } from '../support/data.mjs';
import { atLeast, atMost } from '../support/goals.mjs';
import { root } from '../support/paths.mjs';
import { wires } from '../support/streams.mjs';

const readSize = 16384;

export const name = 'engine';
export const title = 'Engine alone: one wire to AG-UI server-sent events, one core, reads of 16 KB';
export const columns = [
  { key: 'wire', title: 'wire' },
  { key: 'source', title: 'bodies' },
  { key: 'megabytes', title: 'MB', digits: 2 },
  { key: 'engine', title: 'engine MB/s', digits: 0 },
  { key: 'floor', title: 'JS floor MB/s', digits: 0 },
  { key: 'converter', title: 'JS converter MB/s', digits: 0 },
  { key: 'overFloor', title: 'x floor', digits: 1 },
  { key: 'overConverter', title: 'x converter', digits: 1 },
  { key: 'allocations', title: 'allocations/delta', digits: 4 },
];
export const notes = [
  'Best pass of each. JS floor: eventsource-parser and JSON.parse, which only read. JS converter: the floor and a ' +
    'hand-written mapping to the bytes of AG-UI frames, without errors, limits or repair; it does the job of the ' +
    'engine. Allocations: operator new, second half of each body.',
];

export async function run({ seconds }) {
  const rows = [];
  for (const wire of wires) {
    rows.push(await row(wire, 'made up', madeFiles(wire), seconds(1.5, 0.15)));
    const recorded = recordedFiles(wire);
    if (recorded.length > 0) rows.push(await row(wire, 'recorded', recorded, seconds(1.5, 0.05)));
  }
  return { rows, goals: goalsOf(rows.filter((one) => one.source === 'made up')) };
}

async function row(wire, source, files, time) {
  const engine = runEngine(wire, files, time);
  const javascript = (kind) =>
    measure('workers/floor.mjs', { wire, kind, files, readSize, seconds: time });
  const floor = (await javascript('floor')).mbPerSecond;
  const converter = (await javascript('converter')).mbPerSecond;
  return {
    wire,
    source,
    megabytes: engine.bytes / 1e6,
    engine: engine.mbPerSecond,
    floor,
    converter,
    overFloor: engine.mbPerSecond / floor,
    overConverter: engine.mbPerSecond / converter,
    allocations: engine.allocations / Math.max(1, engine.deltas),
    events: engine.events,
  };
}

export function runEngine(wire, files, time) {
  const program = join(root, 'build/release/bench/native/engine_bench');
  const args = [wire, String(readSize), String(time), ...files];
  return JSON.parse(execFileSync(program, args, { encoding: 'utf8', timeout: 60_000 }));
}

function goalsOf(rows) {
  const goals = [];
  for (const { wire, engine, overFloor, allocations } of rows) {
    goals.push(atLeast(`${wire}, engine`, engine, wire === 'openai_chat' ? 250 : 150, 'MB/s'));
    goals.push(atLeast(`${wire}, engine over JS floor`, overFloor, 5, 'x'));
    goals.push(atMost(`${wire}, allocations a delta`, allocations, 0));
  }
  return goals;
}
