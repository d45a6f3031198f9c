// What is left out of an exported run: values of arguments that are secret, wherever else they are.
import { jsonOf } from '../plain-values';
import { completedJson } from './cut-json';

/** A record as lib/journal/record_json.hpp writes it. */
export interface ExportedRecord {
  seq: number;
  at: number;
  branch?: number;
  fact?: Fields;
  event?: Fields;
}

type Fields = Record<string, unknown>;

/** Whether the value of a member of arguments is secret. */
export type SecretNames = (name: string) => boolean;

/** Takes the place of a secret. */
export const redacted = '[redacted]';

const usual =
  /pass(word|phrase|wd)$|secret|credential|^authorization$|(api|access|private)[-_]?key$|^([a-z]+[-_])?token$|[a-z]Token$/i;

/** Names that are secret in any tool, and those that were declared. */
export function secretNames(declared: readonly string[]): SecretNames {
  const known = new Set(declared);
  return (name) => known.has(name) || usual.test(name);
}

// A shorter text is found in others by chance.
const shortest = 4;

// Names the arguments of one call of a tool: another attempt of a model may use the id of a call again.
class CallKeys {
  readonly #begun = new Map<string, number>();

  /** The key of the call that the event is about. */
  of(event: Fields | undefined, branch: number): string {
    const type = event?.['type'];
    const call = `${branch} ${String(event?.['id'])}`;
    const all = `${branch} every`;
    if (type === 'ToolStart') this.#count(call);
    if (type === 'Reset') this.#count(all);
    const key = `${call} ${this.#begun.get(all) ?? 0} ${this.#begun.get(call) ?? 0}`;
    if (type === 'ToolEnd') this.#count(call);
    return key;
  }

  #count(name: string): void {
    this.#begun.set(name, (this.#begun.get(name) ?? 0) + 1);
  }
}

/** Learns the secrets of all records first, then cleans them in their order. */
export class Redaction {
  readonly #isSecret: SecretNames;
  readonly #secrets = new Set<string>();
  // At each place the longest, which one may begin like another: secrets may overlap.
  #pattern: RegExp | undefined;
  readonly #learnedKeys = new CallKeys();
  readonly #cleanedKeys = new CallKeys();
  // Calls whose arguments have secrets, and the cleaned arguments until they were shown.
  readonly #calls = new Map<string, string>();
  readonly #written = new Map<string, string>();
  // Of each open part, what may be the beginning of a secret.
  readonly #held = new Map<string, string>();
  #longest = 0;
  #hasAny = false;

  constructor(isSecret: SecretNames) {
    this.#isSecret = isSecret;
  }

  learn(records: readonly ExportedRecord[]): void {
    for (const { event, fact, branch = 0 } of records) {
      const call = this.#learnedKeys.of(event, branch);
      if (event?.['type'] === 'ToolArgs') {
        this.#written.set(call, `${this.#written.get(call) ?? ''}${String(event['delta'])}`);
      } else if (event?.['type'] === 'ToolEnd') this.#readArguments(call);
      else for (const given of argumentsIn(fact ?? event ?? {})) this.#find(given);
    }
  }

