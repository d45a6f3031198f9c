// Reads the outputs of an "events" pipe: JSON arrays of events and diagnostics. A string among them
// is the delta of an event whose other members are those of the content event before it.
import type { AGUIEvent } from '../../types/events';
import { errorFromNative } from '../errors';
import type { Output } from '../transport/source';
import type { DiagnosticHooks } from './diagnostics';
import { report } from './diagnostics';
import type { EventReader } from './event-stream';

const at = '@'.charCodeAt(0);

type ContentType = 'TEXT_MESSAGE_CONTENT' | 'REASONING_MESSAGE_CONTENT';

export class EngineEventReader implements EventReader {
  readonly #hooks: DiagnosticHooks;
  #items: (AGUIEvent | string)[] = [];
  #next = 0;
  // Of the last content event: the id of its message, or of its tool call.
  #type: ContentType | 'TOOL_CALL_ARGS' = 'TEXT_MESSAGE_CONTENT';
  #id = '';
  #mark: EngineEventReader | undefined;

  constructor(hooks: DiagnosticHooks) {
    this.#hooks = hooks;
  }

  /** A reader that goes on where this one stands. */
  fork(): EngineEventReader {
    const other = new EngineEventReader(this.#hooks);
    other.#type = this.#type;
    other.#id = this.#id;
    return other;
  }

  /** What to fork for a reader that goes on where this one stands; the same while it stands there. */
  mark(): EngineEventReader {
    const mark = this.#mark;
    if (mark && mark.#type === this.#type && mark.#id === this.#id) return mark;
    return (this.#mark = this.fork());
  }

  load(output: Output): void {
    this.loadItems(JSON.parse(output as string) as (AGUIEvent | string)[]);
  }

  loadItems(items: (AGUIEvent | string)[]): void {
    this.#items = items;
    this.#next = 0;
  }

  next(): AGUIEvent | undefined {
    while (this.#next < this.#items.length) {
      const item = this.#items[this.#next++] as AGUIEvent | string;
      if (typeof item === 'string') return this.#content(item);
      if (item.type.charCodeAt(0) !== at) return this.#remember(item);
      const event = this.#takeDiagnostic(item);
      if (event) return event;
    }
    // What was read is not kept for as long as the next output takes.
    this.#items = [];
    this.#next = 0;
    return undefined;
  }

  #content(delta: string): AGUIEvent {
    const type = this.#type;
    if (type === 'TOOL_CALL_ARGS') return { type, toolCallId: this.#id, delta };
    return { type, messageId: this.#id, delta };
  }

  #remember(event: AGUIEvent): AGUIEvent {
    if (event.type === 'TOOL_CALL_ARGS') {
      this.#type = event.type;
      this.#id = event.toolCallId;
    } else if (
      event.type === 'TEXT_MESSAGE_CONTENT' ||
      event.type === 'REASONING_MESSAGE_CONTENT'
    ) {
      this.#type = event.type;
      this.#id = event.messageId;
    }
    return event;
  }

  #takeDiagnostic(item: { type: string; error?: unknown }): AGUIEvent | undefined {
    if (item.type === '@error') throw errorFromNative(JSON.stringify(item.error));
    return report(item, this.#hooks);
  }
}
