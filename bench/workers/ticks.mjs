// What waking the JavaScript thread costs by itself: a timer that does nothing, as often as a paced answer has deltas.
import { cpuOf, cpuSince } from '../support/cpu.mjs';
import { options, report } from '../support/worker.mjs';

const { ticks, every } = options;
let left = ticks;
const before = cpuOf();
const timer = setInterval(() => {
  if (left-- > 0) return;
  clearInterval(timer);
  report({ paced: cpuSince(before).main });
}, every);
