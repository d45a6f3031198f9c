// Reads the configuration of a running server again: on SIGHUP, and when one of its files changes.
import { existsSync, statSync } from 'node:fs';

import { MillraceError } from '../errors';
import type { Environment } from '../model/environment';
import type { Server, ServerOptions } from '../server';
import { messageOf } from '../thrown';
import { shownError, UsageError } from './command';
import { changesBetween, type Config, type OptionValues, resolveConfig } from './config';
import { secretFileOf } from './secret-file';
import { madeKeyFileOf } from './serve-keys';
import { servePlan } from './serve-options';

const lookEveryMs = 500;

/** What differs when a file was changed or replaced. */
function stampOf(file: string): string {
  try {
    const { mtimeMs, size, ino } = statSync(file);
    return `${mtimeMs}:${size}:${ino}`;
  } catch {
    return 'none';
  }
}

function secretsOf(config: Config): string | undefined {
  const storage = config.text('storage.location');
  return storage?.startsWith('file:') ? secretFileOf(storage) : undefined;
}

// The file of `millrace keys`, and that of a key that the server made.
function keyFilesOf(config: Config): (string | undefined)[] {
  const storage = config.text('storage.location');
  const store = storage?.startsWith('file:') ? storage.slice('file:'.length) : undefined;
  const keys = config.text('api.keys_file') ?? (store === undefined ? undefined : `${store}.keys`);
  return [keys, store === undefined ? undefined : madeKeyFileOf(`file:${store}`)];
}

type Stamps = readonly string[];

// The file of settings is the first.
function stampsOf(config: Config): Stamps {
  const files = [config.file, config.text('api.key_file'), secretsOf(config)];
  return files.map((file) => (file === undefined ? '' : stampOf(file)));
}

// Of files whose contents the engine reads itself, or nothing changes.
function keyStampsOf(config: Config): Stamps {
  return keyFilesOf(config).map((file) =>
    file !== undefined && existsSync(file) ? 'there' : 'none',
  );
}

function areSame(some: Stamps, others: Stamps): boolean {
  return some.every((stamp, at) => stamp === others[at]);
}

/** A configuration, and its files as they were before they were read. */
export interface BegunConfig {
  config: Config;
  stamps: Stamps;
}

/** Reads the configuration of a server that is about to start. Errors: UsageError. */
export function beginConfig(options: OptionValues, env: Environment): BegunConfig {
  // Its first reading gives the names of the files.
  let stamps = stampsOf(resolveConfig(options, env));
  for (;;) {
    const config = resolveConfig(options, env);
    const now = stampsOf(config);
    if (areSame(now, stamps)) return { config, stamps };
    stamps = now;
  }
}

function hasKeys({ apiKeys = [], keys = [] }: ServerOptions, keysFile?: string): boolean {
  return apiKeys.length + keys.length > 0 || (keysFile !== undefined && existsSync(keysFile));
}

/** What was read again, in one line. */
function reportOf(live: readonly string[], restart: readonly string[]): string {
  const parts = [
    live.length > 0 ? `Changed: ${live.join(', ')}.` : '',
    restart.length > 0 ? `Needs a restart: ${restart.join(', ')}.` : '',
  ].filter((part) => part !== '');
  return `The configuration was read again. ${parts.join(' ') || 'No setting differs.'}\n`;
}

/** A server that was started with a configuration. */
interface Served extends BegunConfig {
  plan: ServerOptions;
}

/** Applies the configuration again to a server that runs. */
class Reload {
  readonly #server: Pick<Server, 'change'>;
  readonly #begun: Config;
  readonly #keysFile: string | undefined;
  readonly #given: { options: OptionValues; env: Environment };
  #needsKey: boolean;
  // Files of keys that were there.
  readonly #had = new Set<string>();
  #config: Config;
  // Whose files are looked at: of the last configuration that was read, also where it was rejected.
  #followed: Config;
  #secrets: string;
  /** The files as they were before they were read. */
  stamps: Stamps;

