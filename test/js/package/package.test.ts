// The built package as its users load it.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { version } from 'millrace';

const root = join(__dirname, '../../..');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  version: string;
};

describe('the package', () => {
  it('reports the version of package.json from the engine', () => {
    expect(version()).toBe(manifest.version);
  });

  it('shares one copy of its state between import and require', () => {
    const script = `
      import { createRequire } from 'node:module';
      import * as imported from 'millrace';
      const required = createRequire(import.meta.url)('millrace');
      const names = Object.keys(required);
      if (names.length === 0) throw new Error('nothing exported');
      for (const name of names) {
        if (imported[name] !== required[name]) throw new Error(name + ' differs');
      }`;
    execFileSync(process.execPath, ['--input-type=module', '-e', script], { cwd: root });
  });

  it('loads a module when one of its exports is first read', () => {
    const script = `
      const millrace = require('millrace');
      const loaded = () => Object.keys(require.cache).length;
      const before = loaded();
      // The entry, and Node's own timers.
      if (before > 2) throw new Error('loaded ' + Object.keys(require.cache));
      const { MillraceError } = millrace;
      if (loaded() !== before + 3) throw new Error('errors.js, its table and plain-values.js, not ' + loaded());
      if (millrace.MillraceError !== MillraceError) throw new Error('another class');`;
    execFileSync(process.execPath, ['-e', script], { cwd: root });
  });

  it('loads what only some runtimes need with the first of these', () => {
    execFileSync(process.execPath, [join(root, 'test/js/fixtures/lazy-modules.cjs')]);
  });
});
