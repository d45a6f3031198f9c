// The set-up reads the versions that compilers, tools and Debian packages print.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const script = pathToFileURL(join(__dirname, '../../../scripts/setup/system.mjs')).href;

function evaluate(expression: string): unknown {
  const program = `
    import { isOlder, parseVersion } from ${JSON.stringify(script)};
    console.log(JSON.stringify(${expression} ?? null));`;
  return JSON.parse(String(execFileSync(process.execPath, ['--input-type=module', '-e', program])));
}

describe('the set-up', () => {
  it('reads versions as they are printed', () => {
    const printed = {
      'g++ (Debian 12.2.0-14+deb12u1) 12.2.0': [12, 2, 0],
      'x86_64-linux-gnu-g++ (Ubuntu 13.3.0-6ubuntu2) 13.3.0': [13, 3, 0],
      'Debian clang version 14.0.6': [14, 0, 6],
      'cmake version 3.25.1': [3, 25, 1],
      '1.11.1': [1, 11, 1],
      'OpenSSL 3.0.19 27 Jan 2026': [3, 0, 19],
      '1_81': [1, 81],
      '4:12.2.0-3': [12, 2, 0],
      '1:14.0-55.7~deb12u1': [14, 0],
      '1.74.0.3': [1, 74, 0, 3],
      none: null,
    };
    const texts = JSON.stringify(Object.keys(printed));
    expect(evaluate(`${texts}.map((text) => parseVersion(text))`)).toEqual(Object.values(printed));
  });

  it('compares part by part', () => {
    const pairs: [number[], number[], boolean][] = [
      [[1, 74], [1, 81], true],
      [[1, 81], [1, 81], false],
      [[1, 100], [1, 81], false],
      [[2], [1, 81], false],
      [[3], [3, 25], true],
      [[12, 2, 0], [12], false],
      [[], [], false],
    ];
    const calls = pairs.map(
      ([version, floor]) => `isOlder(${JSON.stringify(version)}, ${JSON.stringify(floor)})`,
    );
    expect(evaluate(`[${calls.join()}]`)).toEqual(pairs.map(([, , older]) => older));
  });
});
