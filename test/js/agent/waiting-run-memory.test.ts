// Agents wait for people and slow tools by the thousand: what one waiting run takes.
//
// Runs alone: it measures memory.
import { execFile } from 'node:child_process';
import { join } from 'node:path';

import type { Provider } from '../../support/provider';
import { startProvider } from '../../support/provider';

jest.setTimeout(180_000);

const kilobyte = 1024;
const fixture = join(__dirname, '../fixtures/waiting-runs.cjs');

// Each turn calls the tool, and the sixth ends.
let provider: Provider;
beforeAll(async () => {
  provider = await startProvider((response, { body }) => {
    const step = body.split('"tool_call_id"').length - 1;
    const call = { id: `c${step}`, name: 'noop', arguments: JSON.stringify({ step }) };
    const { id, ...requested } = call;
    const [delta, reason] =
      step < 5
        ? [{ tool_calls: [{ index: 0, id, type: 'function', function: requested }] }, 'tool_calls']
        : [{ content: 'The end.' }, 'stop'];
    const choice = { index: 0, delta, finish_reason: reason };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`data: ${JSON.stringify({ choices: [choice] })}\n\ndata: [DONE]\n\n`);
    provider.calls.length = 0;
  });
});
afterAll(() => provider.close());

interface Measured {
  bytesPerRun: number;
  /** Of runs whose tool holds as many bytes as it was told. */
  heavier: number;
  texts: string[];
}

function measure(held: number): Promise<Measured> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [fixture, `${provider.url}/v1`, String(held)], (error, stdout) => {
      if (error) reject(new Error('It ended without a result.', { cause: error }));
      else resolve(JSON.parse(stdout) as Measured);
    });
  });
}

it('takes no more than 32 KB', async () => {
  const { bytesPerRun, heavier, texts } = await measure(16 * kilobyte);
  const [run, other] = [bytesPerRun, heavier].map((bytes) => (bytes / kilobyte).toFixed(1));
  console.info(`A waiting run: ${run} KB, one that holds 16 KB: ${other} KB`);
  expect(texts).toEqual(['The end.']);
  expect(bytesPerRun).toBeLessThanOrEqual(32 * kilobyte);
  // What a run holds too much is seen.
  expect(heavier).toBeGreaterThan(32 * kilobyte);
});
