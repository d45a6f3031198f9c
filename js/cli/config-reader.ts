// What a file of configuration means: its settings, keys and providers, or each thing that is wrong with it.
import { meantBy } from '../known-names';
import { providerRow } from '../model/settings';
import type { ServerKey } from '../server';
import type { ConfigProblem, FileNode, FileTable, Place } from './config-file';
import { ConfigError } from './config-file';
import {
  keyMembers,
  providerMembers,
  type Setting,
  settings,
  type SettingType,
  type SettingValue,
} from './config-settings';
import { keyScopes } from './key-scopes';

/** What a file has. */
export interface FileConfig {
  values: Map<string, SettingValue>;
  keys: ServerKey[];
  /** Settings as the engine takes them, by the id of the provider. */
  providers: Map<string, Record<string, SettingValue>>;
}

const sha256 = /^[0-9a-f]{64}$/u;
const providersTable = 'providers';
const keysArray = 'api.keys';

const sections = [...new Set(settings.map(({ name }) => name.split('.')[0] ?? '')), providersTable];

function wantedOf(type: SettingType): string {
  switch (type.kind) {
    case 'text':
      return 'a string';
    case 'choice':
      return type.of.map((one) => `"${one}"`).join(' or ');
    case 'integer':
      return `an integer from ${type.min} to ${type.max}`;
    case 'flag':
      return 'true or false';
    case 'list':
      return 'an array of strings';
  }
}

function kindOf(node: FileNode): string {
  if (node.kind !== 'value') return node.kind === 'table' ? 'a table' : 'an array';
  const article = /^[aeiou]/u.test(node.type) ? 'an' : 'a';
  return `${article} ${node.type}`;
}

/** The value of a node; undefined where it has another type. */
function valueOf(node: FileNode, type: SettingType): SettingValue | undefined {
  if (type.kind === 'list') {
    if (node.kind !== 'array') return undefined;
    const items = node.items.map((item) => valueOf(item, { kind: 'text' }));
    return items.every((item) => typeof item === 'string') ? items : undefined;
  }
  if (node.kind !== 'value') return undefined;
  const { value } = node;
  switch (type.kind) {
    case 'flag':
      return typeof value === 'boolean' ? value : undefined;
    case 'integer':
      if (typeof value !== 'bigint' || value < type.min || value > type.max) return undefined;
      return Number(value);
    case 'choice':
      return typeof value === 'string' && type.of.includes(value) ? value : undefined;
    case 'text':
      return node.type === 'string' ? String(value) : undefined;
  }
}

/** Collects what is wrong, so that one reading reports all of it. */
class Reader {
  readonly problems: ConfigProblem[] = [];

  add({ line, column }: Place, message: string): void {
    this.problems.push({ line, column, message });
  }

  /** Values are not shown: they may be secrets. */
  value(node: FileNode, name: string, type: SettingType): SettingValue | undefined {
    const value = valueOf(node, type);
    if (value === undefined) this.add(node, `${name} must be ${wantedOf(type)}, not ${saw(node)}.`);
    return value;
  }

  unknown(node: FileNode, what: string, name: string, known: readonly string[]): void {
    const meant = meantBy(name, known);
    const advice = meant ? `Did you mean '${meant}'?` : `There are ${known.join(', ')}.`;
    this.add(node.key ?? node, `There is no ${what} '${name.slice(0, 80)}'. ${advice}`);
  }

  table(node: FileNode, name: string): FileTable | undefined {
    if (node.kind === 'table') return node;
    this.add(node, `${name} must be a table, not ${kindOf(node)}.`);
    return undefined;
  }
}

// A number may be out of its bounds; it is no secret.
function saw(node: FileNode): string {
  return node.kind === 'value' && typeof node.value === 'bigint'
    ? String(node.value).slice(0, 40)
    : kindOf(node);
}

