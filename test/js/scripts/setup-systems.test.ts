// What set-up says where it cannot work: an old Node, a system without apt, Windows, a folder of another user.
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { parse } from 'acorn';

import { callScript, repository } from '../support/script';

describe('an old Node', () => {
  it('is told from one that works', () => {
    const versions = ['12.22.12', '18.20.4', '20.8.1', '20.9.0', '22.0.0', '26.1.0'];
    const reported = callScript(
      'setup/node-version.mjs',
      'isTooOld',
      ...versions.map((one) => [one]),
    );
    expect(reported).toEqual([true, true, true, false, false, false]);
  });

  it('gets the line that installs a newer one, by what manages Nodes here', () => {
    const [plain, nvm, sudo] = callScript(
      'setup/node-version.mjs',
      'tooOldText',
      ['18.20.4', {}],
      ['18.20.4', { NVM_DIR: '/home/ada/.nvm' }],
      ['18.20.4', { SUDO_USER: 'ada' }],
    ) as string[];
    expect(plain).toMatch(/^Node 18\.20\.4 is too old: Node 24 is best, 20\.9 the oldest/);
    expect(plain).toMatch(/\n {2}sudo npm install --global node@24/);
    expect(nvm).toMatch(/\n {2}nvm install 24\n/);
    expect(sudo).toMatch(/Without sudo/);
  });

  // What runs before the version was looked at. Node 12 knows modules, import() and nothing of 2020's language.
  it.each(['setup.mjs', 'setup/node-version.mjs'])('can read scripts/%s', (name) => {
    const text = readFileSync(join(repository, 'scripts', name), 'utf8');
    const imported = [...text.matchAll(/^import .* from '(.*)';$/gm)].map((match) => match[1]);
    expect(imported).toEqual(name === 'setup.mjs' ? ['./setup/node-version.mjs'] : []);
    const plain = text.replace(/\bimport\(/g, 'load(');
    expect(() => parse(plain, { ecmaVersion: 2019, sourceType: 'module' })).not.toThrow();
  });
});

describe('a system that set-up does not install on', () => {
  it.each([
    ['alpine', /On Alpine, which is not tried yet.*\n {2}apk add g\+\+ cmake/],
    ['fedora', /On Fedora.*\n {2}dnf install gcc-c\+\+ cmake ninja-build boost-devel/],
    ['arch', /On Arch.*\n {2}pacman -S --needed gcc cmake ninja boost/],
    ['darwin', /On macOS.*\n {2}xcode-select --install; brew install cmake/],
    [
      'plan9',
      /^Set-up installs through apt, which is not here. Needed: Boost; cmake 3.25 or newer. Install/,
    ],
  ])('gets one sentence: %s', (id, expected) => {
    const missing = ['Boost', 'cmake 3.25 or newer'];
    const [text] = callScript('setup/distributions.mjs', 'withoutApt', [missing, [id]]);
    expect(text).toMatch(expected);
  });

  it('is found by what /etc/os-release calls it, and what it is like', () => {
    const rocky = 'NAME="Rocky Linux"\nID="rocky"\nID_LIKE="rhel centos fedora"\n';
    expect(callScript('setup/distributions.mjs', 'idsIn', [rocky], ['ID=arch\n'])).toEqual([
      ['rocky', 'rhel', 'centos', 'fedora'],
      ['arch'],
    ]);
  });

  it('is Windows, too, where WSL 2 has one that it does', () => {
    const [windows, linux] = callScript(
      'setup/distributions.mjs',
      'unsupported',
      ['win32'],
      ['linux'],
    );
    expect(windows).toMatch(/use WSL 2/);
    expect(linux).toBeNull();
  });
});

describe('folders of another user', () => {
  it('are named with the line that gives them back', () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-owner-'));
    try {
      mkdirSync(join(folder, 'build'));
      // Root can write everywhere: who may write is told, not tried.
      const isOpen = "(place) => !place.endsWith('/build')";
      const [text] = callScript('setup/main.mjs', 'notWritable', [folder, { code: isOpen }]);
      expect(text).toMatch(/\/build cannot be written by this user.*\n {2}sudo chown -R/);
      expect(callScript('setup/main.mjs', 'notWritable', [folder])).toEqual([null]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe('few open files', () => {
  it('stop the tests with the number that they need', () => {
    const reported = callScript(
      'testing/descriptors.mjs',
      'fewDescriptors',
      ['256'],
      ['4096'],
      ['unlimited'],
    );
    expect(reported).toEqual([expect.stringMatching(/need 1024 .* allows 256/), null, null]);
  });
});
