// Set-up works in the shells that people have: with flags, compilers and folders of other builds in the environment.
import { callScript } from '../support/script';

interface Reported {
  env: Record<string, string>;
  notes: string[];
}

const report = (env: Record<string, string>) =>
  callScript('setup/environment.mjs', 'toolEnvironment', [env, '/clone'])[0] as Reported;
const base = { HOME: '/tmp', PATH: '/usr/bin:/bin' };

describe('the environment of the build', () => {
  it("is the user's own where nothing in it belongs to other builds", () => {
    const env = { ...base, CXX: 'clang++', CMAKE_PREFIX_PATH: '/opt/mine', LC_ALL: 'tr_TR.UTF-8' };
    expect(report(env)).toEqual({ env, notes: [] });
  });

  it('leaves flags of other builds out, and says so', () => {
    const { env, notes } = report({ ...base, CXXFLAGS: '-m32', LDFLAGS: '-L/opt/x', CFLAGS: ' ' });
    expect(env).toEqual(base);
    expect(notes).toEqual([expect.stringMatching(/^CXXFLAGS, LDFLAGS .* not used/)]);
  });

  it('leaves conda out: its folders of each list, its compiler, its settings', () => {
    const { env, notes } = report({
      ...base,
      PATH: '/opt/conda/envs/a/bin:/opt/conda/condabin:/usr/bin:/home/ada/conda-like/bin',
      CONDA_PREFIX: '/opt/conda/envs/a',
      CONDA_EXE: '/opt/conda/bin/conda',
      CXX: '/opt/conda/envs/a/bin/x86_64-conda-linux-gnu-c++',
      CMAKE_PREFIX_PATH: '/opt/conda/envs/a:/opt/conda/envs/a/x86_64-conda-linux-gnu/sysroot/usr',
      CPATH: '/opt/conda/envs/a/include:/opt/mine/include',
      SSL_CERT_FILE: '/opt/conda/envs/a/ssl/cacert.pem',
    });
    expect(env).toEqual({
      HOME: '/tmp',
      PATH: '/usr/bin:/home/ada/conda-like/bin',
      CPATH: '/opt/mine/include',
    });
    expect(notes).toEqual([expect.stringMatching(/^conda is active: not used/)]);
  });

  it('takes no notice of a conda that is there and in no list', () => {
    expect(report({ ...base, CONDA_EXE: '/opt/conda/bin/conda' }).notes).toEqual([]);
  });

  it('keeps caches in the clone where the home folder cannot be written', () => {
    // Nobody can write below a file, root neither.
    const { env, notes } = report({ ...base, HOME: '/etc/passwd/nowhere' });
    expect(env['CCACHE_DIR']).toBe('/clone/build/cache/ccache');
    expect(env['npm_config_cache']).toBe('/clone/build/cache/npm');
    expect(notes).toEqual([
      expect.stringMatching(/home folder \/etc\/passwd\/nowhere cannot be written/),
    ]);
    const placed = { CCACHE_DIR: '/tmp/c', npm_config_cache: '/tmp/n' };
    expect(report({ ...base, HOME: '/etc/passwd/nowhere', ...placed }).notes).toEqual([]);
  });
});

describe('what a build folder was configured with', () => {
  const record = (env: Record<string, string>) =>
    callScript('setup/engine.mjs', 'recordOf', ['/clone', { PATH: '/usr/bin', ...env }])[0] as {
      version: string;
    };

  it('has the compiler, where it is and which version', () => {
    const made = record({});
    expect(made).toEqual(record({}));
    expect(made.version).toMatch(/\d+\.\d+/);
    const changed = [
      { ...made, version: 'g++ 99.1' },
      { ...made, compiler: '/usr/bin/g++-99' },
      { ...made, cmake: '/opt/cmake/bin/cmake' },
      { ...made, root: '/moved' },
      { ...made, platform: 'linux-arm64' },
    ];
    const same = (one: object) => [one, made];
    expect(
      callScript('setup/engine.mjs', 'sameTools', ...[made, ...changed].map(same), same({})),
    ).toEqual([true, false, false, false, false, false, false]);
  });

  it('finds a compiler that is called through another program', () => {
    expect(record({ CXX: 'env c++' }).version).toBe(record({}).version);
  });

  it('is strict where the environment says so, not because CI is set', () => {
    expect(record({ CI: 'true' })).toMatchObject({ strict: false });
    expect(record({ MILLRACE_STRICT: '1' })).toMatchObject({ strict: true });
  });
});
