// Ids that sort in the order of their making, as the store gives them.
import { randomUUID } from 'node:crypto';

const last = { ms: 0, count: 0 };
const mostCount = 0xfff;

/**
 * 32 hexadecimal digits: milliseconds and a counter before random digits, so that what was made in the same millisecond keeps
 * its order.
 * Source: RFC 9562, UUID version 7.
 */
function orderedDigits(): string {
  const now = Date.now();
  if (now > last.ms) Object.assign(last, { ms: now, count: 0 });
  else if (last.count < mostCount) last.count += 1;
  else Object.assign(last, { ms: last.ms + 1, count: 0 });
  const ms = last.ms.toString(16).padStart(12, '0');
  const count = last.count.toString(16).padStart(3, '0');
  return `${ms}7${count}${randomUUID().replaceAll('-', '').slice(16)}`;
}

/** The id of a run that is about to begin. */
export const newRunId = (): string => `run_${orderedDigits()}`;

/** A UUID, of version 7. */
export function orderedUuid(): string {
  const digits = orderedDigits();
  const ends = [8, 12, 16, 20, 32];
  return ends.map((end, at) => digits.slice(at ? ends[at - 1] : 0, end)).join('-');
}
