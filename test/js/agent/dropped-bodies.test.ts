// Bodies of agent.handler without a runtime that nobody reads to their end.
//
// Runs alone: it measures memory.
import { execFile } from 'node:child_process';
import { join } from 'node:path';

const fixture = join(__dirname, '../fixtures/dropped-bodies.cjs');
const count = 200;

interface Measured {
  /** Requests at the model while the bodies are kept, and once they were collected. */
  started: number;
  left: number;
  /** Outside of V8's heap. */
  bytes: number;
  /** Whether one that is read has more. */
  more: boolean;
}

function measure(): Promise<Measured> {
  return new Promise((resolve, reject) => {
    const args = ['--expose-gc', fixture, String(count)];
    execFile(process.execPath, args, { timeout: 100_000 }, (error, stdout) => {
      if (error) reject(new Error('It ended without a result.', { cause: error }));
      else resolve(JSON.parse(stdout) as Measured);
    });
  });
}

it('stop their runs once they are collected', async () => {
  const { started, left, bytes, more } = await measure();
  expect(started).toBe(count + 1);
  expect(left).toBe(1);
  expect(bytes).toBeLessThan(1024 * 1024);
  expect(more).toBe(true);
}, 120_000);
