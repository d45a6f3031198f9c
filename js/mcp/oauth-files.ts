// An OAuthStore on disk: one file for each MCP server, which only its owner may read.
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { MillraceError } from '../errors';
import type { OAuthRecord, OAuthStore } from './oauth-records';

interface Retained extends OAuthRecord {
  server: string;
}

const isMissing = (error: unknown): boolean => (error as { code?: unknown }).code === 'ENOENT';

function parsed(text: string): Partial<Retained> {
  try {
    const value = JSON.parse(text) as Partial<Retained> | null;
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

/**
 * Keeps tokens and registrations in a folder, one file of mode 0600 for each MCP server. Each is replaced as
 * a whole, so that processes may share the folder. A file that cannot be understood counts as none.
 */
export function fileOAuthStore(folder: string): OAuthStore {
  if (typeof folder !== 'string' || folder === '') {
    throw new MillraceError('invalid_option', 'fileOAuthStore() needs the path of a folder.');
  }
  // Of one server the last one that was saved is what stays.
  const saving = new Map<string, Promise<void>>();
  const fileOf = (server: string): string => {
    if (!URL.canParse(server)) {
      throw new MillraceError(
        'invalid_argument',
        `'${server}' is not the URL of an MCP server; tokens are stored by URL.`,
      );
    }
    const host = new URL(server).hostname.replace(/[^\w.-]/g, '_').slice(0, 100);
    const hash = createHash('sha256').update(server).digest('hex').slice(0, 16);
    return join(folder, `${host}-${hash}.json`);
  };
  const write = async (server: string, record: OAuthRecord): Promise<void> => {
    const file = fileOf(server);
    const draft = `${file}.${randomUUID()}`;
    const retained: Retained = { server, ...record };
    await mkdir(folder, { recursive: true, mode: 0o700 });
    try {
      await writeFile(draft, `${JSON.stringify(retained, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
      await rename(draft, file);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
  };
  return {
    async load(server) {
      let text: string;
      try {
        text = await readFile(fileOf(server), 'utf8');
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
      const { server: named, issuer, client, tokens } = parsed(text);
      if (named !== server || typeof issuer !== 'string') return undefined;
      return { issuer, ...(client && { client }), ...(tokens && { tokens }) };
    },
    save(server, record) {
      const before = saving.get(server) ?? Promise.resolve();
      const saved = before.catch(() => undefined).then(() => write(server, record));
      saving.set(server, saved);
      const done = (): void => {
        if (saving.get(server) === saved) saving.delete(server);
      };
      saved.then(done, done);
      return saved;
    },
  };
}
