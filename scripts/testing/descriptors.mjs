// Open files that the tests need at once. Node raises its soft limit to the hard one when it starts, and the
// programs that it starts have its limits; what is left to find out is whether the hard limit is enough.
import { spawnSync } from 'node:child_process';

const needed = 1024;

/** What is to be said of a limit that a child sees; undefined where it is enough. */
export function fewDescriptors(limit) {
  if (limit === 'unlimited' || !(Number(limit) < needed)) return undefined;
  return (
    `The tests need ${needed} open files at once, and this shell allows ${limit} ` +
    `(its hard limit; only an administrator can raise it: sudo prlimit --pid $$ --nofile=${needed}:${needed}).`
  );
}

/** Ends the process with a sentence where tests would wait for connections that cannot be opened. */
export function rejectFewDescriptors() {
  const shown = spawnSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' });
  const sentence = fewDescriptors((shown.stdout ?? '').trim());
  if (!sentence) return;
  console.error(sentence);
  console.log('0 passed, 1 failed');
  process.exit(1);
}
