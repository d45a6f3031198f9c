// Tools as users hold them: in a list, a map or a record, written out or made by a class.
import { MillraceError } from '../errors';

const members = [
  ...['description', 'input', 'parameters', 'effect', 'approve', 'timeoutMs', 'resultLimit'],
  ...['retries', 'ordered', 'serializeBy', 'run', 'execute'],
];

/** Refuses two tools of one name. */
export function refuseTwo(name: string): never {
  throw new MillraceError(
    'invalid_option',
    `There are two tools called ${name}; clients of one MCP server are told apart by their option \`name\`.`,
  );
}

/** The tools of a list, a map or a record, whose keys are the names. */
export function toolsIn<Tool extends { name?: unknown }>(given: unknown): Tool[] {
  if (given === null || given === undefined) return [];
  if (typeof given !== 'object') {
    throw new MillraceError(
      'invalid_option',
      '`tools` has to be a list, a map or a record of tools.',
    );
  }
  if (given instanceof Map) return [...(given as Map<string, Tool>)].map(named);
  if (Symbol.iterator in given) return [...(given as Iterable<Tool>)];
  return Object.entries(given as Record<string, Tool>).map(named);
}

function named<Tool extends { name?: unknown }>([name, one]: [string, Tool]): Tool {
  if (typeof one !== 'object' || one === null || one.name === name) return one;
  const prototype = Object.getPrototypeOf(one) as unknown;
  if (prototype === Object.prototype || prototype === null) return { ...one, name };
  // The methods of an instance are not its own, and need it. Its copy is no plain object either: an
  // instance may have members that nobody reads.
  const copy = Object.create(Object.create(null) as object) as Record<string, unknown>;
  copy['name'] = name;
  for (const member of members) {
    const value = (one as Record<string, unknown>)[member];
    if (value !== undefined) copy[member] = typeof value === 'function' ? value.bind(one) : value;
  }
  return copy as unknown as Tool;
}
