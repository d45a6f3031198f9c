// CPU time and memory of a process, as Linux counts them; read from outside, so that measuring costs the
// measured process nothing.
import { readFileSync } from 'node:fs';

const ticksPerSecond = 100;

// Microseconds of one thread: nanoseconds from schedstat, else clock ticks of 10 ms.
function threadCpu(pid, tid) {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${tid}/schedstat`, 'latin1').split(' ')[0]) / 1e3;
  } catch {
    return ticks(readFileSync(`/proc/${pid}/task/${tid}/stat`, 'latin1'));
  }
}

// User and system time: the 14th and 15th field, counted behind the name in parentheses.
function ticks(stat) {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1e6) / ticksPerSecond;
}

// Microseconds of CPU: of the JavaScript thread (the main one) and of the whole process.
export function cpuOf(pid = process.pid) {
  return {
    main: threadCpu(pid, pid),
    all: ticks(readFileSync(`/proc/${pid}/stat`, 'latin1')),
  };
}

export function cpuSince(before, pid = process.pid) {
  const now = cpuOf(pid);
  return { main: now.main - before.main, all: now.all - before.all };
}

// Resident memory in bytes.
export function residentBytes(pid = process.pid) {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))[1]) * 1024;
}
