// The rooms of js/: which of them a file is in, what it may import, and that no imports form a circle. Imports of types
// count as well: whoever reads a file has to read them, too.
import { posix } from 'node:path';

/** `files`: path from the root -> text; those outside of js/ are passed over. Gives sentences. */
export function jsViolations(files, { rooms, files: rooted }) {
  const graph = new Map();
  for (const [path, text] of files) {
    if (path.startsWith('js/')) graph.set(path, importsOf(path, text));
  }
  const roomOf = (path) => rooted[path] ?? roomByFolder(path, rooms);
  const found = [];
  for (const [path, targets] of graph) {
    const room = roomOf(path);
    if (room === undefined) found.push(`${path}: its folder has no row in scripts/layers.json`);
    else found.push(...upward(path, targets, room, roomOf, rooms));
  }
  return [...found, ...circlesIn(graph)];
}

// `base` is what lies in js/ itself. Of two folders that have a row the inner one counts.
function roomByFolder(path, rooms) {
  const folder = posix.dirname(path).slice('js/'.length);
  if (folder === '') return 'base';
  const names = Object.keys(rooms).filter((name) => `${folder}/`.startsWith(`${name}/`));
  return names.sort((a, b) => b.length - a.length)[0];
}

function upward(path, targets, room, roomOf, rooms) {
  const allowed = reachable(room, rooms);
  return targets
    .map((target) => [target, roomOf(target)])
    .filter(([, to]) => to !== undefined && !allowed.has(to))
    .map(([target, to]) => `${path}: '${room}' must not import '${to}' (${target})`);
}

/** The rooms that a room may use: itself, those of its row, and what those may use; * is every room. */
export function reachable(room, rooms, seen = new Set([room])) {
  for (const next of rooms[room] ?? []) {
    if (next === '*') Object.keys(rooms).forEach((name) => seen.add(name));
    else if (!seen.has(next)) reachable(next, rooms, seen.add(next));
  }
  return seen;
}

// --- imports ---------------------------------------------------------------------------------------

const forms = [
  /^\s*(?:import|export)\b[^'";]*\bfrom\s*['"]([^'"]+)['"]/gm,
  /^\s*import\s*['"]([^'"]+)['"]/gm,
  /\b(?:import|require)\s*\(\s*['"]([^'"]+)['"]/g,
];

// The files of js/ that a file imports, whether as values or as types.
function importsOf(path, text) {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1');
  const names = forms.flatMap((form) => [...code.matchAll(form)].map((match) => match[1]));
  const targets = names
    .filter((name) => name.startsWith('.'))
    .map((name) => posix.join(posix.dirname(path), name.replace(/\.[cm]?[jt]s$/, '')))
    .filter((target) => target.startsWith('js/'));
  return [...new Set(targets.map((target) => `${target}.ts`))];
}

// --- circles ---------------------------------------------------------------------------------------

// One circle of each knot of files, the shortest through its first file.
function circlesIn(graph) {
  const found = [];
  const done = new Set();
  for (const path of [...graph.keys()].sort()) {
    if (done.has(path)) continue;
    const circle = shortestCircle(path, graph);
    if (circle === undefined) continue;
    circle.forEach((member) => done.add(member));
    found.push(
      `${circle.join(' -> ')}: imports in a circle; move what they share to a file of its own`,
    );
  }
  return found;
}

function shortestCircle(start, graph) {
  const before = new Map([[start, undefined]]);
  // A map goes on with what is added to it.
  for (const path of before.keys()) {
    for (const target of graph.get(path) ?? []) {
      if (target === start) return [...wayTo(path, before), start];
      if (graph.has(target) && !before.has(target)) before.set(target, path);
    }
  }
  return undefined;
}

function wayTo(path, before) {
  const way = [];
  for (let at = path; at !== undefined; at = before.get(at)) way.unshift(at);
  return way;
}
