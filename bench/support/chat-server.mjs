// The frame of a chat server under measurement: gives its port to the parent, and collects garbage when the parent wants to
// compare resident memory.
import { collect } from './collect.mjs';

export function serving(port) {
  process.on('message', async (message) => {
    if (!message.collect) return;
    await collect();
    process.send({ collected: true });
  });
  process.send({ port });
}
