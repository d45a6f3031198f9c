// Debian roots to be a newcomer in. A base (what debootstrap makes) is kept for a week under build/cache; each run
// works in a copy of it, in which nothing was ever installed or built. What ccache keeps is shared by the copies of a
// suite: the same file is compiled once, and what comes of it is what compiling it again would give.
import { spawn, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { npmOfLine, nodeOfLine } from '../testing/nodes.mjs';
import { run } from '../setup/report.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const project = dirname(dirname(here));
const bases = join(project, 'build/cache/machines');
const copies = join(project, 'build/machines/roots');
const weekMs = 7 * 24 * 3600 * 1000;

/** The Node lines of every root. */
export const nodeLines = [20, 22, 24, 26];
/** Where a machine's clone stands. */
export const cloneFolder = '/root/millrace';
// This machine's way to the network, which a root has, too. Nothing else of the environment gets in.
const networkVariables =
  /^(https?_proxy|no_proxy|npm_config_registry|NODE_EXTRA_CA_CERTS|SSL_CERT_FILE)$/i;
const namespaces = ['--mount', '--propagation', 'private', '--pid', '--fork', '--kill-child'];

/** Why no root can be made here, in a few words; undefined where one can. */
export function whyNoRoot() {
  if (process.platform !== 'linux') return `this is ${process.platform}`;
  if (process.getuid() !== 0) return 'it takes root rights';
  if (!has('debootstrap') && !installDebootstrap()) return 'debootstrap is not installed';
  mkdirSync(copies, { recursive: true });
  const probe = join(copies, 'probe');
  rmSync(probe, { force: true });
  const script = `mknod '${probe}' c 1 3 && echo >'${probe}' && mount -t tmpfs tmpfs '${copies}'`;
  const clock = ['--time', '--monotonic', '1', '--boottime', '1'];
  const tried = spawnSync('unshare', [...namespaces, ...clock, 'sh', '-c', script], {
    encoding: 'utf8',
  });
  rmSync(probe, { force: true });
  if (tried.error) return 'there is no unshare';
  if (tried.status !== 0) return tried.stderr.trim().split('\n')[0] || 'unshare is refused';
  return undefined;
}

function has(command) {
  return spawnSync(command, ['--version']).error === undefined;
}

function installDebootstrap() {
  const args = ['install', '-y', '--no-install-recommends', 'debootstrap'];
  return spawnSync('apt-get', args, { stdio: 'ignore' }).status === 0 && has('debootstrap');
}

// --- bases -----------------------------------------------------------------------------------------

// The mirrors that this machine's apt uses, else Debian's own.
export function mirrorsOf(sources) {
  const words = sources.split('\n').filter((line) => /^(URIs:|deb )/.test(line));
  const addresses = words.flatMap((line) => line.match(/https?:\/\/[^\s\]]+/g) ?? []);
  const clean = addresses.map((address) => address.replace(/\/$/, ''));
  return {
    main: clean.find((one) => /\/debian$/.test(one)) ?? 'http://deb.debian.org/debian',
    security:
      clean.find((one) => /\/debian-security$/.test(one)) ??
      'http://deb.debian.org/debian-security',
  };
}

function aptSources() {
  const files = ['/etc/apt/sources.list'];
  const folder = '/etc/apt/sources.list.d';
  if (existsSync(folder)) files.push(...readdirSync(folder).map((name) => join(folder, name)));
  return files.filter(existsSync).map((file) => readFileSync(file, 'utf8'));
}

async function makeBase(suite) {
  const base = join(bases, suite);
  const stamp = join(base, 'etc/millrace-base');
  if (existsSync(stamp) && Date.now() - statSync(stamp).mtimeMs < weekMs) return base;
  removeRoot(base);
  const folder = `${base}.new`;
  removeRoot(folder);
  mkdirSync(folder, { recursive: true });
  const mirrors = mirrorsOf(aptSources().join('\n'));
  // Node 26's own builds need libatomic1, which Debian's smallest root lacks.
  const included = '--include=ca-certificates,git,curl,procps,libatomic1';
  // The script of sid serves every suite since Debian 12, those that an older debootstrap does not know, too.
  const script = '/usr/share/debootstrap/scripts/sid';
  // What it mounts meanwhile is gone with it, however it ends.
  await run(`making a ${suite} root`, 'unshare', [
    ...['--mount', '--propagation', 'private', 'debootstrap', '--variant=minbase', included],
    ...[suite, folder, mirrors.main, script],
  ]);
  copySettings(folder, suite, mirrors);
  writeFileSync(join(folder, 'etc/millrace-base'), '');
  renameSync(folder, base);
  return base;
}

