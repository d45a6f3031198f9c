// Members of recorded answers that the SDK's types do not have, such as those that compatible vendors add to OpenAI's
// wires: each text and number gets a marker where it first occurs, each flag both values. The recordings are no part of the repository: MILLRACE_RECORDINGS names
// their folder.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { each } from './each.mjs';
import { Engine } from './engine.mjs';
import { Markers } from './instances.mjs';
import { Ends, judgeEvents, judgeValues } from './judge.mjs';
import { hasPath, readModel } from './model.mjs';

const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));
const folder = process.env.MILLRACE_RECORDINGS ?? resolve(root, '../shared/recordings');

const adapters = {
  'openai-chat': 'openAIAdapter',
  'openai-responses': 'openAIResponsesAdapter',
  anthropic: 'anthropicAdapter',
  gemini: 'geminiAdapter',
  interactions: 'geminiInteractionsAdapter',
  cohere: 'cohereAdapter',
  bedrock: 'bedrockConverseAdapter',
};
// Names whose values say what a record is or link it to others.
const structural =
  /(^|\.)(type|event_type|object|role|id|item_id|call_id|tool_use_id|toolUseId|index|\w+_index|sequence_number|status|finish_reason|finishReason|stop_reason|stopReason|contentBlockIndex|sequence)$/;

function wireOf(records) {
  const has = (test) => records.some(test);
  if (has(({ choices }) => Array.isArray(choices))) return 'openai-chat';
  if (has(({ type }) => type === 'message_start')) return 'anthropic';
  if (has(({ type }) => `${type}`.startsWith('response.'))) return 'openai-responses';
  if (has(({ candidates }) => Array.isArray(candidates))) return 'gemini';
  if (has(({ event_type: type }) => typeof type === 'string')) return 'interactions';
  if (has(({ type }) => type === 'message-start')) return 'cohere';
  const isOfBedrock = (record) =>
    ['contentBlockDelta', 'messageStop'].some((name) => name in record);
  return has(isOfBedrock) ? 'bedrock' : undefined;
}

function parsed(line) {
  try {
    return [JSON.parse(line)];
  } catch {
    return [];
  }
}

function recordings() {
  const vendors = readdirSync(folder, { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  );
  const names = vendors.flatMap(({ name }) =>
    readdirSync(join(folder, name)).map((file) => join(name, file)),
  );
  return names.sort().map((name) => {
    const records = readFileSync(join(folder, name), 'utf8').split('\n').flatMap(parsed);
    return { name, records, wire: wireOf(records) };
  });
}

// The first place of each text and number: { row, at, path }.
function leavesOf(records, wire, known) {
  const node = (wire.nodes ??= readModel(wire.types, wire.leaves))[wire.events?.type ?? 'Whole'];
  const leaves = [];
  const walk = (value, row, at, path) => {
    if (Array.isArray(value))
      return value.forEach((item, index) => walk(item, `${row}[]`, at, [...path, index]));
    if (typeof value === 'object' && value !== null) {
      return Object.entries(value).forEach(([name, inner]) =>
        walk(inner, `${row}.${name}`, at, [...path, name]),
      );
    }
    if (!['string', 'number', 'boolean'].includes(typeof value)) return undefined;
    if (value === '' || known.has(row) || structural.test(row)) return undefined;
    known.add(row);
    if (hasPath(node, wire.events?.nameOf(records[at]) ?? '', path, wire.rules)) return undefined;
    return leaves.push({ row, at, path, isFlag: typeof value === 'boolean' });
  };
  records.forEach((record, at) => walk(record, `${wire.name}:${labelOf(record)}`, at, []));
  return leaves;
}

function labelOf(record) {
  const label = record.type ?? record.event_type ?? record.object;
  if (typeof label === 'string') return label;
  return Object.keys(record).length === 1 ? Object.keys(record)[0] : 'record';
}

// Records with another value at one place.
function replaced(records, { at, path }, made) {
  const copy = structuredClone(records[at]);
  const owner = path.slice(0, -1).reduce((value, name) => value[name], copy);
  owner[path.at(-1)] = typeof made === 'function' ? made(owner[path.at(-1)]) : made;
  return records.with(at, copy);
}

// Records with a marker at one place.
function marked(records, leaf, marker) {
  return replaced(records, leaf, (value) =>
    typeof value === 'number' ? marker.number : textLike(value, marker.text),
  );
}

// JSON stays JSON.
function textLike(value, text) {
  return /^\s*[[{]/.test(value) && parsed(value).length > 0 ? JSON.stringify({ q: text }) : text;
}

/** Reads every recording once for each member that it has first. */
export async function playRecordings(wires) {
  const ends = new Ends();
  const counts = { instances: 0, answers: 0, read: 0 };
  const known = new Set();
  const markers = new Markers();
  const unread = [];
  for (const { name: file, records, wire: name } of recordings()) {
    const wire = wires.find((one) => one.name === name);
    if (!wire) {
      unread.push(file);
      continue;
    }
    counts.instances += 1;
    const adapter = { name: adapters[name], options: () => ({}) };
    const engine = new Engine(undefined, { ...wire, adapter });
    await each(leavesOf(records, wire, known), async (leaf) => {
      if (leaf.isFlag) return playFlag(ends, engine, wire, records, leaf);
      const marker = markers.next();
      const outcome = await engine.read(wire.bytes(marked(records, leaf, marker)));
      const carriers = [...wire.carriers, ...recorded];
      judgeEvents(ends, 'stream', [{ row: leaf.row, marker }], outcome, carriers);
      counts.answers += 1;
    });
  }
  return { ends, counts, unread };
}

// A flag is sent with both values.
async function playFlag(ends, engine, wire, records, leaf) {
  const outcomes = new Map();
  for (const value of [false, true]) {
    outcomes.set(`${value}`, await engine.read(wire.bytes(replaced(records, leaf, value))));
  }
  judgeValues(ends, 'stream', leaf.row, outcomes);
}

// Records hold pieces, so texts stand at other rows than those of whole answers.
const text = /^(TEXT_MESSAGE_CONTENT|REASONING_MESSAGE_CONTENT|TOOL_CALL_ARGS)\.delta/;
const recorded = [
  [
    /(delta|delta\.(content|text|thinking|reasoning|reasoning_content)|\.text|arguments|partial_json|input|code)$/,
    text,
  ],
  [
    /(signature|encrypted_content|thoughtSignature|data)$/,
    /^REASONING_ENCRYPTED_VALUE\.encryptedValue/,
  ],
  [/\.name$/, /^TOOL_CALL_START\.toolCallName$/],
  [/(output|content|result)\b/, /^TOOL_CALL_RESULT\.content/],
  [/usage|token/i, /^(RUN_FINISHED\.usage|millrace\.usage\.value)/],
  [/(citations|annotations|citation)\b/, /^millrace\.citation\.value\.citation/],
];
