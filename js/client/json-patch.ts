// JSON Patch (RFC 6902) in pages. The engine's (lib/base/json_patch.cpp) decides what fits; a test compares both.

const copyLimit = 16 * 1024 * 1024;

type Json = unknown;
type Container = Record<string, Json> | Json[];

/** A patched copy of `value`; undefined when the patch is malformed or does not fit. */
export function patched(value: Json, patch: unknown): Json {
  if (!Array.isArray(patch)) return undefined;
  const patcher = new Patcher(structuredClone(value));
  return patch.every((operation) => patcher.apply(operation)) ? patcher.root : undefined;
}

class Patcher {
  root: Json;
  #copied = 0;

  constructor(root: Json) {
    this.root = root;
  }

  /** False when the operation does not fit. */
  apply(operation: unknown): boolean {
    const { op, path, from, value } = (operation ?? {}) as Record<string, unknown>;
    switch (op) {
      case 'add':
        return value !== undefined && this.#insert(path, structuredClone(value));
      case 'replace':
        return value !== undefined && this.#replace(path, structuredClone(value));
      case 'remove':
        return this.#take(path) !== undefined;
      case 'move':
        return this.#move(from, path);
      case 'copy':
        return this.#copy(from, path);
      case 'test':
        return value !== undefined && isSame(this.#find(path), value);
      default:
        return false;
    }
  }

  #move(from: unknown, path: unknown): boolean {
    if (typeof from !== 'string' || typeof path !== 'string') return false;
    if (path.startsWith(`${from}/`)) return false;
    const taken = this.#take(from);
    return taken !== undefined && this.#insert(path, taken);
  }

  #copy(from: unknown, path: unknown): boolean {
    const source = this.#find(from);
    if (source === undefined) return false;
    // Copies of copies grow without end.
    this.#copied += JSON.stringify(source).length;
    return this.#copied <= copyLimit && this.#insert(path, structuredClone(source));
  }

  #replace(path: unknown, value: Json): boolean {
    if (this.#find(path) === undefined) return false;
    const tokens = tokensOf(path) as string[];
    const last = tokens.pop();
    if (last === undefined) this.root = value;
    else setMember(this.#walk(tokens) as Container, last, value);
    return true;
  }

  #insert(path: unknown, value: Json): boolean {
    const tokens = tokensOf(path);
    const last = tokens?.pop();
    if (!tokens) return false;
    if (last === undefined) {
      this.root = value;
      return true;
    }
    const parent = this.#walk(tokens);
    if (Array.isArray(parent)) {
      const index = last === '-' ? parent.length : indexOf(last, parent.length + 1);
      if (index !== undefined) parent.splice(index, 0, value);
      return index !== undefined;
    }
    if (!isContainer(parent)) return false;
    setMember(parent, last, value);
    return true;
  }

  #take(path: unknown): Json {
    const tokens = tokensOf(path);
    const last = tokens?.pop();
    if (!tokens || last === undefined) return undefined;
    const parent = this.#walk(tokens);
    const target = childOf(parent, last);
    if (target === undefined) return undefined;
    if (Array.isArray(parent)) parent.splice(Number(last), 1);
    else delete (parent as Record<string, Json>)[last];
    return target;
  }

  #find(path: unknown): Json {
    const tokens = tokensOf(path);
    return tokens && this.#walk(tokens);
  }

  #walk(tokens: readonly string[]): Json {
    return tokens.reduce<Json>((at, token) => childOf(at, token), this.root);
  }
}

const isContainer = (value: Json): value is Container =>
  typeof value === 'object' && value !== null;

function childOf(parent: Json, token: string): Json {
  if (!isContainer(parent)) return undefined;
  if (!Array.isArray(parent)) return Object.hasOwn(parent, token) ? parent[token] : undefined;
  const index = indexOf(token, parent.length);
  return index === undefined ? undefined : parent[index];
}

// As a member of its own, also where the name is one of the prototype's.
function setMember(parent: Container, token: string, value: Json): void {
  const all = { value, enumerable: true, configurable: true, writable: true };
  Object.defineProperty(parent, token, all);
}

// The reference tokens of a JSON Pointer (RFC 6901); undefined when it is malformed.
function tokensOf(pointer: unknown): string[] | undefined {
  if (typeof pointer !== 'string') return undefined;
  if (pointer === '') return [];
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer)) return undefined;
  const parts = pointer.slice(1).split('/');
  return parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function indexOf(token: string, size: number): number | undefined {
  const index = /^(?:0|[1-9]\d*)$/.test(token) ? Number(token) : size;
  return index < size ? index : undefined;
}

// Equality of JSON values: members in any order.
function isSame(a: Json, b: Json): boolean {
  if (!isContainer(a) || !isContainer(b)) return a === b;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every(
    (name) => Object.hasOwn(b, name) && isSame(memberOf(a, name), memberOf(b, name)),
  );
}

const memberOf = (value: Container, name: string): Json => (value as Record<string, Json>)[name];
