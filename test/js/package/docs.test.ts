// The documentation's code runs, and its links lead somewhere.
// Begins first: it runs every example of the documentation.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

import * as millrace from 'millrace';

import {
  documents,
  examplesOf,
  makeFolder,
  removeFolder,
  root,
  runExample,
  typeErrors,
} from '../../support/examples';

const examples = documents().flatMap(examplesOf);
const runnable = examples.filter((example) => !example.setUp.startsWith('skip'));
const pages = [
  ...documents(),
  ...['CONTRIBUTING.md', 'HACKING.md', 'CHANGELOG.md'].map((name) => join(root, name)),
];

describe('the documentation', () => {
  let folder: string;
  beforeAll(() => (folder = makeFolder()));
  afterAll(() => removeFolder(folder));

  it.each(runnable.map((example) => [example.place, example] as const))(
    'runs the example at %s',
    async (_place, example) => {
      const { code, output } = await runExample(example, folder);
      expect(`${output}\nexit code ${code}`).toMatch(/exit code 0$/);
      expect(output).not.toBe('');
    },
    90_000,
  );

  it('has examples in TypeScript that compile strictly', () => {
    expect(
      typeErrors(
        examples.filter((example) => example.language === 'ts'),
        folder,
      ),
    ).toEqual([]);
  }, 60_000);

  it.each(pages.map((page) => [relative(root, page), page] as const))(
    'links in %s lead to files',
    (_name, page) => {
      const links = [...readFileSync(page, 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)/g)];
      const broken = links.filter((link) => !existsSync(join(dirname(page), link[1] ?? '')));
      expect(broken.map((link) => link[1])).toEqual([]);
    },
  );

  it('names every export and says what it is', () => {
    const page = readFileSync(join(root, 'docs/exports.md'), 'utf8');
    const missing = Object.keys(millrace).filter(
      (name) => !new RegExp(`^\\| \`${name}(\\([^)]*\\))?\` +\\| \\S`, 'm').test(page),
    );
    expect(missing).toEqual([]);
  });
});
