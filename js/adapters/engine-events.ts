// Reads the outputs of an "events" pipe: JSON arrays of events and diagnostics.
import type { AGUIEvent } from '../../types/events';
import { errorFromNative } from '../errors';
import type { Output } from '../transport/source';
import type { DiagnosticHooks } from './diagnostics';
import { report } from './diagnostics';
import type { EventReader } from './event-stream';

const at = '@'.charCodeAt(0);

export class EngineEventReader implements EventReader {
  readonly #hooks: DiagnosticHooks;
  #items: AGUIEvent[] = [];
  #next = 0;

  constructor(hooks: DiagnosticHooks) {
    this.#hooks = hooks;
  }

  load(output: Output): void {
    this.#items = JSON.parse(output as string) as AGUIEvent[];
    this.#next = 0;
  }

  next(): AGUIEvent | undefined {
    while (this.#next < this.#items.length) {
      const item = this.#items[this.#next++] as AGUIEvent;
      if (item.type.charCodeAt(0) !== at) return item;
      const event = this.#takeDiagnostic(item);
      if (event) return event;
    }
    return undefined;
  }

  #takeDiagnostic(item: { type: string; error?: unknown }): AGUIEvent | undefined {
    if (item.type === '@error') throw errorFromNative(JSON.stringify(item.error));
    return report(item, this.#hooks);
  }
}
