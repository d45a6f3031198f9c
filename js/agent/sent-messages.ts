// Messages that were sent to a run at work, until the engine has taken them.
import { MillraceError } from '../errors';

/** Why a run takes no message. */
export function notTaken(): MillraceError {
  return new MillraceError('invalid_state', 'The run takes no message: it is over, or it waits.');
}

export class SentMessages {
  readonly #open = new Map<number, (isTaken: boolean) => void>();
  #last = 0;

  /** Resolves when the run has taken the message; rejects with `invalid_state` when it does not. */
  send(give: (id: number) => void): Promise<void> {
    const id = (this.#last += 1);
    return new Promise((resolve, reject) => {
      this.#open.set(id, (isTaken) => (isTaken ? resolve() : reject(notTaken())));
      give(id);
    });
  }

  answered(id: number, isTaken: boolean): void {
    this.#open.get(id)?.(isTaken);
    this.#open.delete(id);
  }

  /** The run is over. */
  end(): void {
    for (const answer of this.#open.values()) answer(false);
    this.#open.clear();
  }
}
