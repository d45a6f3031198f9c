// Who reads an agent's run as bytes, and the events of a run that was begun for its bytes alone.
import type { RunEvent } from '../../types/events';
import { agUIAdapter } from '../adapters/adapters';
import { MillraceError } from '../errors';
import type { AgentCall } from '../model/call';
import { EngineBytes } from '../runs/engine-bytes';
import { ReplayBytes } from '../runs/replay-bytes';
import { tooLong } from '../runs/replay-events';
import type { Source } from '../transport/source';

export class RunByteReaders {
  readonly #call: AgentCall;
  readonly #replayBufferSize: number;
  readonly #left: () => void;
  #count = 0;
  #bytes: ReplayBytes | undefined;

  /** `left` is called when a reader leaves before the end. */
  constructor(call: AgentCall, replayBufferSize: number, left: () => void) {
    this.#call = call;
    this.#replayBufferSize = replayBufferSize;
    this.#left = left;
  }

  /** How many read its bytes, or the events that are made of them. */
  get count(): number {
    return this.#count;
  }

  open(options: Record<string, unknown>): Source {
    this.#count += 1;
    const size = this.#replayBufferSize;
    const retained = this.#bytes || size === 0 ? undefined : new ReplayBytes(size);
    this.#bytes ??= retained;
    return new EngineBytes(this.#call.bytes(options), retained, (left) => {
      this.#count -= 1;
      if (left) this.#left();
    });
  }

  /** The events of the bytes. */
  async *events(started: RunEvent): AsyncGenerator<RunEvent, undefined> {
    this.#count += 1;
    try {
      yield started;
      if (!this.#bytes) throw new MillraceError('replay_unavailable', tooLong);
      const body = ReadableStream.from(this.#bytes.read());
      const answer = new Response(body as ReadableStream<Uint8Array>);
      yield* agUIAdapter().parse<RunEvent>(answer);
    } finally {
      this.#count -= 1;
      this.#left();
    }
    return undefined;
  }
}
