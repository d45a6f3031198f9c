// Has V8 give back what it kept for a burst, as it does by itself after some quiet seconds, so that resident memory
// can be compared. Unlike gc(), this also shrinks the room for young objects, which a thousand requests at once
// have filled and which belongs to none of them.
import { Session } from 'node:inspector/promises';

let session;

export async function collect() {
  if (!session) {
    session = new Session();
    session.connect();
  }
  for (let i = 0; i < 3; i++) {
    await session.post('HeapProfiler.collectGarbage');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
