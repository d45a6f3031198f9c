// Programs of the operating system that tests start beside them: proxies and a web server, each with
// its own folder and free ports.
import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Daemon {
  /** Its own files. */
  readonly folder: string;
  /** What it has written into a file of its folder. */
  log(name: string): string;
  stop(): Promise<void>;
}

/** Where a program is, or undefined where it is not installed. */
export function programOf(name: string): string | undefined {
  return ['/usr/sbin', '/usr/bin', '/sbin', '/usr/local/sbin', '/usr/local/bin']
    .map((folder) => join(folder, name))
    .find(existsSync);
}

// What keeps a program from running here; undefined when nothing does.
function obstacleOf(name: string): string | undefined {
  if (programOf(name) === undefined) return `${name} is not installed (node scripts/setup.mjs ci)`;
  // Squid keeps shared memory as a user of its own; in a bare root that folder is the administrator's.
  const forAll = 0o002;
  const shared = statSync('/dev/shm', { throwIfNoEntry: false });
  const isOpen = shared !== undefined && (shared.mode & forAll) !== 0;
  return name === 'squid' && !isOpen ? 'squid needs a /dev/shm that it may write to' : undefined;
}

/** Runs tests with the programs, or says loudly which of them cannot run. */
export function describeWith(programs: readonly string[], title: string, tests: () => void): void {
  const obstacles = programs.map(obstacleOf).filter((obstacle) => obstacle !== undefined);
  if (obstacles.length === 0) return describe(title, tests);
  console.warn(`${title}: skipped, ${obstacles.join('; ')}`);
  describe.skip(title, tests);
}

/** Different ports that nobody listens at. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1);
  return port;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

/** A folder that a program of any user may write into. */
export function workFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  spawnSync('chmod', ['777', folder]);
  return folder;
}

// Some programs say why they end only in a file of theirs.
function logsIn(folder: string): string {
  const names = readdirSync(folder).filter((name) => name.endsWith('.log'));
  return names.map((name) => `\n${name}: ${readFileSync(join(folder, name), 'utf8')}`).join('');
}

/** Starts a program with its settings written to `settings` in the folder, and waits for its port. */
export async function startDaemon(
  name: string,
  folder: string,
  settings: string,
  args: (file: string) => string[],
  port: number,
): Promise<Daemon> {
  const file = join(folder, `${name}.conf`);
  writeFileSync(file, settings);
  const child = spawn(programOf(name) ?? name, args(file), { stdio: ['ignore', 'pipe', 'pipe'] });
  let received = '';
  child.stdout.on('data', (text) => (received += String(text)));
  child.stderr.on('data', (text) => (received += String(text)));
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
  for (const end = Date.now() + 20_000; !(await answers(port));) {
    if (child.exitCode !== null || Date.now() > end) {
      child.kill('SIGKILL');
      throw new Error(
        `${name} did not start (exit ${child.exitCode}): ${received}${logsIn(folder)}`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return {
    folder,
    log: (log) => {
      const path = join(folder, log);
      return existsSync(path) ? readFileSync(path, 'utf8') : '';
    },
    stop: async () => {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 3_000);
      await ended;
      clearTimeout(timer);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A private authority, a certificate of this machine by it, and one of a client. */
export interface Certificates {
  folder: string;
  ca: string;
  clientCert: string;
  clientKey: string;
}

export function makeCertificates(): Certificates {
  const folder = workFolder();
  const at = (name: string): string => join(folder, name);
  const openssl = (...args: string[]): void => {
    const done = spawnSync('openssl', args, { encoding: 'utf8' });
    if (done.status !== 0) throw new Error(`openssl ${args.join(' ')}: ${done.stderr}`);
  };
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl(
    ...['req', '-x509', ...key, '-days', '2', '-subj', '/CN=Test authority'],
    ...['-keyout', at('ca.key'), '-out', at('ca.pem')],
  );
  const sign = (name: string, extensions: string): void => {
    writeFileSync(at(`${name}.ext`), extensions);
    openssl(
      'req',
      ...key,
      '-subj',
      `/CN=${name}`,
      '-keyout',
      at(`${name}.key`),
      '-out',
      at(`${name}.csr`),
    );
    openssl(
      ...['x509', '-req', '-days', '2', '-in', at(`${name}.csr`), '-extfile', at(`${name}.ext`)],
      ...[
        '-CA',
        at('ca.pem'),
        '-CAkey',
        at('ca.key'),
        '-CAcreateserial',
        '-out',
        at(`${name}.pem`),
      ],
    );
  };
  sign('server', 'subjectAltName=DNS:localhost,IP:127.0.0.1\n');
  sign('client', 'extendedKeyUsage=clientAuth\n');
  for (const name of ['ca.key', 'server.key', 'client.key']) spawnSync('chmod', ['644', at(name)]);
  const read = (name: string): string => readFileSync(at(name), 'utf8');
  return {
    folder,
    ca: read('ca.pem'),
    clientCert: read('client.pem'),
    clientKey: read('client.key'),
  };
}
