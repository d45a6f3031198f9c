// What a provider signed: `shown` and `reasoning` of `metadata.millrace`. The engine's (lib/message/shown_hash.hpp)
// decides; a test gives the same events to both.
import type { Entity, FoldedMessage } from './messages';
import { listOf, objectOf, textOf } from './messages';
import { hashOf } from './text-hash';

const textIn = (part: unknown): string => {
  const { type, text } = objectOf(part);
  return type === 'text' ? textOf(text) : '';
};

// Of parts, the texts among them.
const hashOfText = ({ content }: FoldedMessage): string =>
  hashOf(textOf(content) || listOf(content).map(textIn).join('')).hash;

/** What has an encrypted value of an event, and the answers that it is part of. */
export class SignedParts {
  readonly #signed = new Set<string>();
  // By id, the reasoning that a part needs.
  readonly #bound = new Map<string, string>();
  readonly #answerOf = new Map<FoldedMessage, number>();
  #answer = 0;
  // Reasoning that binds what follows in the answer.
  #binding = '';

  /** A message of the answer begins; `isBound` for one that may need its reasoning. */
  begin(message: FoldedMessage, isBound: boolean): void {
    this.#answerOf.set(message, this.#answer);
    if (isBound) this.#bind(message.id);
  }

  beginCall(id: string, owner: FoldedMessage): void {
    if (this.#answerOf.get(owner) === this.#answer) this.#bind(id);
  }

  sign(id: string, reasoning?: FoldedMessage): void {
    this.#signed.add(id);
    const isOfAnswer = reasoning && this.#answerOf.get(reasoning) === this.#answer;
    if (isOfAnswer && id.startsWith('rs_')) this.#binding = id;
  }

  endAnswer(): void {
    this.#answer += 1;
    this.#binding = '';
  }

  /** What these messages showed comes again. */
  drop(messages: readonly FoldedMessage[]): void {
    this.#binding = '';
    for (const { id, toolCalls } of messages) {
      for (const one of [id, ...toolCalls.map((call) => call.id)]) this.#bound.delete(one);
    }
  }

  /** Sets the records that are not there. */
  record(folded: readonly FoldedMessage[]): void {
    folded.forEach((message, at) => {
      const { id, role, toolCalls } = message;
      for (const call of toolCalls) {
        this.#set(call, call.id, () => hashOf(call.function.arguments).hash);
        this.#setReasoning(call, call.id);
      }
      this.#set(message, id, () => this.#shownOf(folded, at));
      if (role === 'assistant') this.#setReasoning(message, id);
    });
  }

  #bind(id: string): void {
    if (this.#binding && !this.#bound.has(id)) this.#bound.set(id, this.#binding);
  }

  #set({ metadata, encryptedValue }: Entity, id: string, shown: () => string): void {
    if (encryptedValue === undefined || !this.#signed.has(id) || textOf(metadata.own['shown']))
      return;
    const list = shown();
    if (list) metadata.own['shown'] = list;
  }

  #setReasoning({ metadata }: Entity, id: string): void {
    const reasoning = this.#bound.get(id);
    if (reasoning && !textOf(metadata.own['reasoning'])) metadata.own['reasoning'] = reasoning;
  }

  #shownOf(folded: readonly FoldedMessage[], at: number): string {
    const message = folded[at] as FoldedMessage;
    if (message.role === 'reasoning') {
      const isFurther = (end: number): boolean =>
        folded[end]?.role === 'reasoning' && folded[end].id === `${message.id}:${end - at}`;
      let end = at + 1;
      while (isFurther(end)) end += 1;
      return folded.slice(at, end).map(hashOfText).join(' ');
    }
    // OpenRouter's details sign the reasoning in front of their message.
    if (!message.encryptedValue?.startsWith('[')) return hashOfText(message);
    const answer = this.#answerOf.get(message) ?? -1;
    const isBefore = (one: FoldedMessage): boolean =>
      one.role === 'reasoning' && (this.#answerOf.get(one) ?? -1) === answer;
    return folded.slice(0, at).filter(isBefore).map(hashOfText).join(' ');
  }
}