function readSection(reader: Reader, into: FileConfig, section: string, table: FileTable): void {
  const rows = new Map<string, Setting>(
    settings
      .filter(({ name }) => name.startsWith(`${section}.`))
      .map((row) => [row.name.slice(section.length + 1), row]),
  );
  for (const [key, node] of table.entries) {
    const name = `${section}.${key}`;
    const row = rows.get(key);
    if (name === keysArray) readKeys(reader, into, node);
    else if (row === undefined) {
      const known = [...rows.keys(), ...(section === 'api' ? ['keys'] : [])];
      reader.unknown(node, `setting in [${section}] called`, key, known);
    } else {
      const value = reader.value(node, name, row.type);
      if (value !== undefined) into.values.set(name, value);
    }
  }
}

function readKeys(reader: Reader, into: FileConfig, node: FileNode): void {
  if (node.kind !== 'array') {
    return reader.add(node, `${keysArray} must be an array of tables, not ${kindOf(node)}.`);
  }
  for (const item of node.items) {
    const table = reader.table(item, `each of ${keysArray}`);
    const key = table && readKey(reader, table);
    if (key) into.keys.push(key);
  }
}

function readKey(reader: Reader, table: FileTable): ServerKey | undefined {
  const before = reader.problems.length;
  const found = new Map<string, SettingValue>();
  for (const [member, node] of table.entries) {
    const type = Object.hasOwn(keyMembers, member) ? keyMembers[member] : undefined;
    if (type === undefined) {
      reader.unknown(node, `member of ${keysArray} called`, member, Object.keys(keyMembers));
      continue;
    }
    const value = reader.value(node, `${member} of ${keysArray}`, type);
    if (value !== undefined) found.set(member, value);
  }
  const text = (member: string): string | undefined => found.get(member) as string | undefined;
  const held = found.get('scopes') as readonly string[] | undefined;
  if (held && (held.length === 0 || held.some((scope) => !keyScopes.includes(scope)))) {
    reader.add(table, `scopes of ${keysArray} must be one or more of ${keyScopes.join(', ')}.`);
  }
  const [key, hash, principal] = [text('key'), text('sha256'), text('principal')];
  const isKnown = hash === undefined ? (key ?? '') !== '' : key === undefined && sha256.test(hash);
  if (!isKnown)
    reader.add(table, `Each of ${keysArray} needs a key, or its sha256 in place of it.`);
  if (principal === '') reader.add(table, `principal of ${keysArray} must not be empty.`);
  if (reader.problems.length > before) return undefined;
  const [perMinute, perDay] = [found.get('per_minute'), found.get('per_day')] as number[];
  return {
    ...{ name: text('name') ?? '', principal: principal ?? 'local' },
    ...(hash === undefined ? { key: key ?? '' } : { sha256: hash }),
    ...(held && { scopes: held }),
    ...((perMinute || perDay) && {
      limits: { ...(perMinute && { perMinute }), ...(perDay && { perDay }) },
    }),
  };
}

function readProviders(reader: Reader, into: FileConfig, table: FileTable): void {
  for (const [name, node] of table.entries) {
    const row = providerRow(name);
    if (row === undefined) {
      reader.add(node, `There is no provider '${name.slice(0, 80)}': see millrace providers.`);
      continue;
    }
    const given = reader.table(node, `${providersTable}.${name}`);
    if (!given) continue;
    const read: Record<string, SettingValue> = {};
    for (const [key, item] of given.entries) {
      const known = Object.hasOwn(providerMembers, key) ? providerMembers[key] : undefined;
      if (known === undefined) {
        reader.unknown(item, 'setting of a provider called', key, Object.keys(providerMembers));
        continue;
      }
      const value = reader.value(item, `${providersTable}.${name}.${key}`, known.type);
      if (value !== undefined) read[known.member] = value;
    }
    into.providers.set(row.id, read);
  }
}

/** The meaning of a file. Errors: ConfigError with everything that is wrong. */
export function configOf(root: FileTable, file: string): FileConfig {
  const reader = new Reader();
  const config: FileConfig = { values: new Map(), keys: [], providers: new Map() };
  for (const [section, node] of root.entries) {
    if (!sections.includes(section)) {
      reader.unknown(node, 'table called', section, sections);
      continue;
    }
    const table = reader.table(node, `[${section}]`);
    if (!table) continue;
    if (section === providersTable) readProviders(reader, config, table);
    else readSection(reader, config, section, table);
  }
  if (reader.problems.length > 0) throw new ConfigError(file, reader.problems);
  return config;
}
