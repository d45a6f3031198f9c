// A configuration file as a tree of tables, arrays and values, each with its place.
import { readFileSync } from 'node:fs';

import { messageOf } from '../thrown';
import { UsageError } from './command';
import { ParseError, parseTOML } from './toml-parser';
import type { TomlContent, TomlKeyValue, TomlPlace, TomlTable } from './toml-parser';

/** Where something is in the file, both from 1. */
export interface Place {
  line: number;
  column: number;
}

interface Placed extends Place {
  /** Of its name, where it has one. */
  key?: Place;
}

export interface FileTable extends Placed {
  kind: 'table';
  entries: Map<string, FileNode>;
}

/** A value of the file; numbers are exact. */
export interface FileScalar extends Placed {
  kind: 'value';
  /** As TOML calls it: string, integer, float, boolean, or a kind of date. */
  type: string;
  value: string | number | bigint | boolean;
}

export type FileNode = FileTable | FileScalar | (Placed & { kind: 'array'; items: FileNode[] });

/** What is wrong at a place of the file. */
export interface ConfigProblem extends Place {
  message: string;
}

/** What is wrong with a file of configuration: nothing of it is used. */
export class ConfigError extends UsageError {
  constructor(
    readonly file: string,
    readonly problems: readonly ConfigProblem[],
    options?: ErrorOptions,
  ) {
    const lines = problems.map((one) => `${file}:${one.line}:${one.column}: ${one.message}`);
    super(lines.join('\n'), options);
  }
}

const mostBytes = 1 << 20;

function placeOf({ loc }: { loc: { start: TomlPlace } }): Place {
  return { line: loc.start.line, column: loc.start.column + 1 };
}

function tableAt(place: Place): FileTable {
  return { kind: 'table', entries: new Map(), ...place };
}

// The parser has checked that a name of a path is a table, or an array of tables that goes on with its last one.
function inside(table: FileTable, name: string, place: Place): FileTable {
  const found = table.entries.get(name);
  if (found?.kind === 'table') return found;
  if (found?.kind === 'array') {
    const last = found.items.at(-1);
    if (last?.kind === 'table') return last;
  }
  const made = tableAt(place);
  table.entries.set(name, made);
  return made;
}

function nodeOf(content: TomlContent): FileNode {
  const place = placeOf(content);
  if (content.type === 'TOMLArray') {
    return { kind: 'array', items: content.elements.map(nodeOf), ...place };
  }
  if (content.type === 'TOMLInlineTable') {
    const table = tableAt(place);
    for (const entry of content.body) put(table, entry);
    return table;
  }
  const { kind: type, value, bigint } = content;
  const exact = bigint ?? (value instanceof Date ? String(value) : value);
  return { kind: 'value', type, value: exact, ...place };
}

function put(table: FileTable, entry: TomlKeyValue): void {
  const names = entry.key.keys.map(({ name, value }) => name ?? value ?? '');
  const last = names.pop() ?? '';
  const place = placeOf(entry);
  let at = table;
  for (const name of names) at = inside(at, name, place);
  at.entries.set(last, { ...nodeOf(entry.value), key: place });
}

function openTable(root: FileTable, table: TomlTable): FileTable {
  const names = table.resolvedKey.filter((part) => typeof part === 'string');
  const last = names.pop() ?? '';
  const place = placeOf(table.key);
  let at = root;
  for (const name of names) at = inside(at, name, place);
  if (table.kind === 'standard') return inside(at, last, place);
  const found = at.entries.get(last);
  const made = tableAt(place);
  if (found?.kind === 'array') found.items.push(made);
  else at.entries.set(last, { kind: 'array', items: [made], ...place });
  return made;
}

/** Reads TOML. Errors: ConfigError with the place of what is no TOML. */
export function parseConfig(text: string, file: string): FileTable {
  const root = tableAt({ line: 1, column: 1 });
  try {
    // Editors of some systems begin a file with a byte order mark.
    const [top] = parseTOML(text.startsWith('\uFEFF') ? text.slice(1) : text).body;
    for (const entry of top.body) {
      if (entry.type === 'TOMLKeyValue') put(root, entry);
      else {
        const table = openTable(root, entry);
        for (const one of entry.body) put(table, one);
      }
    }
  } catch (cause) {
    if (!(cause instanceof ParseError)) throw cause;
    const place = { line: cause.lineNumber, column: cause.column + 1 };
    throw new ConfigError(file, [{ ...place, message: `${cause.message}.` }], { cause });
  }
  return root;
}

/** Reads a file of TOML. Errors: ConfigError; UsageError where it cannot be read. */
export function readConfig(file: string): FileTable {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (cause) {
    throw new UsageError(`--config: ${file} cannot be read: ${messageOf(cause)}`, { cause });
  }
  if (bytes.length > mostBytes) throw new UsageError(`--config: ${file} is larger than 1 MiB.`);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new UsageError(`--config: ${file} is not UTF-8.`, { cause });
  }
  return parseConfig(text, file);
}
