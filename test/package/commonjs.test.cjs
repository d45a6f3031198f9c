// The installed package through require(): loads without a compiler, answers, and leaves no exit code behind.
const assert = require('node:assert/strict');
const { version } = require('millrace');
const manifest = require('millrace/package.json');

assert.equal(version(), manifest.version);
assert.deepEqual(Object.keys(manifest.dependencies ?? {}), []);
