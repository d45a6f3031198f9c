// Decides the end of each member on each way: carried, passed on, named or lost.
import { markersIn, valueAt } from './instances.mjs';
import { fingerprint, placesOf } from './places.mjs';

// Each end is worse than those before it.
const ends = ['carried', 'passed on', 'named', 'lost'];

/** The ends of a wire's members: the worst of each way and row counts. */
export class Ends {
  rows = new Map();

  /** `best` are patterns of rows of which the best end counts: numbers that are added to others in some answers. */
  constructor(best = []) {
    this.best = best;
  }

  add(way, row, end, where = '') {
    const place = withoutMarkers(where);
    const key = `${way}\t${row}`;
    const known = this.rows.get(key);
    const [worse, same] = known
      ? [ends.indexOf(known.end) - ends.indexOf(end), known.place <= place]
      : [-1];
    const isBest = this.best.some((pattern) => pattern.test(row)) && worse !== 0;
    if (known && (worse > 0 !== isBest || (worse === 0 && same))) return;
    this.rows.set(key, { way, row, end, place });
  }

  /** Sorted by way and row. */
  list() {
    return [...this.rows.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
  }
}

// Lists and pages are the same whatever the markers were.
function withoutMarkers(place) {
  return place
    .replace(/\.kzq[0-9a-z]{4}x/g, '')
    .replace(/zq[0-9a-z]{4}x|(?<!\d)7\d{6}(?!\d)/g, '*')
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '*');
}

/** The name of a row's own member, without labels and lists. */
export function memberOf(row) {
  const names = row.split('.').filter((name) => !name.startsWith('*'));
  return names.at(-1).replace(/[[\]]/g, '').split(':')[0];
}

/** Whether a text of the report or a warning names a member. */
export function names(texts, row) {
  const member = memberOf(row);
  return texts.some((text) => new RegExp(`(?<![A-Za-z0-9])${member}(?![A-Za-z0-9])`).test(text));
}

/** The texts that name what is not carried. */
export function notesOf({ events = [], report }) {
  const warnings = events
    .filter(({ name }) => name === 'millrace.warning')
    .map(({ value }) => `${value.code}: ${value.message}`);
  return [...(report.notes ?? []), ...warnings, ...(report.message ? [report.message] : [])];
}

/** Judges the markers of one instance in the events and the report of an answer. */
export function judgeEvents(ends, way, leaves, outcome, carriers) {
  const places = placesOf(outcome, markersIn);
  const notes = notesOf(outcome);
  for (const { row, marker } of leaves) {
    if (marker === undefined) continue;
    const found = [...(places.get(marker.text) ?? []), ...(places.get(marker.number) ?? [])];
    const carried = found.find((place) => isCarrier(carriers, row, place));
    if (carried) ends.add(way, row, 'carried', carried);
    else judgeUncarried(ends, way, row, found, notes);
  }
}

function judgeUncarried(ends, way, row, found, notes) {
  const raw = found.find((place) => isRaw(place, row));
  if (raw) ends.add(way, row, 'passed on', raw);
  else if (names(notes, row)) ends.add(way, row, 'named');
  else ends.add(way, row, 'lost', found[0] ? `elsewhere: ${found[0]}` : '');
}

function isCarrier(carriers, row, place) {
  return carriers.some(([rows, places]) => rows.test(row) && places.test(place));
}

// The member itself, under its own name.
function isRaw(place, row) {
  const names = place.replace(/\[\]|\{\}|\.kzq\w+/g, '').split('.');
  const member = memberOf(row);
  // `key` is the name of a map's only entry as well.
  const last = names.filter((name) => name !== 'key' || member === 'key').at(-1);
  return plain(last) === plain(member);
}

function plain(name) {
  return name.replace(/_/g, '').toLowerCase();
}

/** Judges a leaf by the outcomes that its values had: a map from value to outcome. */
export function judgeValues(ends, way, row, outcomes) {
  const seen = new Map();
  for (const [value, outcome] of outcomes) {
    const print = fingerprint(outcome);
    const same = seen.get(print);
    if (same !== undefined) return ends.add(way, row, 'lost', `the same: ${same}, ${value}`);
    seen.set(print, value);
  }
  return ends.add(way, row, 'carried', 'told apart');
}

/** Judges a turn that went back to its vendor: each leaf stands where it stood. */
export function judgeBack(ends, way, leaves, value, sent, report) {
  for (const { row, path, marker } of leaves) {
    if (marker === undefined) continue;
    judgePath(ends, way, { row, path }, value, sent, report, marker);
  }
}

/** Judges one leaf of a turn that went back. */
export function judgePath(ends, way, { row, path, absent }, value, sent, report, marker) {
  const wanted = valueAt(value, path) ?? absent;
  const alike = sent.filter((one) => isAlike(one, value));
  if (alike.some((one) => isBack(valueAt(one, path) ?? absent, wanted, marker)))
    return ends.add(way, row, 'carried');
  if (report.refused) return ends.add(way, row, 'lost', `refused: ${report.message}`);
  const places = marker ? placesOf({ events: [], report: { sent } }, markersIn) : new Map();
  const found = places.get(marker?.text) ?? places.get(marker?.number);
  if (found)
    return ends.add(way, row, 'lost', `elsewhere: ${found[0].replace(/^report\.sent\[\]\.?/, '')}`);
  const named = [row, row.split(/[.[:]/).slice(0, 2).join('.')].some((one) =>
    names(notesOf({ report }), one),
  );
  const shown = valueAt(alike[0], path);
  const given = marker ? '' : `${wanted} `;
  const other = shown === undefined ? given.trim() : `${given}became ${short(shown)}`;
  return ends.add(way, row, 'lost', named ? 'only named' : other);
}

function short(value) {
  const text = JSON.stringify(value) ?? 'nothing';
  return withoutMarkers(text).slice(0, 40);
}

// Whether a part of a request is of the kind of another: by its type or role, else by its first member.
function isAlike(one, value) {
  if (typeof one !== 'object' || one === null) return false;
  if (typeof value.type === 'string') return one.type === value.type;
  if (typeof value.role === 'string') return one.role === value.role;
  const [first] = Object.keys(value);
  return first === undefined || first in one;
}

// The same value; of an object of any shape, which the engine may complete, its marker.
function isBack(value, wanted, marker) {
  const text = JSON.stringify(value);
  if (text === JSON.stringify(wanted)) return true;
  return (
    typeof wanted === 'object' &&
    typeof value === 'object' &&
    marker !== undefined &&
    text.includes(marker.text)
  );
}
