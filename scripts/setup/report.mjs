// What the set-up says and how it runs other programs. Node built-ins only: this runs before
// node_modules exists.
import { spawn, spawnSync } from 'node:child_process';

// An error whose message already names the cause and the fix; shown without a stack trace.
export class SetupError extends Error {}

export function say(text) {
  process.stderr.write(`millrace: ${text}\n`);
}

// Output of a short command, or undefined when it is missing or fails. In the C locale: it is read by programs.
export function output(command, args = [], env = process.env) {
  const done = spawnSync(command, args, { encoding: 'utf8', env: { ...env, LC_ALL: 'C' } });
  return done.status === 0 ? done.stdout : undefined;
}

// Runs a long command. On a terminal its own progress is shown; elsewhere a line now and then, and the
// end of its output when it fails.
export async function run(title, command, args, options = {}) {
  say(title);
  const started = Date.now();
  const shown = process.stderr.isTTY;
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: options.env ?? process.env,
    stdio: shown ? ['inherit', 2, 2] : ['ignore', 'pipe', 'pipe'],
  });
  const tail = shown ? undefined : collect(child, title);
  const code = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  if (code !== 0) {
    if (tail) process.stderr.write(tail());
    throw new SetupError(
      `${title}: '${command} ${args.join(' ')}' ended with code ${code}. ${options.hint ?? ''}`,
    );
  }
  say(`${title}: done in ${((Date.now() - started) / 1000).toFixed(1)} s`);
}

// Keeps the last output of a child and reports ninja's counter every ten seconds.
function collect(child, title) {
  const limit = 20_000;
  let retained = '';
  let reported = Date.now();
  const take = (chunk) => {
    retained = (retained + chunk).slice(-limit);
    const counter = /.*(\[\d+\/\d+\])/s.exec(chunk)?.[1];
    if (counter && Date.now() - reported > 10_000) {
      reported = Date.now();
      say(`${title} ${counter}`);
    }
  };
  child.stdout.setEncoding('utf8').on('data', take);
  child.stderr.setEncoding('utf8').on('data', take);
  // What ninja says of the first failure, without the successes before it.
  return () => retained.slice(Math.max(0, retained.indexOf('FAILED:')));
}