  /** All records were learned. */
  learned(): void {
    // Arguments that were cut are no JSON.
    for (const call of [...this.#written.keys()]) this.#readArguments(call);
    const sorted = [...this.#secrets].sort((a, b) => b.length - a.length);
    const escaped = sorted.map((secret) => secret.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
    this.#pattern = escaped.length > 0 ? new RegExp(`(?=(${escaped.join('|')}))`, 'g') : undefined;
  }

  clean(records: readonly ExportedRecord[]): ExportedRecord[] {
    return this.#hasAny ? records.flatMap((record) => this.#cleanRecord(record)) : [...records];
  }

  /** A value without the secrets. */
  cleanValue<T>(value: T): T {
    return (this.#hasAny ? this.#cleanJson(value, false) : value) as T;
  }

  // The arguments as the model wrote them, in pieces.
  #readArguments(call: string): void {
    const text = this.#written.get(call) ?? '';
    this.#written.delete(call);
    const value = jsonOf(text);
    if (value === undefined) {
      if (this.#findInCut(text)) this.#hide(call, redacted);
    } else if (this.#find(value)) {
      this.#hide(call, JSON.stringify(this.#cleanJson(value, true)));
    }
  }

  // Whether a text that is no JSON may have a secret.
  #findInCut(text: string): boolean {
    if (text === '') return false;
    const value = completedJson(text);
    if (value !== undefined) return this.#find(value) || this.#hasSecretName(text);
    for (const [, name = '', begun = ''] of text.matchAll(
      /"([^"\\]+)"\s*:\s*"((?:[^"\\]|\\.)*)/gs,
    )) {
      if (this.#isSecret(name)) this.#addAll(jsonOf(`"${begun}"`) ?? begun);
    }
    // The end of what another attempt began has the end of its secret.
    return !/^\s*[{[]/.test(text) || this.#hasSecretName(text);
  }

  #hasSecretName(text: string): boolean {
    return [...text.matchAll(/"([^"\\]+)"\s*:/g)].some(([, name = '']) => this.#isSecret(name));
  }

  #hide(call: string, shown: string): void {
    this.#hasAny = true;
    this.#calls.set(call, shown);
  }

  // Whether there is a secret.
  #find(value: unknown): boolean {
    let isFound = false;
    for (const [name, member] of membersOf(value)) {
      const isSecret = this.#isSecretMember(name, member);
      if (isSecret) this.#addAll(member);
      isFound = (isSecret ? true : this.#find(member)) || isFound;
    }
    return isFound;
  }

  #isSecretMember(name: string, value: unknown): boolean {
    const canBe = ['string', 'number', 'object'].includes(typeof value) && value !== null;
    return canBe && this.#isSecret(name);
  }

  #addAll(value: unknown): void {
    this.#hasAny = true;
    if (typeof value === 'string' || typeof value === 'number') this.#add(String(value));
    else for (const [, member] of membersOf(value)) this.#addAll(member);
  }

  #add(secret: string): void {
    this.#hasAny = true;
    if (secret.length < shortest || secret === redacted) return;
    // Also within JSON, and within JSON in a text of JSON.
    const once = JSON.stringify(secret).slice(1, -1);
    for (const form of [JSON.stringify(once).slice(1, -1), once, secret]) {
      this.#secrets.add(form);
      this.#longest = Math.max(this.#longest, form.length);
    }
  }

  #cleanRecord(record: ExportedRecord): ExportedRecord[] {
    const { fact, event, branch = 0 } = record;
    // A short secret can be found by its hash.
    if (fact?.['argsHash'] !== undefined)
      return [this.#withFact(record, { ...fact, argsHash: redacted })];
    if (!event) return [this.#withFact(record, fact ?? {})];
    const call = this.#cleanedKeys.of(event, branch);
    if (event['type'] === 'ToolArgs' && this.#calls.has(call)) {
      return this.#cleanArguments(record, call);
    }
    const part = `${branch} ${String(event['id'])}`;
    if (typeof event['delta'] === 'string') return [this.#cleanDelta(record, part, event['delta'])];
    // A token of a model is no secret.
    const cleaned = this.#cleanJson(event, event['type'] !== 'Logprobs') as Fields;
    return [...this.#rest(record, part), { ...record, event: cleaned }];
  }

  #withFact(record: ExportedRecord, fact: Fields): ExportedRecord {
    return { ...record, fact: this.#cleanJson(fact, true) as Fields };
  }

  // All of the arguments at once: pieces of JSON cannot be cleaned one by one.
  #cleanArguments(record: ExportedRecord, call: string): ExportedRecord[] {
    const delta = this.#calls.get(call) ?? '';
    this.#calls.set(call, '');
    return delta === '' ? [] : [{ ...record, event: { ...record.event, delta } }];
  }

  // A secret may begin in one piece of a text and end in another.
  #cleanDelta(record: ExportedRecord, part: string, delta: string): ExportedRecord {
    const whole = `${this.#held.get(part) ?? ''}${delta}`;
    const end = this.#heldFrom(whole);
    this.#held.set(part, whole.slice(end));
    return { ...record, event: { ...record.event, delta: this.#cleanText(whole.slice(0, end)) } };
  }

  // Where the end of a text begins that may be the beginning of a secret, or of others that it overlaps.
  #heldFrom(text: string): number {
    const from = this.#openFrom(text);
    const around = this.#covered(text).find(([begin, end]) => begin < from && from < end);
    return around?.[0] ?? from;
  }

  #openFrom(text: string): number {
    for (let at = Math.max(0, text.length - this.#longest + 1); at < text.length; at += 1) {
      const end = text.slice(at);
      for (const secret of this.#secrets) {
        if (secret.length > end.length && secret.startsWith(end)) return at;
      }
    }
    return text.length;
  }

  // What secrets cover of a text: those that overlap are one.
  #covered(text: string): [begin: number, end: number][] {
    const parts: [begin: number, end: number][] = [];
    for (const { index, 1: secret = '' } of this.#pattern ? text.matchAll(this.#pattern) : []) {
      const end = index + secret.length;
      const last = parts.at(-1);
      if (last !== undefined && index < last[1]) last[1] = Math.max(last[1], end);
      else parts.push([index, end]);
    }
    return parts;
  }

  // What was held back comes at the end of its part.
  #rest(record: ExportedRecord, part: string): ExportedRecord[] {
    const { event } = record;
    const end = /^(Text|Reasoning|Tool)End$/.exec(String(event?.['type']))?.[1];
    const delta = this.#cleanText(this.#held.get(part) ?? '');
    if (end === undefined || delta === '') return [];
    this.#held.delete(part);
    const type = end === 'Tool' ? 'ToolArgs' : `${end}Delta`;
    return [{ ...record, event: { type, id: event?.['id'], delta } }];
  }

  #cleanText(text: string): string {
    let cleaned = '';
    let at = 0;
    for (const [begin, end] of this.#covered(text)) {
      cleaned += text.slice(at, begin) + redacted;
      at = end;
    }
    return cleaned + text.slice(at);
  }

  #cleanJson(value: unknown, byName: boolean): unknown {
    if (typeof value === 'string') return this.#cleanText(value);
    if (Array.isArray(value)) return value.map((item) => this.#cleanJson(item, byName));
    if (typeof value !== 'object' || value === null) return value;
    const members = Object.entries(value).map(([name, member]) => [
      name,
      byName && this.#isSecretMember(name, member) ? redacted : this.#cleanJson(member, byName),
    ]);
    return Object.fromEntries(members) as object;
  }
}

// Arguments of calls in a record, also those that the user is shown or has edited.
function argumentsIn(value: unknown): unknown[] {
  return membersOf(value).flatMap(([name, member]) =>
    ['args', 'arguments', 'editedArgs', 'edits'].includes(name)
      ? [typeof member === 'string' ? jsonOf(member) : member]
      : argumentsIn(member),
  );
}

function membersOf(value: unknown): [string, unknown][] {
  if (Array.isArray(value)) return value.map((item): [string, unknown] => ['', item]);
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}
