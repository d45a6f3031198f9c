// Streams of runtime.fetch that nobody reads: what they take, and that those which are dropped are let go.
//
// Runs alone: it measures memory.
import { execFile } from 'node:child_process';
import { join } from 'node:path';

const fixture = join(__dirname, '../fixtures/dropped-streams.cjs');
const count = 100;
const kilobyte = 1024;

interface Measured {
  /** Readers at work while the streams are kept, and once they were collected. */
  held: number;
  dropped: number;
  /** Bytes outside of V8's heap for each kept stream, and for all of them in the end. */
  unread: number;
  left: number;
  /** Whether a reader that waited meanwhile got more. */
  reads: boolean;
}

function measure(): Promise<Measured> {
  return new Promise((resolve, reject) => {
    const args = ['--expose-gc', fixture, String(count)];
    execFile(process.execPath, args, { timeout: 25_000 }, (error, stdout) => {
      if (error) reject(new Error('It ended without a result.', { cause: error }));
      else resolve(JSON.parse(stdout) as Measured);
    });
  });
}

it('take little, and are let go once they are collected', async () => {
  const { held, dropped, unread, left, reads } = await measure();
  console.info(`An unread stream: ${(unread / kilobyte).toFixed(1)} KB`);
  expect(held).toBe(count + 1);
  expect(unread).toBeLessThan(32 * kilobyte);
  expect(dropped).toBe(1);
  expect(left).toBeLessThan(1024 * kilobyte);
  expect(reads).toBe(true);
});
