// Mastra's store in a file. Where it makes its client itself, it sets synchronous=NORMAL, with which a power cut may lose what
// counts as stored; for equal durability this client keeps SQLite's own FULL.
import { createClient } from '@libsql/client';
import { LibSQLStore } from '@mastra/libsql';

export async function fullySyncedStore(file) {
  const client = createClient({ url: `file:${file}`, timeout: 10_000 });
  await client.execute('PRAGMA journal_mode=WAL');
  const { rows } = await client.execute('PRAGMA synchronous');
  if (rows[0].synchronous !== 2) throw new Error('libSQL does not commit to the disk.');
  const storage = new LibSQLStore({ id: 'bench', client });
  await storage.init();
  return storage;
}
