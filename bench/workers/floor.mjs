// Plain JavaScript on one thread: bodies of one wire in reads of one size, to records or to AG-UI frames.
import { readFileSync } from 'node:fs';

import { converterReader, floorReader } from '../support/floor.mjs';
import { bestPass, options, report } from '../support/worker.mjs';

const { wire, kind, files, readSize, seconds } = options;
const bodies = files.map((file) => readFileSync(file));
const bytes = bodies.reduce((sum, body) => sum + body.length, 0);
let taken = 0;

function read(body) {
  const take = () => taken++;
  const reader = kind === 'floor' ? floorReader(wire, take) : converterReader(wire, take);
  for (let at = 0; at < body.length; at += readSize) reader.feed(body.subarray(at, at + readSize));
  reader.finish();
}

const best = await bestPass(seconds, () => {
  taken = 0;
  bodies.forEach(read);
});
report({ mbPerSecond: bytes / best / 1e6, taken });