  constructor(
    server: Pick<Server, 'change'>,
    { config, stamps, plan }: Served,
    given: { options: OptionValues; env: Environment },
  ) {
    this.#server = server;
    this.#begun = config;
    this.#config = config;
    this.#followed = config;
    this.#given = given;
    this.#keysFile = plan.keysFile;
    this.#needsKey = hasKeys(plan, plan.keysFile);
    keyFilesOf(config).forEach((name) => this.#note(name));
    // The server may have made its key behind the other files.
    this.stamps = [...stamps, ...keyStampsOf(config)];
    this.#secrets = stamps.at(-1) ?? '';
  }

  #note(keysFile: string | undefined): void {
    if (keysFile !== undefined && existsSync(keysFile)) this.#had.add(keysFile);
  }

  now(): Stamps {
    return [...stampsOf(this.#followed), ...keyStampsOf(this.#followed)];
  }

  /** Gives what is to be reported. `stamps` are of now. */
  read(stamps: Stamps): string {
    this.stamps = stamps;
    try {
      return this.#apply(stamps);
    } catch (error) {
      const { cause } = error as Error;
      const known = MillraceError.is(error) ? error : cause;
      const code = MillraceError.is(known) ? known.code : 'invalid_option';
      return shownError(`The configuration stays as it was: ${messageOf(error)}`, code);
    }
  }

  #apply([file = '']: Stamps): string {
    const { options, env } = this.#given;
    const next = resolveConfig({ ...options, config: this.#begun.file ?? 'off' }, env);
    // The other files are read after this one, and it may name others than before.
    this.#followed = next;
    this.stamps = [file, ...this.now().slice(1)];
    const secrets = stampsOf(this.#begun).at(-1) ?? '';
    // A key of its own is made by a server that starts alone.
    const { options: plan, keyFile } = servePlan(next, env, { isCheck: true });
    if (this.#needsKey && !hasKeys(plan, this.#keysFile)) {
      const gone = [keyFile, this.#keysFile].find((of) => of !== undefined && this.#had.has(of));
      throw new UsageError(
        gone === undefined
          ? 'It has no key any more, and anyone could use the server: opening it needs a restart.'
          : `${gone} is gone, and with it the keys of the server. ` +
              'Put it back; opening the server needs a restart.',
      );
    }
    this.#note(keyFile);
    this.#server.change(plan);
    this.#needsKey = hasKeys(plan, this.#keysFile);
    this.#note(this.#keysFile);
    const { live } = changesBetween(this.#config, next);
    const { restart } = changesBetween(this.#begun, next);
    if (secrets !== this.#secrets) live.push('secrets');
    this.#secrets = secrets;
    this.#config = next;
    return reportOf(live, restart);
  }
}

/**
 * Follows the files of the configuration until it is stopped. Without a file of settings, SIGHUP ends the process as
 * usual.
 */
export function followConfig(
  server: Pick<Server, 'change'>,
  served: Served,
  given: { options: OptionValues; env: Environment },
  report: (text: string) => void,
): { stop(): void } {
  const reload = new Reload(server, served, given);
  let seen = reload.stamps;
  let isRequested = false;
  const read = (stamps: Stamps): void => {
    isRequested = false;
    report(reload.read(stamps));
    seen = reload.stamps;
  };
  const look = (): void => {
    const now = reload.now();
    // Many programs empty a file before they write it: what still changes is not read.
    const isSettled = areSame(now, seen);
    seen = now;
    if (isSettled && (isRequested || !areSame(now, reload.stamps))) read(now);
  };
  const hangUp = (): void => {
    const now = reload.now();
    if (areSame(now, reload.stamps)) read(now);
    else isRequested = true;
  };
  const timer = setInterval(look, lookEveryMs);
  if (served.config.file !== undefined) process.on('SIGHUP', hangUp);
  return {
    stop: () => {
      clearInterval(timer);
      process.off('SIGHUP', hangUp);
    },
  };
}
