// What a measuring program needs: its options, a loop that keeps the best pass, and the report.
export const options = JSON.parse(process.argv[2] ?? '{}');

// Repeats `pass` for `seconds` and gives the shortest time of one, in seconds, after one that is not counted.
export async function bestPass(seconds, pass) {
  await pass();
  let best = Infinity;
  const end = performance.now() + seconds * 1000;
  do {
    const begin = performance.now();
    await pass();
    best = Math.min(best, performance.now() - begin);
  } while (performance.now() < end);
  return best / 1000;
}

export function report(result) {
  process.send(result, () => process.disconnect());
}
