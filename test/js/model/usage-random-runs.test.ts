// Tokens of random runs: what a provider reported is booked to the token, what it did not is estimated,
// every request is booked, and the rows are the sum. MILLRACE_BOOKS_RUNS and MILLRACE_SEED choose others.
import { playTotals } from '../../support/books';
import { testSeed } from '../support/seed';

jest.setTimeout(600_000);

// Short pieces of names and punctuation are off by more than 15 %. Measured: up to 28 tokens in 6,495 pieces of 450 characters
// of the pages, and up to 29 in 15,134 estimates of random runs, of which three were off by more than 24.
const fewTokens = 32;
const runs = Number(process.env['MILLRACE_BOOKS_RUNS'] ?? 250);
const seed = testSeed();

it(`${runs} random runs are booked as the provider's own books say`, async () => {
  console.info(`MILLRACE_SEED=${seed}, ${runs} runs`);
  const played = await playTotals(seed, runs);
  expect(played.flatMap(({ problems }) => problems).slice(0, 10)).toEqual([]);
  // Each is within 15 % or few tokens, and errors in both directions leave the sum alone.
  const estimates = played.flatMap(({ estimated }) => (estimated ? [estimated] : []));
  expect(estimates.length).toBeGreaterThan(runs / 4);
  const off = estimates.map(([ours, real]) => Math.abs(ours - real) / real);
  const sums = estimates.reduce(([a, b], [ours, real]) => [a + ours, b + real], [0, 0]);
  const far = estimates.filter(
    ([ours, real]) => Math.abs(ours - real) > Math.max(0.15 * real, fewTokens),
  );
  const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
  console.info(
    `${estimates.length} estimates, the worst ${percent(Math.max(...off))} off, ` +
      `their sum ${percent(sums[0] / sums[1])}`,
  );
  expect(far).toEqual([]);
  // What is within few tokens only is rare.
  expect(off.filter((one) => one > 0.15).length / off.length).toBeLessThanOrEqual(0.04);
  expect(Math.abs(sums[0] / sums[1] - 1)).toBeLessThan(0.05);
  expect(Math.min(...estimates.map(([ours]) => ours))).toBeGreaterThan(0);
});
