// What each event becomes in the protocols that the engine writes: AG-UI 1.0 and the AG-UI before it, LobeHub's chat
// stream, a completion. A row is a member of an event; it is lost where one of its markers does not come out.
import { createRequire } from 'node:module';

import { each } from './each.mjs';
import { asEvent, isDocumented } from './encoder-places.mjs';
import { instancesOf, Markers, markersIn } from './instances.mjs';
import { Ends } from './judge.mjs';
import { readModel } from './model.mjs';
import { joinedTexts, placesOf } from './places.mjs';

const require = createRequire(import.meta.url);
const millrace = require('../../../dist/cjs/index.js');
const question = { id: 'q', role: 'user', content: 'Ask' };
// How many names of a place make a row: the member of an event, what is inside of it is one.
const depth = 3;

const encoders = {
  'AG-UI 1.0': (runtime, payload) =>
    millrace.toAGUIResponse(runtime.stream(payload), { protocolVersion: '1.0' }),
  'AG-UI 0.0': (runtime, payload) => millrace.toAGUIResponse(runtime.stream(payload)),
  lobe: (runtime, payload) => runtime.chat(payload, { protocol: 'lobe' }),
  completion: (runtime, payload) => runtime.chat({ ...payload, responseMode: 'json' }),
};

/** Sends the answers of each wire through each encoder; gives the ends of the events' members. */
export async function playEncoders(wires, vendor) {
  const ends = new Ends();
  const counts = { instances: 0, answers: 0, read: 0 };
  for (const wire of wires) {
    const nodes = (wire.nodes ??= readModel(wire.types, wire.leaves));
    const markers = new Markers();
    for (const subject of wire.subjects.filter(({ wholeOnly }) => !wholeOnly)) {
      const made = instancesOf(nodes[subject.type], subject.root, rulesOf(wire, subject), markers);
      counts.instances += made.length;
      await each(made, async ({ value }) => {
        await encode(ends, wire, vendor, wire.bytes(wire.records(subject.place(value))));
        counts.answers += 1;
      });
    }
  }
  return { ends, counts };
}

function rulesOf(wire, subject) {
  const merged = { ...wire.rules };
  for (const [name, more] of Object.entries(subject.rules ?? {})) {
    merged[name] = [...more, ...(merged[name] ?? [])];
  }
  return merged;
}

async function encode(ends, wire, vendor, answer) {
  const events = withoutMadeIds(await eventsOf(wire, vendor, answer));
  const told = placesOf({ events, report: {} }, markersIn);
  for (const [way, encoder] of Object.entries(encoders)) {
    const written = withoutMadeIds(await writtenBy(encoder, wire, vendor, answer));
    const out = placesIn(written, way);
    for (const [marker, places] of told) {
      for (const place of places) judge(ends, way, rowOf(place), out.get(marker) ?? []);
    }
  }
}

// Where the markers stand in what was written: at members of the protocol, and at those of events in it.
function placesIn(written, way) {
  const [events, records] = partedBy(way, written);
  const own = placesOf({ events: [], report: { written: records } }, markersIn);
  const joined = placesOf(
    { events: [], report: Object.fromEntries(joinedTexts(records)) },
    markersIn,
  );
  const places = new Map();
  const add = (found, name) => {
    for (const [marker, list] of found) {
      places.set(marker, [...(places.get(marker) ?? []), ...list.map(name)]);
    }
  };
  add(placesOf({ events, report: {} }, markersIn), (place) => `${asEvent}${place}`);
  add(own, (place) => place.replace(/^report\.written\[\]\./, ''));
  add(joined, (place) => place.replace(/^report\.\[\]\./, ''));
  return places;
}

// The events that a protocol has, and its other records.
function partedBy(way, written) {
  if (way.startsWith('AG-UI')) return [written, []];
  if (way === 'lobe') {
    const isEvent = ({ data }) => typeof data?.type === 'string';
    return [
      written.filter(isEvent).map(({ data }) => data),
      written.filter((one) => !isEvent(one)),
    ];
  }
  const events = written.flatMap(({ millrace: own }) => own?.events ?? []);
  const records = written.map((one) => ({ ...one, millrace: undefined }));
  return [events, JSON.parse(JSON.stringify(records))];
}

// Ids that a run makes up are random, and their digits may look like a marker.
function withoutMadeIds(value) {
  const made = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
  return JSON.parse(JSON.stringify(value).replace(made, 'made'));
}

// Elsewhere is lost.
function judge(ends, way, row, found) {
  const place = found.find((one) => isDocumented(way, row, one));
  if (place) ends.add(way, row, 'carried', shortOf(place));
  else ends.add(way, row, 'lost', found.length > 0 ? `elsewhere: ${shortOf(found[0])}` : '');
}

function shortOf(place) {
  return place
    .replace(/\.kzq\w+/g, '')
    .split('.')
    .slice(0, depth)
    .join('.');
}

// `millrace.citation.value.citation` of all that stands in it.
function rowOf(place) {
  const [, head, rest] = /^(millrace\.\w+(?:\(\w+\))?|\w+)(.*)$/.exec(place);
  return (
    head +
    rest
      .replace(/\{\}.*$/, '')
      .split('.')
      .slice(0, depth)
      .join('.')
      .replace(/\[\]/g, '')
  );
}

function runtimeOf(wire, url) {
  return millrace.createModelRuntime(wire.provider, {
    apiKey: 'test-key',
    maxRetries: 0,
    circuit: false,
    ...wire.settings,
    baseURL: url,
  });
}

async function eventsOf(wire, vendor, answer) {
  const line = vendor.open([answer]);
  const run = runtimeOf(wire, line.url).stream({
    model: wire.model,
    ...wire.call,
    messages: [question],
  });
  const events = [];
  for await (const event of run) events.push(event);
  line.close();
  return events;
}

// The records that an encoder writes; a completion is one.
async function writtenBy(encoder, wire, vendor, answer) {
  const line = vendor.open([answer]);
  let text = '';
  try {
    const payload = { model: wire.model, ...wire.call, messages: [question] };
    const response = await encoder(runtimeOf(wire, line.url), payload);
    text = await response.text();
  } catch (error) {
    const { message, report } = error;
    text = `data: ${JSON.stringify({ error: message, report })}`;
  }
  line.close();
  return recordsOf(text);
}

function recordsOf(text) {
  if (text.startsWith('{')) return [JSON.parse(text)];
  const records = [];
  let event = '';
  for (const line of text.split('\n')) {
    if (line.startsWith('event: ')) event = line.slice(7);
    if (line.startsWith('id: ')) records.push({ id: line.slice(4) });
    if (!line.startsWith('data: ')) continue;
    const value = parsed(line.slice(6));
    records.push(event ? { [event]: value } : value);
  }
  return records;
}

// A signature that names its provider before it counts as what it is.
const scope = /^mr1\.\d+\.[a-z]+\./;

function parsed(text) {
  try {
    return JSON.parse(text, (_, value) =>
      typeof value === 'string' ? value.replace(scope, '') : value,
    );
  } catch {
    return text;
  }
}
