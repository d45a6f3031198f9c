// Tools as users hold them: in a list, a map or a record, written out or made by a class.
import { MillraceError } from '../errors';
import { shown } from '../shown';

const members = [
  ...[
    'description',
    'input',
    'parameters',
    'vendor',
    'effect',
    'approval',
    'timeoutMs',
    'resultLimit',
  ],
  ...['retries', 'ordered', 'serializeBy', 'run', 'execute'],
];

/** Refuses two tools of one name. */
export function rejectTwo(name: string): never {
  throw new MillraceError(
    'invalid_option',
    `There are two tools called ${name}; rename one, or give clients of one MCP server different \`name\`s.`,
  );
}

/** The tools of a list, a map or a record, whose keys are the names. */
export function toolsIn<Tool extends { name?: unknown }>(given: unknown): Tool[] {
  if (given === null || given === undefined) return [];
  if (typeof given !== 'object') {
    throw new MillraceError(
      'invalid_option',
      `\`tools\` must be a list, a map or a record of tools, not ${shown(given)}.`,
    );
  }
  if (given instanceof Map) return [...(given as Map<string, Tool>)].map(withName);
  if (Symbol.iterator in given) return [...(given as Iterable<Tool>)];
  rejectForeign('`tools`', given, 'await it: `tools: await client.tools()`');
  return Object.entries(given as Record<string, Tool>).map(withName);
}

/**
 * Refuses what tools come from in place of the tools: a promise, an MCP client, an instance of another class.
 * Its members would be taken for tools, mostly for none.
 */
function rejectForeign(what: string, given: object, advice: string): void {
  const kind = sourceOf(given);
  if (kind === 'promise') rejectTools(`${what} is a promise: ${advice}.`);
  if (kind === 'client')
    rejectTools(`${what} is an MCP client, not its tools: give \`await client.tools()\`.`);
  const { constructor: maker } = given as { constructor?: unknown };
  const prototype = Object.getPrototypeOf(given) as unknown;
  // A plain object of another realm has a prototype that ends the chain as well.
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return;
  const { name = 'a class' } = (maker ?? {}) as { name?: string };
  rejectTools(`${what} is an instance of ${name}: give a list, a map or a record of tools.`);
}

/** Refuses a promise, an MCP client or a list that stands where one tool has to. */
export function rejectSource(one: unknown): void {
  if (typeof one !== 'object' || one === null) return;
  const spread = 'await it and spread it: `tools: [...(await client.tools())]`';
  const kind = sourceOf(one);
  if (kind === 'promise') rejectTools(`A member of \`tools\` is a promise: ${spread}.`);
  if (kind === 'client') {
    rejectTools('A member of `tools` is an MCP client: give `...(await client.tools())`.');
  }
  if (Array.isArray(one)) rejectTools('A member of `tools` is a list: spread it with `...`.');
}

function sourceOf(given: object): 'promise' | 'client' | undefined {
  const has = (name: string): boolean =>
    typeof (given as Record<string, unknown>)[name] === 'function';
  if (has('then')) return 'promise';
  return has('tools') && has('callTool') ? 'client' : undefined;
}

function rejectTools(sentence: string): never {
  throw new MillraceError('invalid_option', sentence);
}

/** The tool with this name, also where it is an instance of a class. */
export function withName<Tool extends { name?: unknown }>([name, one]: [string, Tool]): Tool {
  if (typeof one !== 'object' || one === null || one.name === name) return one;
  const prototype = Object.getPrototypeOf(one) as unknown;
  if (prototype === Object.prototype || prototype === null) return { ...one, name };
  // The methods of an instance are not its own, and need it. Its copy is no plain object either: an
  // instance may have members without a reader.
  const copy = Object.create(Object.create(null) as object) as Record<string, unknown>;
  copy['name'] = name;
  for (const member of members) {
    const value = (one as Record<string, unknown>)[member];
    if (value !== undefined) copy[member] = typeof value === 'function' ? value.bind(one) : value;
  }
  return copy as unknown as Tool;
}
