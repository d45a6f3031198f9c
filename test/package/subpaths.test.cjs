// The parts of the installed package: the same objects as the root's, through require and through import.
const assert = require('node:assert/strict');
const root = require('millrace');
const { exports: entries } = require('millrace/package.json');

const parts = Object.keys(entries)
  .filter((path) => path !== '.' && path !== './package.json' && path !== './client')
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
