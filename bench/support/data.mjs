// The bodies that tables read, as files that every child can open.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { scratch } from './paths.mjs';
import { recordedStreams } from './recordings.mjs';
import { makeStreams } from './streams.mjs';

export const seed = 20260101;

function write(folder, bodies) {
  const target = join(scratch, folder);
  mkdirSync(target, { recursive: true });
  return bodies.map((body, index) => {
    const file = join(target, `${index}.bin`);
    writeFileSync(file, body);
    return file;
  });
}

// Paths of made-up bodies of one wire.
export function madeFiles(wire, { count = 8, deltas = 1000, plain = false } = {}) {
  const folder = `made-${wire}-${count}-${deltas}${plain ? '-plain' : ''}`;
  return write(folder, makeStreams(wire, { count, deltas, plain, seed }));
}

// Paths of the recorded bodies of one wire; empty where there are none.
export function recordedFiles(wire) {
  return write(`recorded-${wire}`, recordedStreams(wire));
}