// What a root needs of this machine to reach the same mirrors and registry: addresses, sign-in, certificates.
function copySettings(root, suite, { main, security }) {
  const sources = [
    `deb ${main} ${suite} main`,
    `deb ${main} ${suite}-updates main`,
    `deb ${security} ${suite}-security main`,
  ];
  writeFileSync(join(root, 'etc/apt/sources.list'), `${sources.join('\n')}\n`);
  // As in Debian's images for containers: a root that lives for a day need not outlive a power cut.
  writeFileSync(join(root, 'etc/dpkg/dpkg.cfg.d/unsafe-io'), 'force-unsafe-io\n');
  const settings = (folder, pattern) =>
    existsSync(folder)
      ? readdirSync(folder)
          .filter((name) => pattern.test(name))
          .map((name) => join(folder, name))
      : [];
  const files = [
    ...settings('/etc/apt/apt.conf.d', /^99|proxy/),
    ...settings('/etc/apt', /^auth\.conf/),
    '/usr/local/share/ca-certificates',
    '/etc/ssl/certs/ca-certificates.crt',
    '/etc/resolv.conf',
    '/etc/hosts',
    ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE'].map((name) => process.env[name]),
  ];
  for (const file of files) {
    if (!file || !existsSync(file)) continue;
    mkdirSync(dirname(join(root, file)), { recursive: true });
    cpSync(file, join(root, file), { recursive: true, dereference: true });
  }
  const npmrc = join(homedir(), '.npmrc');
  if (!existsSync(npmrc)) return;
  // The headers of this machine's Node are not in there.
  const lines = readFileSync(npmrc, 'utf8')
    .split('\n')
    .filter((line) => !/^nodedir\b/.test(line));
  writeFileSync(join(root, 'root/.npmrc'), lines.join('\n'), { mode: 0o600 });
}

// --- machines --------------------------------------------------------------------------------------

/**
 * A copy of a suite's base with a clean clone of HEAD. With `keep`, one that is there already is used, and only
 * its clone is brought to HEAD. `name`: beside the one that the suite's rows share.
 */
export async function makeMachine(suite, { keep = false, name = suite } = {}) {
  const root = join(copies, name);
  const machine = new Machine(suite, root);
  if (keep && existsSync(join(root, cloneFolder))) {
    machine.isUsed = true;
    machine.update();
    return machine;
  }
  const base = await makeBase(suite);
  removeRoot(root);
  must('cp', ['-a', '--reflink=auto', base, root]);
  machine.clone();
  return machine;
}

const running = new Set();

/** Ends what runs in any machine. */
export function endAll() {
  for (const child of running) child.kill('SIGKILL');
}

export class Machine {
  /** Where what is run is written, and who is told of its progress: (line) => void. */
  log = undefined;
  progress = () => undefined;
  /** True when an earlier run left it. */
  isUsed = false;

  constructor(suite, root) {
    this.suite = suite;
    this.root = root;
  }

  /** A clean clone of HEAD in the machine, at a path of the machine. */
  clone(folder = cloneFolder) {
    const path = join(this.root, folder);
    removeRoot(path);
    mkdirSync(dirname(path), { recursive: true });
    must('git', ['clone', '--quiet', `file://${project}`, path]);
  }

  update() {
    const git = ['-C', join(this.root, cloneFolder)];
    must('git', [...git, 'fetch', '--quiet', `file://${project}`, 'HEAD']);
    must('git', [...git, 'checkout', '--quiet', '--force', '--detach', 'FETCH_HEAD']);
  }

  remove() {
    removeRoot(this.root);
  }

