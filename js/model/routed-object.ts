// An object that the channels of a router are asked for in turn.
import type { DeepPartial, GenerateObjectOptions } from '../../types/objects';
import { checkSignal, onAbort, reasonOf } from '../abort';
import type { ObjectRun } from './object';

/** What reads an object on its way. */
export type ObjectReader<T> = Pick<ObjectRun<T>, keyof ObjectRun<T>>;

type Signalled = { signal: AbortSignal; metadata?: unknown };
type Open<T> = (call: GenerateObjectOptions) => ObjectReader<T>;
type Search<T, Runtime> = (call: Signalled, work: (runtime: Runtime) => Promise<T>) => Promise<T>;

/** Shows what each channel answers, until one gives the whole object. */
export class RoutedObjectRun<T, Runtime> implements ObjectReader<T> {
  readonly #ended = new AbortController();
  readonly #object: Promise<T>;
  #run: ObjectReader<T> | undefined;
  #over = false;
  #wake: (() => void)[] = [];

  constructor(
    search: Search<T, Runtime>,
    open: (runtime: Runtime) => Open<T>,
    call: GenerateObjectOptions,
  ) {
    const { signal } = this.#ended;
    const heard = call.signal;
    checkSignal('streamObject()', heard);
    const end = (): void => this.#ended.abort(reasonOf(heard ?? undefined));
    const settled = onAbort(heard, end);
    if (heard?.aborted) end();
    this.#object = search({ ...call, signal }, async (runtime) => {
      this.#run = open(runtime)({ ...call, signal });
      this.#notify();
      return this.#run.object();
    }).finally(() => {
      settled();
      this.#over = true;
      this.#notify();
    });
    // Who only iterates must not see an unhandled rejection.
    this.#object.catch(() => undefined);
  }

  object(): Promise<T> {
    return this.#object;
  }

  stop(): void {
    this.#ended.abort();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<DeepPartial<T>, void> {
    let shown: ObjectReader<T> | undefined;
    for (;;) {
      if (this.#run !== shown && this.#run) {
        shown = this.#run;
        try {
          yield* shown;
        } catch {
          // Another channel is asked, or object() says what failed.
        }
      } else if (this.#over) {
        await this.#object;
        return;
      } else {
        await new Promise<void>((resolve) => this.#wake.push(resolve));
      }
    }
  }

  #notify(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}
