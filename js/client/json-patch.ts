// JSON Patch (RFC 6902) in pages. The engine's (lib/base/json_patch.cpp) decides what fits; a test compares both.

const copyLimit = 16 * 1024 * 1024;

type Json = unknown;
type Container = Record<string, Json>;

/** Where a pointer leads; `value` is undefined where nothing is. */
interface Place {
  parent: Json;
  key: string;
  value: Json;
}

/** A patched copy of `value`; undefined when the patch is malformed or does not fit. */
export function patched(value: Json, patch: unknown): Json {
  if (!Array.isArray(patch)) return undefined;
  // The document is the member "": with it begin the tokens of each pointer.
  const holder: Container = { '': structuredClone(value) };
  let copied = 0;
  const fits = (operation: unknown): boolean => {
    const { op, path, from, value: given } = Object(operation) as Container;
    const at = (pointer: unknown): Place | undefined => placeOf(holder, pointer);
    const source = at(from);
    const target = at(path);
    switch (op) {
      case 'add':
        return insert(target, structuredClone(given));
      case 'replace':
        return target?.value !== undefined && set(target, structuredClone(given));
      case 'remove':
        return take(target, holder) !== undefined;
      case 'move': {
        if (String(path).startsWith(`${String(from)}/`)) return false;
        const taken = take(source, holder);
        return insert(at(path), taken);
      }
      case 'copy':
        if (source?.value === undefined) return false;
        // Copies of copies grow without end.
        copied += JSON.stringify(source.value).length;
        return copied <= copyLimit && insert(target, structuredClone(source.value));
      case 'test':
        return given !== undefined && isSame(target?.value, given);
      default:
        return false;
    }
  };
  return patch.every(fits) ? holder[''] : undefined;
}

// By a JSON Pointer (RFC 6901); undefined when it is malformed.
function placeOf(holder: Container, pointer: unknown): Place | undefined {
  if (typeof pointer !== 'string' || /^[^/]|~(?![01])/.test(pointer)) return undefined;
  const parts = pointer.split('/');
  const tokens = parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const key = tokens.pop() as string;
  const parent = tokens.reduce<Json>((at, token) => childOf(at, token), holder);
  return { parent, key, value: childOf(parent, key) };
}

const isContainer = (value: Json): value is Container =>
  typeof value === 'object' && value !== null;

function childOf(parent: Json, key: string): Json {
  if (Array.isArray(parent)) return parent[indexOf(key, parent.length)];
  return isContainer(parent) && Object.hasOwn(parent, key) ? parent[key] : undefined;
}

// What a list has no element at is -1.
const indexOf = (key: string, size: number): number =>
  /^(?:0|[1-9]\d*)$/.test(key) && Number(key) < size ? Number(key) : -1;

// As a member of its own, also where the name is one of the prototype's. JSON has no undefined.
function set({ parent, key }: Place, value: Json): boolean {
  const all = { value, enumerable: true, configurable: true, writable: true };
  if (value !== undefined) Object.defineProperty(parent, key, all);
  return value !== undefined;
}

function insert(place: Place | undefined, value: Json): boolean {
  if (!place || !isContainer(place.parent)) return false;
  const { parent, key } = place;
  if (!Array.isArray(parent)) return set(place, value);
  const at = key === '-' ? parent.length : indexOf(key, parent.length + 1);
  if (at < 0 || value === undefined) return false;
  parent.splice(at, 0, value);
  return true;
}

// The document itself stays.
function take(place: Place | undefined, holder: Container): Json {
  const { parent, key, value } = place ?? ({} as Place);
  if (value === undefined || parent === holder) return undefined;
  if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else delete (parent as Container)[key];
  return value;
}

// Equality of JSON values: members in any order.
function isSame(a: Json, b: Json): boolean {
  if (!isContainer(a) || !isContainer(b)) return a === b;
  const names = Object.keys(a);
  return (
    Array.isArray(a) === Array.isArray(b) &&
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && isSame(a[name], b[name]))
  );
}
