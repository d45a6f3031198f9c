// The part of better-sqlite3's interface that LangGraph's saver calls, on node:sqlite: the addon of the package is downloaded
// by a script that no set-up of ours runs. Commits reach the disk.
import { DatabaseSync } from 'node:sqlite';

export function openDatabase(file) {
  const database = new DatabaseSync(file);
  database.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL');
  const known = (values) => values.map((value) => value ?? null);
  return {
    pragma: (text) => database.prepare(`PRAGMA ${text}`).all(),
    exec: (text) => database.exec(text),
    prepare(text) {
      const statement = database.prepare(text);
      return {
        get: (...values) => statement.get(...known(values)),
        all: (...values) => statement.all(...known(values)),
        run: (...values) => statement.run(...known(values)),
        iterate: (...values) => statement.iterate(...known(values)),
      };
    },
    transaction: (work) => (rows) => {
      database.exec('BEGIN');
      try {
        work(rows);
        database.exec('COMMIT');
      } catch (error) {
        database.exec('ROLLBACK');
        throw error;
      }
    },
    close: () => database.close(),
  };
}
