// What functions of scripts/ give: those are modules, which Jest does not load.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
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
 * A new folder for a library that is put before others: its path has none of the signs that separate several, and the
 * system maps programs from there. undefined where there is none.
 */
export function preloadFolder(): string | undefined {
  for (const base of [tmpdir(), '/var/tmp', join(repository, 'build')]) {
    if (/[\s:]/.test(base) || !existsSync(base)) continue;
    const folder = mkdtempSync(join(base, 'millrace-preload-'));
    const program = join(folder, 'try');
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
    if (spawnSync(program).status === 0) return folder;
    rmSync(folder, { recursive: true });
  }
  return undefined;
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
