// What the engine opens is closed in programs that the host starts.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const listing = `
const { readdirSync, readFileSync, readlinkSync } = require('node:fs');
const inherited = () => readdirSync('/proc/self/fd').filter((descriptor) => {
  try {
    const [, flags] = /flags:\\s*(\\d+)/.exec(readFileSync('/proc/self/fdinfo/' + descriptor, 'utf8'));
    return (parseInt(flags, 8) & 0o2000000) === 0 && readlinkSync('/proc/self/fd/' + descriptor);
  } catch {
    return false;
  }
});
const before = inherited();
const { builtinTools } = require(process.argv[1]);
const [page] = builtinTools({ readPage: { allow: ['127.0.0.1:1'] } });
page.run({ url: 'http://127.0.0.1:1/' }).then(() => {
  console.log(JSON.stringify(inherited().filter((one) => !before.includes(one))));
});
`;

const describeHere = process.platform === 'linux' ? describe : describe.skip;

describeHere('descriptors of the engine', () => {
  it('are not inherited by programs', () => {
    const main = join(__dirname, '../..');
    const { stdout, stderr } = spawnSync(process.execPath, ['-e', listing, main], {
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual([]);
  });
});
