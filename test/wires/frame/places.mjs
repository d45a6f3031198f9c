// Where something stands in what the engine gives: the events with the report, or a request.
//
// A place is an event's type and the names down to the value, such as `TEXT_MESSAGE_CONTENT.delta`,
// `millrace.provider_state(item).state.phase`, `report.attempts[].error.message`. `{}` stands where JSON text was read.

// Copies of whole records say nothing of the members in them, and what a warning shows is not for programs.
const copies = [/^RAW\b/, /\.rawEvent\b/, /^millrace\.warning\.value\.payload\b/];
// Ids, times, and addresses, which have the number of the conversation.
const unsteady = new Set([
  ...['timestamp', 'durationMs', 'firstTokenMs', 'waitedMs'],
  ...['threadId', 'runId', 'endpoint'],
]);
const joined = {
  TEXT_MESSAGE_CONTENT: 'messageId',
  REASONING_MESSAGE_CONTENT: 'messageId',
  TOOL_CALL_ARGS: 'toolCallId',
};

/** Whether values of this name count for nothing when outcomes are compared. */
export function isUnsteady(name) {
  return unsteady.has(name);
}

/** Pieces of one text as one event, at the place of the first. */
export function joinPieces(events) {
  const open = new Map();
  const list = [];
  for (const event of events) {
    const member = joined[event.type];
    const key = member && `${event.type} ${event[member]}`;
    const first = key && open.get(key);
    if (first) {
      first.delta += event.delta;
      continue;
    }
    const copy = { ...event };
    if (key) open.set(key, copy);
    list.push(copy);
  }
  return list;
}

/** Calls `found(place, value)` for each value in the events and the report. */
export function eachPlace({ events, report }, found) {
  for (const event of joinPieces(events)) {
    const { type, ...members } = event;
    const { name } = event;
    const kind = event.value?.kind;
    const head = type === 'CUSTOM' ? `${name}${kind ? `(${kind})` : ''}` : type;
    walk(members, head, found);
  }
  walk(report, 'report', found);
}

/** Calls `found(place, value)` for each leaf of a value, also of JSON inside of texts. */
export function walk(value, place, found) {
  if (value instanceof Uint8Array) return found(place, Buffer.from(value).toString('base64'));
  if (value instanceof Date) return found(place, value.getTime() / 100_000);
  if (Array.isArray(value)) {
    for (const item of value) walk(item, `${place}[]`, found);
    return undefined;
  }
  if (typeof value === 'object' && value !== null) {
    for (const [name, inner] of Object.entries(value)) {
      // The name itself may be what is looked for.
      if (name.startsWith('kzq')) found(`${place}.${name}`, name);
      walk(inner, `${place}.${name}`, found);
    }
    return undefined;
  }
  found(place, value);
  if (typeof value === 'string' && /^\s*[[{]/.test(value)) walkText(value, place, found);
  return undefined;
}

/** All texts of a value that stand at the same place, joined: pieces of a stream as one; pairs of place and text. */
export function joinedTexts(value) {
  const texts = new Map();
  walk(value, '', (place, text) => {
    if (typeof text === 'string') texts.set(place, (texts.get(place) ?? '') + text);
  });
  return [...texts];
}

function walkText(text, place, found) {
  let inner;
  try {
    inner = JSON.parse(text);
  } catch {
    return;
  }
  walk(inner, `${place}{}`, found);
}

/** All places of markers: a map from marker to places; texts and numbers alike. */
export function placesOf(outcome, markersIn) {
  const places = new Map();
  const add = (marker, place) => {
    if (copies.some((pattern) => pattern.test(place))) return;
    const list = places.get(marker);
    if (!list) places.set(marker, [place]);
    else if (!list.includes(place)) list.push(place);
  };
  eachPlace(outcome, (place, value) => {
    if (typeof value === 'number' && value > 7_000_000 && value < 9_000_000) add(value, place);
    if (typeof value !== 'string') return;
    for (const marker of markersIn(value)) add(marker, place);
    for (const [number] of value.matchAll(/(?<!\d)[78]\d{6}(?!\d)/g)) add(Number(number), place);
    for (const marker of bytesMarkers(value, markersIn)) add(marker, place);
  });
  return places;
}

// Markers inside of base64.
function bytesMarkers(value, markersIn) {
  const text = value.replace(/^data:[^,]*,/, '');
  if (text.length < 24 || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) return [];
  return markersIn(Buffer.from(text, 'base64').toString('latin1'));
}

/** The whole outcome as one text in which random ids are numbered: equal texts are equal outcomes. */
export function fingerprint({ events, report }) {
  const ids = new Map();
  const text = JSON.stringify({ events: joinPieces(events), report }, (name, value) =>
    unsteady.has(name) ? undefined : value,
  );
  return text.replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, (id) => {
    if (!ids.has(id)) ids.set(id, `id${ids.size}`);
    return ids.get(id);
  });
}
