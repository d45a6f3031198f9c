// Every script with a command line says how it is used, and does nothing else then.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(__dirname, '../../..');
// Reads its arguments, and is started by hand: what other scripts start with fixed ones has no help.
const internal = ['scripts/machines/newcomer.mjs', 'scripts/setup/sqlite.mjs'];
// Those that have an npm script of their own name that.
const commands: Record<string, string> = {
  'scripts/test-machines.mjs': 'npm run test:machines',
  'bench/run.mjs': 'npm run bench',
};
const scripts = readdirSync(join(root, 'scripts'), { recursive: true, encoding: 'utf8' })
  .map((name) => `scripts/${name}`)
  .filter((name) => name.endsWith('.mjs') && name !== 'scripts/help.mjs')
  .filter((name) => /process\.argv|parseArgs\(/.test(readFileSync(join(root, name), 'utf8')))
  .filter((name) => !internal.includes(name));

describe('--help', () => {
  it.each([...scripts, 'bench/run.mjs'])('of %s', (name) => {
    const args = [join(root, name), '--help'];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain(commands[name] ?? `node ${name}`);
  });

  it.each(['.ci/run', 'fuzz/quick-check.sh'])('of %s', (name) => {
    const args = [join(root, name), '--help'];
    const { status, stdout, stderr } = spawnSync('bash', args, { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain(`bash ${name}`);
    expect(stdout).not.toMatch(/^set |^#/m);
  });
});
