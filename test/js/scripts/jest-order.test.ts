// Jest begins with the test files that say so, in a fresh clone as well.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const sequencer = pathToFileURL(join(__dirname, '../../../scripts/testing/sequencer.mjs')).href;

it('begins with files that take long, and keeps the order of the others', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-order-'));
  const made = Object.entries({
    'a.test.ts': '// A short one.',
    'b.test.ts': '// A long one.\n// Begins first: it waits.',
    'c.test.ts': "const text = '// Begins first: of another file';",
    'd.test.ts': '// Begins first: it waits, too.',
  }).map(([name, text]) => {
    writeFileSync(join(folder, name), `${text}\n`);
    return { path: join(folder, name) };
  });
  const script = `
    import { inOrder } from '${sequencer}';
    console.log(JSON.stringify(inOrder(${JSON.stringify(made)}).map(({ path }) => path)));`;
  const options = ['--input-type=module', '-e', script];
  const { stdout } = spawnSync(process.execPath, options, { encoding: 'utf8' });
  rmSync(folder, { recursive: true });
  expect((JSON.parse(stdout) as string[]).map((path) => basename(path))).toEqual(
    ['b', 'd', 'a', 'c'].map((name) => `${name}.test.ts`),
  );
});
