// Sends the requests of an agent's run through a fetch function: the engine asks, what comes of it is
// answered bit by bit. See HostSender in lib/host/host_sender.hpp.
import type { AsyncResource } from 'node:async_hooks';

import type { Call } from '../model/call';
import { FetchTransfer, type HostRequest } from '../model/fetch-transfer';

interface Open {
  transfer: FetchTransfer;
  /** The engine has not taken the last data yet. */
  goOn: (() => void) | undefined;
  taken: Promise<void> | undefined;
}

export class HostFetches {
  readonly #call: Call;
  readonly #scope: AsyncResource;
  readonly #send: typeof fetch;
  readonly #open = new Map<number, Open>();

  /** The function runs in the `scope` of the caller that started the run. */
  constructor(call: Call, scope: AsyncResource, send: typeof fetch) {
    this.#call = call;
    this.#scope = scope;
    this.#send = send;
  }

  start(id: number, request: HostRequest): void {
    const send = this.#send;
    const open: Partial<Open> = {};
    this.#open.set(id, open as Open);
    open.transfer = this.#scope.runInAsyncScope(
      () =>
        new FetchTransfer(send, request, {
          head: (json) => this.#call.complete(id, `{"head":${json}}`),
          data: (bytes) => {
            open.taken = new Promise((resolve) => (open.goOn = resolve));
            this.#report(id, { data: Buffer.from(bytes).toString('base64') });
          },
          done: (done, message) => {
            this.#open.delete(id);
            this.#report(id, { done, message });
          },
          room: () => open.taken,
        }),
    );
  }

  /** The engine has taken the data that it was given. */
  taken(id: number): void {
    const open = this.#open.get(id);
    if (!open) return;
    open.taken = undefined;
    open.goOn?.();
  }

  /** False when the id is not a transfer's. */
  withdraw(id: number): boolean {
    const open = this.#open.get(id);
    this.#open.delete(id);
    open?.transfer.abort();
    // What waits to read on sees that it is over.
    open?.goOn?.();
    return open !== undefined;
  }

  end(): void {
    for (const id of [...this.#open.keys()]) this.withdraw(id);
  }

  #report(id: number, answer: object): void {
    this.#call.complete(id, JSON.stringify(answer));
  }
}
