// Many streams of one server at a pace: each that ends is followed by another.
import { setTimeout as sleep } from 'node:timers/promises';

import { cpuOf, cpuSince } from './cpu.mjs';
import { startLoad } from './traffic.mjs';

/** Deltas of each stream. */
export const perSecond = 50;

// `how` is startLoad's.
export async function measureBusy(server, { streams, deltas, window }, how = {}) {
  const load = await startLoad(server.port, server.path, how);
  const duration = (deltas / perSecond) * 1000;
  await load.ask(`run ${streams} ${duration} ${deltas} ${perSecond}`);
  await sleep(duration * 1.5);
  await server.ask?.({ resetDelay: true });
  const before = cpuOf(server.pid);
  await load.ask('mark');
  await sleep(window);
  const spent = cpuSince(before, server.pid);
  const seen = await load.ask('mark');
  const delay = await server.ask?.({ delay: true });
  const sum = await load.ask('stop');
  await load.stop();
  // Streams that were under way at both ends of the window count by their bytes.
  const delivered = (seen.bytes / (sum.finishedBytes / sum.finished)) * deltas;
  return {
    delivered: delivered / seen.seconds,
    mainEach: spent.main / delivered,
    allEach: spent.all / delivered,
    main: spent.main / (seen.seconds * 1e4),
    loopDelay: delay?.p99,
    latencyP50: seen.latencyP50,
    latencyP99: seen.latencyP99,
    firstByte: seen.firstByteP99,
    finished: sum.finished,
    failed: sum.failed,
    failures: sum.failures,
  };
}