  /** Writes a file at a path of the machine. */
  write(path, text) {
    const file = join(this.root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  /**
   * Runs a line of bash in the machine, as root: { code, output }, a code of undefined when it took longer
   * than `limit` seconds. `uptime`: as if the machine had booted so many seconds ago.
   */
  async enter(line, { folder = cloneFolder, node = 24, env = {}, uptime, limit = 1800 } = {}) {
    this.#addTools(node);
    const cache = join(bases, `ccache-${this.suite}`);
    mkdirSync(cache, { recursive: true });
    chmodSync(cache, 0o777);
    const entry = [join(here, 'enter.sh'), this.root, cache, folder, line];
    const child = spawn('unshare', [...namespaces, ...clockArguments(uptime), 'bash', ...entry], {
      env: { ...newcomersEnvironment(node), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.add(child);
    this.#write(`\n$ ${line}\n`);
    let output = '';
    const take = (chunk) => {
      output += chunk;
      this.#write(chunk);
      for (const reported of chunk.split('\n')) this.progress(reported);
    };
    child.stdout.setEncoding('utf8').on('data', take);
    child.stderr.setEncoding('utf8').on('data', take);
    const timer = setTimeout(() => child.kill('SIGKILL'), limit * 1000);
    const code = await new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (status) => resolve(status ?? undefined));
    });
    clearTimeout(timer);
    running.delete(child);
    return { code, output };
  }

  /** The same, which must end with code 0: its output. */
  async must(line, options) {
    const { code, output } = await this.enter(line, options);
    if (code === 0) return output;
    const how = code === undefined ? 'took too long' : `ended with code ${code}`;
    throw new Error(`'${line}' ${how}: ${output.trim().split('\n').slice(-3).join(' / ')}`);
  }

  /** The versions of what a build took, in words. */
  async versions({ node, compiler = 'c++' }) {
    const headers = ['curl/curlver.h', 'openssl/opensslv.h', 'boost/version.hpp'];
    const includes = headers.map((name) => `#include <${name}>\\n`).join('');
    const line = `printf '${includes}' | ${compiler} -x c++ -E -dM -`;
    const { output } = await this.enter(`node --version; ${line}`, { folder: '/', node });
    return versionsIn(output, { node });
  }

  // Node with its npm, as an archive unpacked into /opt, and the script that does the newcomer's part.
  #addTools(line) {
    const tools = join(this.root, 'opt/millrace');
    mkdirSync(tools, { recursive: true });
    copyFileSync(join(here, 'newcomer.mjs'), join(tools, 'newcomer.mjs'));
    const folder = join(this.root, `opt/node-${line}`);
    if (existsSync(folder)) return;
    mkdirSync(join(folder, 'bin'), { recursive: true });
    mkdirSync(join(folder, 'lib/node_modules'), { recursive: true });
    copyFileSync(nodeOfLine(project, line), join(folder, 'bin/node'));
    chmodSync(join(folder, 'bin/node'), 0o755);
    cpSync(npmOfLine(project, line), join(folder, 'lib/node_modules/npm'), { recursive: true });
    for (const name of ['npm', 'npx'])
      symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(folder, 'bin', name));
  }

  #write(text) {
    if (this.log) appendFileSync(this.log, text);
  }
}

/** The versions in what `node --version` and a preprocessor's macros say. */
export function versionsIn(output, { node }) {
  const macro = (name) => new RegExp(`^#define ${name} "?([^"\n]*)"?$`, 'm').exec(output)?.[1];
  const number = (text) => /\d+(\.\d+)+/.exec(text ?? '')?.[0];
  const isClang = macro('__clang__') !== undefined;
  const found = [
    [isClang ? 'clang' : 'g++', number(macro('__VERSION__'))],
    ['libcurl', macro('LIBCURL_VERSION')],
    ['OpenSSL', macro('OPENSSL_VERSION_STR')],
    ['Boost', macro('BOOST_LIB_VERSION')?.replaceAll('_', '.')],
  ];
  if (node !== undefined) found.unshift(['Node', number(/^v.*$/m.exec(output)?.[0])]);
  return found.flatMap(([name, version]) => (version ? [`${name} ${version}`] : [])).join(', ');
}

// Offsets against this machine's clock: what runs in there sees that it booted `uptime` seconds ago.
function clockArguments(uptime) {
  if (uptime === undefined) return [];
  const shift = String(
    uptime - Math.floor(Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0])),
  );
  return ['--time', '--monotonic', shift, '--boottime', shift];
}

function newcomersEnvironment(node) {
  const network = Object.entries(process.env).filter(([name]) => networkVariables.test(name));
  return {
    ...Object.fromEntries(network),
    HOME: '/root',
    // Where enter.sh mounts it, for every user and for clones in every folder.
    CCACHE_DIR: '/var/cache/ccache',
    CCACHE_UMASK: '000',
    CCACHE_BASEDIR: '/',
    CCACHE_NOHASHDIR: '1',
    TERM: 'dumb',
    PATH: `/opt/node-${node}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
  };
}

// Mounts of a machine are in a namespace that ended with its command; one that is there nonetheless stays.
function removeRoot(folder) {
  if (existsSync(folder)) must('rm', ['-rf', '--one-file-system', folder]);
}

function must(command, args) {
  const done = spawnSync(command, args, { encoding: 'utf8' });
  if (done.status !== 0)
    throw new Error(`${command} ${args.join(' ')}: ${done.stderr || done.error}`);
}
