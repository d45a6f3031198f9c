// The parts of the installed package: the same objects as the root's, through require and through import.
const assert = require('node:assert/strict');
const root = require('millrace');
const { exports: entries } = require('millrace/package.json');

// Of pages and of tests, which the root does not have.
const besideRoot = ['./client', './ag-ui', './testing'];
const parts = Object.keys(entries)
  .filter((path) => path !== '.' && path !== './package.json' && !besideRoot.includes(path))
  .map((path) => path.replace('.', 'millrace'));
assert.ok(parts.length >= 8);
void Promise.all(
  parts.map(async (part) => {
    const required = require(part);
    const imported = await import(part);
    const names = Object.keys(required);
    assert.ok(names.length > 0, part);
    for (const name of names) {
      assert.equal(required[name], root[name], `${part}: ${name}`);
      assert.equal(imported[name], root[name], `${part}: ${name} of import`);
    }
  }),
);
assert.equal(typeof require('millrace/testing').crashAfter, 'function');
void import('millrace/testing').then(({ crashAfter }) =>
  assert.equal(crashAfter, require('millrace/testing').crashAfter),
);
// What it extends is installed by those who use it; the error names it.
assert.throws(() => require('millrace/ag-ui').ResumableHttpAgent, /@ag-ui\/client/);
void assert.rejects(import('millrace/ag-ui'), /@ag-ui\/client/);
