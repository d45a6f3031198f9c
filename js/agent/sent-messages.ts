// Messages that are sent to a run at work, until the engine has taken them.
import type { RunInfo } from '../../types/runtime';
import { MillraceError } from '../errors';
import type { AgentCall } from '../model/call';
import { shown } from '../shown';
import type { DurablePart } from './durable-types';

/** Why a run takes no message. */
function notTaken(): MillraceError {
  return new MillraceError('invalid_state', 'The run takes no message: it is over, or it waits.');
}

/** The run that gets them. */
interface Receiver {
  call: AgentCall;
  durable: DurablePart | undefined;
  /** Resolves when the run can be given something. */
  ready: () => Promise<void>;
  isOver: () => boolean;
}

export class SentMessages {
  readonly #to: Receiver;
  readonly #open = new Map<number, (isTaken: boolean) => void>();
  #last = 0;

  constructor(to: Receiver) {
    this.#to = to;
  }

  /** Resolves when the run has taken the message; rejects with `invalid_state` when it does not. */
  async send(command: 'send' | 'interrupt', text: string): Promise<void> {
    if (typeof text !== 'string' || text === '') {
      throw new MillraceError('invalid_argument', `${command}() takes a text, not ${shown(text)}.`);
    }
    const { call, durable, ready, isOver } = this.#to;
    await ready();
    if (durable) {
      const interrupt = command === 'interrupt';
      await durable.runtime.ask<RunInfo>('message', { run: durable.id, text, interrupt });
      return;
    }
    if (isOver()) throw notTaken();
    const id = (this.#last += 1);
    await new Promise<void>((resolve, reject) => {
      this.#open.set(id, (isTaken) => (isTaken ? resolve() : reject(notTaken())));
      call.message(command, id, text);
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
