// Which events of an answer are parts of it, as the engine says (lib/encoder/answer_parts.hpp).
import type { AGUIEvent } from '../../types/events';

const parts = new WeakSet<AGUIEvent>();

/** The event belongs to an answer that comes in parts. */
export function markPart(event: AGUIEvent): void {
  parts.add(event);
}

/** Whether the piece of the event, if it has one, is a part of its answer. */
export function isPart(event: AGUIEvent): boolean {
  return parts.has(event);
}
