// Measuring programs run in processes of their own, so that no figure depends on what was measured before it.
// Every child ends by itself: when its work is done, when its parent goes away, or at a deadline.
import { spawn } from 'node:child_process';
import { join } from 'node:path';

import { bench } from './paths.mjs';

// Runs bench/<file> with one JSON argument and gives what it reports.
export async function measure(file, options = {}, { seconds = 120, flags = [] } = {}) {
  const child = start(file, options, { seconds, flags });
  const report = await new Promise((resolve, reject) => {
    child.process.once('message', resolve);
    child.ended.then((how) =>
      reject(new Error(`${file} ended without a report (${how})\n${child.errors()}`)),
    );
  });
  await child.ended;
  return report;
}

// Starts bench/<file> and leaves it running. ask() sends one message and gives the answer.
export function start(file, options = {}, { seconds = 120, flags = [], env = {} } = {}) {
  const nodeFlags = ['--import', join(bench, 'support/tether.mjs'), ...flags];
  const child = spawn(
    process.execPath,
    [...nodeFlags, join(bench, file), JSON.stringify(options)],
    {
      env: { ...process.env, ...env, MILLRACE_BENCH_SECONDS: String(seconds) },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      serialization: 'json',
    },
  );
  let errors = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => (errors = (errors + text).slice(-4000)));
  }
  const ended = new Promise((resolve) => {
    child.on('close', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  return {
    process: child,
    pid: child.pid,
    ended,
    errors: () => errors,
    ...conversation(child, ended, file, () => errors),
  };
}

function conversation(child, ended, file, errors) {
  const answer = () =>
    new Promise((resolve, reject) => {
      child.once('message', resolve);
      ended.then((how) => reject(new Error(`${file} ended early (${how})\n${errors()}`)));
    });
  return {
    answer,
    ask(message) {
      const promise = answer();
      child.send(message);
      return promise;
    },
    async stop() {
      child.kill('SIGTERM');
      const late = setTimeout(() => child.kill('SIGKILL'), 3000);
      await ended;
      clearTimeout(late);
    },
  };
}
