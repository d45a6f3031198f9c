// Streams that are cut anywhere at their start: what comes out must not change.
import { each } from './each.mjs';
import { fingerprint, isUnsteady } from './places.mjs';

/** Cuts a stream at every byte of its first frames. */
export async function cuts(ways, most = 3) {
  const stream = streamOf(ways);
  const first = ways.wire.bytes(stream.records.slice(0, most)).bytes.length;
  const whole = await printOf(ways, stream, [stream.bytes]);
  const wrong = [];
  const places = Array.from({ length: Math.min(first, 4000) - 1 }, (_, at) => at + 1);
  await each(places, async (at) => {
    const pieces = [stream.bytes.subarray(0, at), stream.bytes.subarray(at)];
    if ((await printOf(ways, stream, pieces)) !== whole) wrong.push(at);
  });
  if (wrong.length > 0)
    ways.refusals.push(`a stream cut at the bytes ${wrong.slice(0, 5)} reads otherwise`);
  return places.length;
}

function streamOf(ways) {
  const [subject] = ways.wire.subjects;
  const [{ value, leaves }] = ways.instances(subject);
  const records = ways.wire.records(subject.place(value));
  return { records, leaves, ...ways.wire.bytes(records) };
}

async function printOf(ways, { type }, pieces) {
  return fingerprint(await ways.engine.cut(type, pieces));
}

/** Takes bytes out of frames: what comes out must change. Gives `{ damaged, wrong }`. */
export async function damagedCuts(ways, random, count) {
  const stream = streamOf(ways);
  const { bytes } = stream;
  const whole = await printOf(ways, stream, [bytes]);
  const steady = stream.leaves.filter(({ path }) => !path.some(isUnsteady));
  const places = steady.flatMap(({ marker }) => placeOf(bytes, marker));
  const damaged = [];
  const wrong = [];
  for (const { at, size } of random.some(places, count)) {
    const begin = at + random.below(size);
    const end = begin + 1 + random.below(at + size - begin);
    const range = `bytes ${begin} to ${end} of a stream`;
    damaged.push(range);
    const pieces = [bytes.subarray(0, begin), bytes.subarray(end)];
    if ((await printOf(ways, stream, pieces)) === whole) wrong.push(`${range} are gone, not named`);
  }
  return { damaged, wrong };
}

// Where a marker stands in the bytes of a stream, if it does once: the engine may read a copy.
function placeOf(bytes, marker) {
  if (!marker) return [];
  return [marker.text, `${marker.number}`].flatMap((text) => {
    const at = bytes.indexOf(text);
    return at < 0 || bytes.indexOf(text, at + 1) >= 0 ? [] : [{ at, size: text.length }];
  });
}
