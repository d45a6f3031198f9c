// Compiler, tools and libraries: looks for each one on this machine and installs what is missing through
// apt, or says the exact line to run. Finding everything takes a few file look-ups and no apt call.
import { existsSync, readFileSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';

import { idsIn, withoutApt } from './distributions.mjs';
import { compilerOf, toolEnvironment } from './environment.mjs';
import { SetupError, output as outputOf, run, say } from './report.mjs';

// Tools are looked for where the build looks for them.
const { env } = toolEnvironment(process.env, '');
const output = (command, args) => outputOf(command, args, env);

const triplet = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' }[process.arch] ?? '';
const roots = [env.BOOST_ROOT, '/usr/local', '/usr', '/opt/homebrew'].filter(Boolean);
const includeFolders = [
  ...(env.CPATH ?? '').split(':').filter(Boolean),
  ...roots.flatMap((root) => [join(root, 'include'), join(root, 'include', triplet), root]),
];
const libraryFolders = roots.flatMap((root) => [join(root, 'lib', triplet), join(root, 'lib')]);

// Every requirement: `find` gives the version found ([] when it has none to compare) or undefined; `packages`
// are Debian's names, the first whose candidate is new enough is taken. Where there are no package lists to look
// at, it is `unlisted` or the first.
const requirements = [
  {
    name: 'a C++20 compiler (g++ 12 or clang 14, or newer)',
    profiles: ['start', 'test', 'ci'],
    find: findCompiler,
    atLeast: [12],
    packages: ['g++', 'g++-12'],
    hint: 'or set CXX to one',
  },
  tool('cmake', [3, 25], ['cmake']),
  tool('ninja', [1, 8], ['ninja-build']),
  {
    name: 'Boost',
    profiles: ['start', 'test', 'ci'],
    find: () => headerVersion('boost/version.hpp', /BOOST_LIB_VERSION "([\d_]+)"/),
    atLeast: [1, 81],
    packages: ['libboost-dev', 'libboost1.81-dev', 'libboost1.83-dev', 'libboost1.88-dev'],
    unlisted: isDebian12() ? 'libboost1.81-dev' : 'libboost-dev',
    hint: 'or unpack a Boost release and set BOOST_ROOT to its folder',
  },
  {
    name: 'libcurl (OpenSSL flavour)',
    profiles: ['start', 'test', 'ci'],
    find: findCurl,
    atLeast: [7, 87],
    packages: ['libcurl4-openssl-dev'],
  },
  header('RapidJSON', 'rapidjson/reader.h', 'rapidjson-dev', ['start', 'test', 'ci']),
  header('zlib', 'zlib.h', 'zlib1g-dev', ['start', 'test', 'ci']),
  header('OpenSSL', 'openssl/evp.h', 'libssl-dev', ['start', 'test', 'ci']),
  header('GoogleTest', 'gtest/gtest.h', 'libgtest-dev', ['test', 'ci']),
  tool('openssl', [1, 1], ['openssl'], ['test', 'ci'], ['version']),
  program('nginx', ['nginx-light', 'nginx']),
  program('haproxy', ['haproxy']),
  program('tinyproxy', ['tinyproxy-bin', 'tinyproxy']),
  program('squid', ['squid-openssl', 'squid']),
  program('chromium', ['chromium']),
  program('debootstrap', ['debootstrap']),
  tool('clang++', [14], ['clang'], ['ci']),
  tool('clang-format', [14], ['clang-format'], ['ci']),
  tool('clang-tidy', [14], ['clang-tidy'], ['ci']),
  {
    name: 'a clang-tidy that checks includes, 17 or newer',
    profiles: ['ci'],
    find: () => newest(['clang-tidy-19', 'clang-tidy']),
    atLeast: [17],
    packages: ['clang-tidy-19', 'clang-tidy'],
  },
  {
    name: 'libFuzzer',
    profiles: ['ci'],
    find: findClangRuntime,
    atLeast: [],
    packages: clangRuntimes(),
  },
];

// Installed along when apt runs anyway; the build works without.
const optionalPackages = ['ccache'];

export async function prepareSystem(profile) {
  const missing = missingFor(profile);
  if (missing.length === 0) return;
  say(`missing: ${missing.map((one) => one.name).join('; ')}`);
  if (!output('apt-get', ['--version'])) {
    throw new SetupError(withoutApt(missing.map((one) => one.name)));
  }
  const elevate = elevation();
  const packages = await choosePackages(missing, elevate);
  const removed = removals(packages);
  if (!elevate) {
    const warning = removed.length > 0 ? ` (it removes ${removed.join(' ')})` : '';
    throw new SetupError(
      `Administrator rights are needed to install packages. ` +
        `Run this${sudo() ? '' : ' as root'}${warning}, then try again:\n  ${installLine(packages)}`,
    );
  }
  if (removed.length > 0) await confirm(packages, removed);
  await install(elevate, packages);
  const still = missingFor(profile).map((one) => one.name);
  if (still.length > 0) {
    throw new SetupError(
      `Installed ${packages.join(' ')}, but these are still not found: ${still.join('; ')}.`,
    );
  }
}

// Package lists may be older than the archive: a failed download is tried once more after an update.
async function install(elevate, packages) {
  const title = `installing ${packages.length} packages`;
  const args = ['install', '-y', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=300'];
  try {
    await apt(elevate, title, [...args, ...packages]);
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    await apt(elevate, 'reading the package lists', ['update']);
    await apt(elevate, title, [...args, ...packages]);
  }
}

function missingFor(profile) {
  return requirements.filter((one) => {
    if (!one.profiles.includes(profile)) return false;
    const version = one.find();
    return version === undefined || isOlder(version, one.atLeast);
  });
}

// --- finding ---------------------------------------------------------------------------------------

function tool(
  command,
  atLeast,
  packages,
  profiles = ['start', 'test', 'ci'],
  args = ['--version'],
) {
  const find = () => parseVersion(output(command, args));
  return { name: `${command} ${atLeast.join('.')} or newer`, profiles, find, atLeast, packages };
}

// The version of the first of several commands that is there.
function newest(commands) {
  const texts = commands.map((command) => output(command, ['--version']));
  return parseVersion(texts.find((text) => text !== undefined));
}

// What tests start beside them; its version does not matter.
function program(name, packages) {
  const folders = ['/usr/sbin', '/usr/bin', '/usr/local/sbin', '/usr/local/bin'];
  const find = () => (folders.some((folder) => existsSync(join(folder, name))) ? [] : undefined);
  return { name, profiles: ['ci'], find, atLeast: [], packages };
}

function header(name, file, packageName, profiles) {
  return {
    name,
    profiles,
    find: () => (findHeader(file) ? [] : undefined),
    atLeast: [],
    packages: [packageName],
  };
}

// Clang 14 and g++ 12 are the floors; clang's number is lifted so that one floor serves both.
function findCompiler() {
  const [command, ...words] = compilerOf(env);
  const text = output(command, [...words, '--version']);
  const version = parseVersion(text);
  if (!version) return undefined;
  return /clang/.test(text) ? [version[0] - 2, ...version.slice(1)] : version;
}

function findCurl() {
  const gnutls = libraryFolders
    .map((folder) => join(folder, 'libcurl.so'))
    .filter(existsSync)
    .some((file) => realpathSync(file).includes('gnutls'));
  return gnutls ? undefined : headerVersion('curl/curlver.h', /LIBCURL_VERSION "([\d.]+)/);
}

// Its libboost-dev is 1.74.
function isDebian12() {
  const file = '/etc/os-release';
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  return idsIn(text).includes('debian') && /^VERSION_ID="?12"?$/m.test(text);
}

function findClangRuntime() {
  const folder = output('clang++', ['-print-resource-dir'])?.trim();
  if (!folder || !existsSync(join(folder, 'lib/linux'))) return undefined;
  return readdirSync(join(folder, 'lib/linux')).some((name) => name.includes('clang_rt.fuzzer'))
    ? []
    : undefined;
}

function clangRuntimes() {
  const installed = parseVersion(output('clang++', ['--version']))?.[0];
  return [installed, 14, 18, 19].filter(Boolean).map((major) => `libclang-rt-${major}-dev`);
}

function findHeader(file) {
  return includeFolders.map((folder) => join(folder, file)).find(existsSync);
}

function headerVersion(file, pattern) {
  const found = findHeader(file);
  return found && parseVersion(pattern.exec(readFileSync(found, 'utf8'))?.[1]);
}

// The first dotted number of a text ("1_81", as Boost writes it, counts), without a Debian epoch.
export function parseVersion(text) {
  const number = /\d+(?:[._]\d+)+/.exec(text?.replace(/^\d+:|x86_64/g, '') ?? '')?.[0];
  return number?.split(/[._]/).map(Number);
}

export function isOlder(version, floor) {
  for (let i = 0; i < floor.length; i++) {
    const part = version[i] ?? 0;
    if (part !== floor[i]) return part < floor[i];
  }
  return false;
}

// --- apt -------------------------------------------------------------------------------------------

// Words to put in front of apt-get, or undefined when this user may not install anything.
function elevation() {
  if (process.getuid?.() === 0) return [];
  return output('sudo', ['-n', 'true']) === undefined ? undefined : ['sudo', '-n'];
}

// With the usual umask: under a stricter one, other users could not read what apt and its packages write.
async function apt(elevate, title, args) {
  const script = 'umask 022; exec env DEBIAN_FRONTEND=noninteractive apt-get "$@"';
  const [command, ...rest] = [...elevate, 'sh', '-c', script, 'apt-get', ...args];
  await run(title, command, rest, {
    hint: "The lines above are apt's own; repair that and run again.",
  });
}

// The word in front of what a person runs by hand; none for root, and none where there is no sudo.
function sudo() {
  return process.getuid?.() !== 0 && output('sudo', ['--version']) ? 'sudo ' : '';
}

function installLine(packages) {
  const apt = `${sudo()}apt-get`;
  return `${apt} update && ${apt} install --no-install-recommends ${packages.join(' ')}`;
}

function candidates(packages) {
  const found = new Map();
  const text = output('apt-cache', ['policy', ...packages]) ?? '';
  for (const block of text.split(/\n(?=\S)/)) {
    const name = /^(\S+):$/m.exec(block)?.[1];
    const version = /Candidate: (\S+)/.exec(block)?.[1];
    if (name && version && version !== '(none)') found.set(name, version);
  }
  return found;
}

// One Debian package for each missing requirement. The package lists are fetched once when they know none
// that fits.
async function choosePackages(missing, elevate) {
  const wanted = [...missing.flatMap((one) => one.packages), ...optionalPackages];
  let known = candidates(wanted);
  const pick = (one) =>
    one.packages.find(
      (name) => known.has(name) && !isOlder(parseVersion(known.get(name)), one.atLeast),
    );
  if (elevate && missing.some((one) => !pick(one))) {
    await apt(elevate, 'reading the package lists', ['update']);
    known = candidates(wanted);
  }
  const unavailable = missing.filter((one) => !pick(one));
  // Without lists, and without the right to fetch them. The line that is shown fetches them.
  if (!elevate && unavailable.some((one) => !one.packages.some((name) => known.has(name)))) {
    return missing.map((one) => pick(one) ?? one.unlisted ?? one.packages[0]);
  }
  if (unavailable.length > 0) {
    throw new SetupError(unavailable.map((one) => unavailableText(one, known)).join('\n'));
  }
  return [
    ...new Set([...missing.map(pick), ...optionalPackages.filter((name) => known.has(name))]),
  ];
}

function unavailableText(one, known) {
  const offered = one.packages
    .filter((name) => known.has(name))
    .map((name) => `${name} ${known.get(name)}`);
  return (
    `${one.name}: version ${one.atLeast.join('.') || '(any)'} or newer is needed, and apt offers ` +
    `${offered.join(', ') || 'none of ' + one.packages.join(', ')}. Install the package ${one.packages.at(-1)} ` +
    `or newer from another source${one.hint ? ', ' + one.hint : ''}, then run again.`
  );
}

// What installing would remove.
function removals(packages) {
  const plan = output('apt-get', ['-s', 'install', '--no-install-recommends', ...packages]) ?? '';
  return [...plan.matchAll(/^Remv (\S+)/gm)].map((match) => match[1]);
}

// One -dev package can push out another (two Boosts, two flavours of libcurl): never silently.
async function confirm(packages, removed) {
  const text = `installing ${packages.join(' ')} removes ${removed.join(' ')}`;
  if (process.env.MILLRACE_SETUP_YES === '1') return say(`${text} (agreed by the environment)`);
  if (!process.stdin.isTTY) {
    throw new SetupError(
      `${text}.\nTo agree, run this, or set MILLRACE_SETUP_YES=1:\n  ${installLine(packages)}`,
    );
  }
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await prompt.question(`millrace: ${text}. Go on? [y/N] `);
  prompt.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new SetupError('Nothing was changed.');
}
