// The log of an SQLite file, from the index that SQLite shares between processes (WalIndexHdr).
import { closeSync, openSync, readSync } from 'node:fs';

const headerBytes = 20;
const commitsAt = 8;
const pageBytesAt = 14;
const framesAt = 16;
const frameHeadBytes = 24;

function header(store) {
  const bytes = Buffer.alloc(headerBytes);
  const file = openSync(`${store}-shm`, 'r');
  readSync(file, bytes, 0, headerBytes, 0);
  closeSync(file);
  return bytes;
}

/** Commits so far. With durability full each is a sync. */
export const commits = (store) => header(store).readUInt32LE(commitsAt);

/** Counts what is written to the log, which begins anew now and then; gives a function that ends it and gives the bytes. */
export function watchLog(store) {
  const every = 5;
  const pageBytes = header(store).readUInt16LE(pageBytesAt);
  const frames = () => header(store).readUInt32LE(framesAt);
  let [last, sum] = [frames(), 0];
  const look = () => {
    const now = frames();
    sum += now >= last ? now - last : now;
    last = now;
  };
  const timer = setInterval(look, every);
  return () => {
    clearInterval(timer);
    look();
    return sum * (pageBytes + frameHeadBytes);
  };
}
