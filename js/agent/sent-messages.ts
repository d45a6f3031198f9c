// Messages that are sent to a run at work, until the engine has taken them.
import type { UserMessage } from '../../types/messages';
import type { RunInfo } from '../../types/runtime';
import { errorFromNative, MillraceError } from '../errors';
import type { AgentCall } from '../model/call';
import { toJson } from '../serialize';
import { shown } from '../shown';
import type { DurablePart } from './durable-types';

/** Why a run takes no message. */
function notTaken(): MillraceError {
  return new MillraceError('invalid_state', 'The run takes no message: it is over, or it waits.');
}

/** What became of one; with an error, it is none. */
export interface SentAnswer {
  id: number;
  taken: boolean;
  error?: object;
}

type Answer = (problem: MillraceError | undefined) => void;

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
  // Few runs are sent any.
  #open: Map<number, Answer> | undefined;
  #last = 0;

  constructor(to: Receiver) {
    this.#to = to;
  }

  /** Resolves when the run has taken the message; rejects with `invalid_state` when it does not. */
  async send(command: 'send' | 'interrupt', content: UserMessage['content']): Promise<void> {
    const isContent = typeof content === 'string' || Array.isArray(content);
    if (!isContent || content.length === 0) {
      throw new MillraceError(
        'invalid_argument',
        `${command}() takes a text or an array of parts, not ${shown(content)}.`,
      );
    }
    const json = toJson(content, `The content of ${command}()`);
    const { call, durable, ready, isOver } = this.#to;
    await ready();
    if (durable) {
      const interrupt = command === 'interrupt';
      const message = { run: durable.id, content: JSON.parse(json) as unknown, interrupt };
      await durable.runtime.ask<RunInfo>('message', message);
      return;
    }
    if (isOver()) throw notTaken();
    const id = (this.#last += 1);
    await new Promise<void>((resolve, reject) => {
      this.#open ??= new Map<number, Answer>();
      this.#open.set(id, (problem) => (problem ? reject(problem) : resolve()));
      call.message(command, id, json);
    });
  }

  answered({ id, taken, error }: SentAnswer): void {
    const problem = error ? errorFromNative(JSON.stringify(error)) : notTaken();
    this.#open?.get(id)?.(taken ? undefined : problem);
    this.#open?.delete(id);
  }

  /** The run is over. */
  end(): void {
    for (const answer of this.#open?.values() ?? []) answer(notTaken());
    this.#open = undefined;
  }
}
