// Reads the outputs of an "events" pipe: JSON arrays of events and diagnostics. A string among them
// is the delta of an event whose other members are those of the content event before it.
import type { AGUIEvent } from '../../types/events';
import { errorFromNative } from '../errors';
import { itemsOf } from '../transport/batches';
import type { Output } from '../transport/source';
import type { DiagnosticHooks } from './diagnostics';
import { report } from './diagnostics';
import type { EventReader } from './event-stream';

const at = '@'.charCodeAt(0);

type ContentType = 'TEXT_MESSAGE_CONTENT' | 'REASONING_MESSAGE_CONTENT';

/** Where a reader stands: what it has to know to go on from there. */
export interface ReaderMark {
  readonly hooks: DiagnosticHooks;
  readonly type: ContentType | 'TOOL_CALL_ARGS';
  /** Of the last content event: the id of its message, or of its tool call. */
  readonly id: string;
}

export class EngineEventReader implements EventReader {
  readonly #hooks: DiagnosticHooks;
  #items: (AGUIEvent | string)[] = [];
  #next = 0;
  #mark: ReaderMark;

  constructor(hooks: DiagnosticHooks) {
    this.#hooks = hooks;
    this.#mark = { hooks, type: 'TEXT_MESSAGE_CONTENT', id: '' };
  }

  /** A reader that goes on from there. */
  static from(mark: ReaderMark): EngineEventReader {
    const reader = new EngineEventReader(mark.hooks);
    reader.#mark = mark;
    return reader;
  }

  /** The same as long as the reader stands there. */
  get mark(): ReaderMark {
    return this.#mark;
  }

  load(output: Output): void {
    this.loadItems(itemsOf<AGUIEvent | string>(output));
  }

  loadItems(items: (AGUIEvent | string)[]): void {
    this.#items = items;
    this.#next = 0;
  }

  next(): AGUIEvent | undefined {
    while (this.#next < this.#items.length) {
      const event = this.read(this.#items[this.#next++] as AGUIEvent | string);
      if (event) return event;
    }
    // What was read is not kept for as long as the next output takes.
    this.#items = [];
    this.#next = 0;
    return undefined;
  }

  /** One item by itself; undefined for a diagnostic that is told otherwise. */
  read(item: AGUIEvent | string): AGUIEvent | undefined {
    if (typeof item === 'string') return this.#content(item);
    if (item.type.charCodeAt(0) !== at) return this.#remember(item);
    return this.#takeDiagnostic(item);
  }

  #content(delta: string): AGUIEvent {
    const { type, id } = this.#mark;
    if (type === 'TOOL_CALL_ARGS') return { type, toolCallId: id, delta };
    return { type, messageId: id, delta };
  }

  // Types are written out: the event's own are texts of their own, which a mark would keep.
  #remember(event: AGUIEvent): AGUIEvent {
    if (event.type === 'TOOL_CALL_ARGS') {
      this.#stand('TOOL_CALL_ARGS', event.toolCallId);
    } else if (event.type === 'TEXT_MESSAGE_CONTENT') {
      this.#stand('TEXT_MESSAGE_CONTENT', event.messageId);
    } else if (event.type === 'REASONING_MESSAGE_CONTENT') {
      this.#stand('REASONING_MESSAGE_CONTENT', event.messageId);
    }
    return event;
  }

  #stand(type: ReaderMark['type'], id: string): void {
    const mark = this.#mark;
    if (mark.type === type && mark.id === id) return;
    this.#mark = { hooks: this.#hooks, type, id };
  }

  #takeDiagnostic(item: { type: string; error?: unknown }): AGUIEvent | undefined {
    if (item.type === '@error') throw errorFromNative(JSON.stringify(item.error));
    return report(item, this.#hooks);
  }
}
