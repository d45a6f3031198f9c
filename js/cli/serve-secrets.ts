// The stored secrets of `millrace serve`, as settings of providers.
import type { Environment } from '../model/environment';
import { UsageError } from './command';
import type { Config } from './config';
import type { FileConfig } from './config-reader';
import { providerMembers } from './config-settings';
import { openSecrets, readSecretFile, secretFileOf, secretKey } from './secret-file';

/** Names of stored secrets, `provider.member`; they can be read without a key. */
export function storedNames(storage: string | undefined): string[] {
  if (storage === undefined) return [];
  return Object.keys(readSecretFile(secretFileOf(storage))?.secrets ?? {});
}

/** The settings of providers: of the file, and for what it has not, of the stored secrets. */
export function providersOf(
  config: Config,
  storage: string | undefined,
  env: Environment,
): FileConfig['providers'] {
  if (storage === undefined) return config.providers;
  const file = secretFileOf(storage);
  const place = {
    ...{ variable: 'MILLRACE_SECRET_KEY', option: 'secret-key-file' },
    file: config.text('storage.secret_key_file'),
  };
  // A wrong key is reported also before there is a secret.
  const key = secretKey(place, storage, env);
  const read = readSecretFile(file);
  if (!read || Object.keys(read.secrets).length === 0) return config.providers;
  if (!key) {
    throw new UsageError(
      `${file} has secrets, and there is no key for them: set MILLRACE_SECRET_KEY, name its file with --secret-key-file, or ` +
        'remove them with millrace secrets remove.',
    );
  }
  const providers = new Map(config.providers);
  for (const [name, value] of openSecrets(read, key, file)) {
    const [id = '', member = ''] = name.split('.');
    const known = Object.hasOwn(providerMembers, member) ? providerMembers[member] : undefined;
    if (known) providers.set(id, { [known.member]: value, ...providers.get(id) });
  }
  return providers;
}
