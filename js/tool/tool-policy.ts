// Which tools of a source an agent gets to see.
import { addon } from '../addon';
import { rethrow } from '../errors';

/** Patterns of names with `*`, of the source's own names or of those that models are told. */
export interface ToolPolicy {
  /** Exactly these, when there are any; `expose` does not count then. */
  allow?: readonly string[];
  /** Only these. */
  expose?: readonly string[];
  /** Never these. */
  deny?: readonly string[];
}

export const policyOptions: readonly (keyof ToolPolicy)[] = ['allow', 'expose', 'deny'];

/** The tools that a policy lets through; throws `invalid_option` for lists that are none. */
export function allowedOf<Tool>(
  tools: readonly Tool[],
  { allow, expose, deny }: ToolPolicy,
  namesOf: (tool: Tool) => string[],
): Tool[] {
  if (allow === undefined && expose === undefined && deny === undefined) return [...tools];
  try {
    const names = JSON.stringify(tools.map(namesOf));
    const json = addon().allowedTools(JSON.stringify({ allow, expose, deny }), names);
    const isAllowed = JSON.parse(json) as boolean[];
    return tools.filter((_, index) => isAllowed[index]);
  } catch (error) {
    return rethrow(error);
  }
}

/** All names of a tool of a source: its own, and as models are told it. */
export function namesOfTool(own: string, wire: string): string[] {
  return [own, wire, wire.replace(/_{4,}/g, '__')];
}
