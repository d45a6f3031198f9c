// Configures and builds the C++ side with CMake and ninja. ninja itself decides what is out of date.
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

import { widthFor } from './capacity.mjs';
import { compilerOf, toolEnvironment } from './environment.mjs';
import { output, run, say } from './report.mjs';

// Builds `targets` of the release folder. With `tests` the engine tests are part of it, with `bench` the
// benchmarks; once they are, they stay configured, so that one command does not undo the work of another.
export async function buildEngine(root, { tests = false, bench = false, targets = [] } = {}) {
  const { env, notes } = toolEnvironment(process.env, root);
  const folder = join(root, 'build/release');
  const record = join(folder, 'millrace-configured.json');
  const before = readRecord(record);
  const now = recordOf(root, env, { tests, bench, before });
  if (!sameTools(before, now)) rmSync(folder, { recursive: true, force: true });
  if (!existsSync(join(folder, 'build.ninja')) || JSON.stringify(before) !== JSON.stringify(now)) {
    notes.forEach(say);
    const option = (name, on) => `-D${name}=${on ? 'ON' : 'OFF'}`;
    const options = [
      option('MILLRACE_TESTS', now.tests),
      option('MILLRACE_BENCH', now.bench),
      option('MILLRACE_WERROR', now.strict),
      option('MILLRACE_JOIN', now.joined),
    ];
    await run('configuring release', 'cmake', ['--preset', 'release', ...options], {
      cwd: root,
      env,
    });
    mkdirSync(folder, { recursive: true });
    writeFileSync(record, JSON.stringify(now));
  }
  const args = ['-C', folder, '-j', String(widthFor('compile')), ...targets];
  // A dry run first: silence when there is nothing to do.
  if (/no work to do/.test(output('ninja', [...args, '-n'], env) ?? '')) return;
  await run('compiling release', 'ninja', args, {
    env,
    hint:
      "The compiler's message is above. If it was killed, memory ran out: MILLRACE_JOBS=1 compiles " +
      'one file at a time.',
  });
}

// A record that cannot be read, or of other members than today's, is of a folder to be made anew.
function readRecord(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return {};
  }
}

/** What a build folder was configured with. `before` is what it was configured with so far. */
export function recordOf(root, env, { tests = false, bench = false, before = {} } = {}) {
  const [compiler, ...words] = compilerOf(env);
  return {
    root,
    cc: env.CC ?? '',
    cxx: env.CXX ?? '',
    // A name like c++ may mean another compiler tomorrow, and a path a newer version of it.
    compiler: whereIs(compiler, env),
    version: output(compiler, [...words, '--version'], env)?.split('\n')[0] ?? '',
    cmake: whereIs('cmake', env),
    platform: `${process.platform}-${process.arch}`,
    tests: tests || before.tests === true,
    bench: bench || before.bench === true,
    // A newer compiler's new warning must not stop anybody but the one who changes the code. A folder that
    // was configured strictly stays so: the other flags would compile everything again.
    strict: env.MILLRACE_STRICT === '1' || before.strict === true,
    // From nothing this takes a third of the time. Who changes the engine often may set MILLRACE_JOIN=0.
    joined: env.MILLRACE_JOIN !== '0',
  };
}

/** Whether what one made can stand beside what the other makes. */
export function sameTools(before, now) {
  return ['root', 'cc', 'cxx', 'compiler', 'version', 'cmake', 'platform'].every(
    (name) => before[name] === now[name],
  );
}

// The file that a command is, behind every link.
function whereIs(command, env) {
  const folders = command.includes('/') ? [''] : (env.PATH ?? '').split(delimiter);
  const file = folders.map((folder) => join(folder, command)).find(existsSync);
  return file ? realpathSync(file) : command;
}
