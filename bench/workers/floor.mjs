// Plain JavaScript on one thread: bodies of one wire in reads of one size, to records or to the bytes of AG-UI frames.
import { readFileSync } from 'node:fs';
import { TextEncoder } from 'node:util';

import { converterReader, floorReader } from '../support/floor.mjs';
import { bestPass, options, report } from '../support/worker.mjs';

const { wire, kind, files, readSize, seconds } = options;
const bodies = files.map((file) => readFileSync(file));
const bytes = bodies.reduce((sum, body) => sum + body.length, 0);
const encoder = new TextEncoder();
let taken = 0;
let bytesOut = 0;

function read(body) {
  let pending = '';
  const take = () => taken++;
  const write = (frame) => {
    taken++;
    pending += frame;
  };
  const flush = () => {
    if (pending !== '') bytesOut += encoder.encode(pending).length;
    pending = '';
  };
  const reader = kind === 'floor' ? floorReader(wire, take) : converterReader(wire, write);
  for (let at = 0; at < body.length; at += readSize) {
    reader.feed(body.subarray(at, at + readSize));
    flush();
  }
  reader.finish();
  flush();
}

const best = await bestPass(seconds, () => {
  taken = 0;
  bytesOut = 0;
  bodies.forEach(read);
});
report({ mbPerSecond: bytes / best / 1e6, taken, bytesOut });
