// What functions of scripts/ give: those are modules, which Jest does not load.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The folder of this repository. */
export const repository = join(__dirname, '../../..');

/** A new folder whose files can be started: the system's temporary one may be mounted noexec. */
export function startableFolder(): string {
  const build = join(repository, 'build');
  mkdirSync(build, { recursive: true });
  return mkdtempSync(join(build, 'test-'));
}

/**
 * Calls `name` of a file below scripts/, for each list of arguments; an argument { code } is a function. What is
 * undefined becomes null.
 */
export function callScript(file: string, name: string, ...calls: unknown[][]): unknown[] {
  const url = pathToFileURL(join(repository, 'scripts', file)).href;
  const program = `
    const { ${name} } = await import(${JSON.stringify(url)});
    const calls = [${calls.map((given) => `[${given.map(expression).join()}]`).join()}];
    console.log(JSON.stringify(calls.map((given) => ${name}(...given) ?? null)));`;
  return JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  ) as unknown[];
}

function expression(argument: unknown): string {
  const isCode = typeof argument === 'object' && argument !== null && 'code' in argument;
  return isCode ? String(argument.code) : JSON.stringify(argument);
}
