// Small files that commands change one at a time and servers read meanwhile.
import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';

import { UsageError } from './command';

// A server that reads it meanwhile gets the old file or the new one, and may still open it.
function replace(file: string, text: string): void {
  const made = `${file}.${randomUUID()}`;
  const old = existsSync(file) ? statSync(file) : undefined;
  const descriptor = openSync(made, 'wx', 0o600);
  try {
    writeFileSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  try {
    if (old && (old.uid !== process.getuid?.() || old.gid !== process.getgid?.())) {
      chownSync(made, old.uid, old.gid);
    }
    if (old) chmodSync(made, old.mode & 0o777);
    renameSync(made, file);
  } catch (cause) {
    rmSync(made, { force: true });
    throw new UsageError(`${file} belongs to another user: run this command as that user.`, {
      cause,
    });
  }
}

/** Changes a file as a whole: `make` gives its new text. One command at a time. */
export function changeFile(file: string, make: () => string): void {
  const lock = `${file}.lock`;
  mkdirSync(dirname(file), { recursive: true });
  try {
    writeFileSync(lock, `${process.pid}\n`, { mode: 0o600, flag: 'wx' });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
    throw new UsageError(
      `Another command changes ${file}. If none does, remove ${lock} and try again.`,
      { cause },
    );
  }
  try {
    replace(file, make());
  } finally {
    rmSync(lock, { force: true });
  }
}
