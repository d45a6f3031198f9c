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
    const main = join(__dirname, '../../..');
    const { stdout, stderr } = spawnSync(process.execPath, ['-e', listing, main], {
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual([]);
  });

  it('are told where there are too few, with their number and what to do', () => {
    const cli = join(__dirname, '../../../dist/cjs/cli/main.js');
    // From too few for Node on, up to enough: whatever is missing, it is told as what it is.
    const codes: string[] = [];
    for (const files of [20, 24, 28, 32, 34, 36]) {
      const limited = `ulimit -n ${files}; exec "$0" "$@"`;
      const { status, stderr, error } = spawnSync(
        'sh',
        ['-c', limited, process.execPath, cli, 'serve', '--port', '0', '--model', 'demo:demo'],
        { encoding: 'utf8', timeout: 5_000 },
      );
      expect(stderr).not.toContain('(internal)');
      codes.push(/\((\w+)\)\n(?: {2}Detail: .*\n)? {2}Fix: .*\n$/.exec(stderr)?.[1] ?? '');
      if (status === null || error) continue;
      expect([files, status, stderr]).toEqual([
        files,
        1,
        expect.stringMatching(
          /need \d+.*ulimit -n.*\(too_much_work\)|Cannot find module|EMFILE|too many open files/is,
        ),
      ]);
    }
    // Where the engine was what missed them, however many Node itself takes.
    expect(codes).toContain('too_much_work');
    expect(codes).not.toContain('listen_failed');
  });
});
