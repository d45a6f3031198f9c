// The installed package through import: the same objects as require() gives, and a working command line.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { version } from 'millrace';

const require = createRequire(import.meta.url);
assert.equal(version, require('millrace').version);
assert.equal(version(), require('millrace/package.json').version);
const cli = require.resolve('../node_modules/.bin/millrace');
const received = (...args) => String(execFileSync(process.execPath, [cli, ...args]));
assert.match(received('--version'), /\d+\.\d+\.\d+/);
assert.ok(JSON.parse(received('providers', '--json')).length >= 60);
assert.ok(JSON.parse(received('models', '--offline', '--json')).length > 0);
assert.match(received('chat', 'Hi?', '--model', 'demo:demo', '--quiet'), /Hi\?/);
