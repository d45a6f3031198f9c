// In which order the parts of an answer came, and the record of it in `metadata.millrace.order`. The engine's
// (lib/message/fold_order.cpp, part_order.hpp) decides; a test gives the same events to both.
import type { Entity, FoldedMessage, Json } from './messages';
import { gather, newRow, textOf } from './messages';
import { hashOf } from './text-hash';

const kinds = ['reasoning', 'item', 'text', 'call', 'result'] as const;
type Kind = (typeof kinds)[number];

interface Part {
  kind: Kind;
  /** The message that it is of; an item may wait for it. */
  owner: FoldedMessage | undefined;
  /** Where a text begins, which call or which state it is. */
  number: number;
  isGone?: boolean | undefined;
  /** The id of what has not begun, which an item belongs to. */
  waitsFor?: string | undefined;
}

interface Begun {
  at: number;
  /** Number of the latest piece of its text. */
  piece: number;
}

type Waiting = Map<string, Entity>;

// Of the last two all kinds are items but those named; what only histories have is in no event.
const itemKinds: Readonly<Record<string, RegExp>> = {
  anthropic: /^(content_block|compaction)$/,
  google: /^part$/,
  bedrock: /^content_block$/,
  openai_responses: /^(?!(item|response|refusal|moderation|image|content|members|list)$)/,
  langgraph:
    /^(?!(message|part|result|(reasoning_)?content|members|list|text|refusal|reasoning|thinking|(function|tool)_call|tool_use)$)/,
};

/** True for state that is a part of its own. */
function isItem({ provider, kind }: Json): boolean {
  const name = textOf(provider);
  return Object.hasOwn(itemKinds, name) && itemKinds[name]?.test(textOf(kind)) === true;
}

/** The parts of the answer that is open. */
export class AnswerOrder {
  #parts: Part[] = [];
  #begun = new Map<FoldedMessage, Begun>();
  #count = 0;
  #anchor: FoldedMessage | undefined;
  #isShown = true;
  #last = { at: 0, rank: 0 };
  #openCalls = 0;
  #lastBreak = 0;

  /** A message of the answer begins. */
  begin(message: FoldedMessage): void {
    this.#begun.set(message, { at: ++this.#count, piece: 0 });
    if (message.role === 'assistant') this.#anchor = message;
  }

  /** A part begins. */
  note(kind: Kind, owner: FoldedMessage, number = 0): void {
    const begun = this.#begun.get(owner);
    if (begun) this.#push({ kind, owner, number }, begun.at);
  }

  /** Text is about to be added. */
  noteText(owner: FoldedMessage): void {
    const begun = this.#begun.get(owner);
    if (!begun || (begun.piece > 0 && begun.piece >= this.#lastBreak)) return;
    const content = owner.content ?? '';
    if (typeof content !== 'string') return;
    this.note('text', owner, content.length);
    begun.piece = this.#parts.length;
  }

  /** A state was added to a message, to a call, or to what waits. */
  noteState(state: Json, holder: Entity, id: string, isWaiting: boolean): void {
    if (!isItem(state)) return;
    const number = holder.metadata.states.length - 1;
    if (isWaiting) this.#push({ kind: 'item', owner: undefined, number, waitsFor: id }, Infinity);
    else this.note('item', holder as FoldedMessage, number);
  }

  /** The message begins that these items waited for, or the call, which has no items. */
  place(id: string, owner: FoldedMessage | undefined, statesBefore: number): void {
    for (const part of this.#parts.filter(({ waitsFor }) => waitsFor === id)) {
      part.owner = owner;
      part.number += statesBefore;
      part.isGone = !owner || !this.#begun.has(owner);
      part.waitsFor = undefined;
    }
  }

  /** Messages are void, all of the answer or some; `resultOf` finds the result of a call. */
  drop(
    isVoid: (message: FoldedMessage) => boolean,
    isAll: boolean,
    resultOf: (callId: string) => FoldedMessage | undefined,
  ): void {
    for (const part of this.#parts) {
      const { kind, owner, number } = part;
      const result = kind === 'result' ? resultOf(owner?.toolCalls[number]?.id ?? '') : undefined;
      part.isGone ||= !owner || isVoid(owner) || (result && isVoid(result));
      part.waitsFor = undefined;
    }
    this.#openCalls = 0;
    this.#parts.forEach(({ kind, isGone }) => isGone || this.#countCall(kind));
    if (isAll) this.#clearParts();
    for (const message of [...this.#begun.keys()].filter(isVoid)) this.#begun.delete(message);
    this.#anchor = [...this.#begun.keys()].findLast(({ role }) => role === 'assistant');
  }

  /** What follows is another answer. */
  start(): void {
    this.#clearParts();
    this.#begun.clear();
    this.#anchor = undefined;
  }

  /**
   * Gives the items that belong to nothing that is shown, and the record, to the last message of the answer; gives that
   * message when it is a new one.
   */
  close(waiting: Waiting): FoldedMessage | undefined {
    if (this.#isShown) return undefined;
    const id = this.#parts.find(({ waitsFor }) => waitsFor)?.waitsFor;
    const made = !this.#anchor && id ? newRow('assistant', id) : undefined;
    const anchor = this.#anchor ?? made;
    if (!anchor) return undefined;
    this.#giveItems(anchor, made !== undefined, waiting);
    const order = this.#entries(anchor);
    if (order) anchor.metadata.own['order'] = order;
    return made;
  }

  #clearParts(): void {
    this.#parts = [];
    this.#isShown = true;
    this.#last = { at: 0, rank: 0 };
    this.#openCalls = 0;
    this.#lastBreak = 0;
  }

  #push(part: Part, at: number): void {
    const { kind } = part;
    const rank = kinds.indexOf(kind);
    this.#isShown &&= this.#follows(kind, rank, at);
    this.#last = { at, rank };
    this.#countCall(kind);
    this.#parts.push(part);
    if (kind !== 'text') this.#lastBreak = this.#parts.length;
  }

  #countCall(kind: Kind): void {
    if (kind === 'call') this.#openCalls += 1;
    if (kind === 'result' && this.#openCalls > 0) this.#openCalls -= 1;
  }

  #follows(kind: Kind, rank: number, at: number): boolean {
    if (kind === 'item') return false;
    if (this.#parts.length === 0) return true;
    if (at === this.#last.at) return rank >= this.#last.rank;
    // Calls are written at the end of a turn, and their results behind their message.
    const partsCalls = this.#openCalls > 0 && kind !== 'result';
    return at > this.#last.at && !partsCalls;
  }

  #giveItems(anchor: FoldedMessage, isNew: boolean, waiting: Waiting): void {
    const own = waiting.get(anchor.id);
    if (isNew && own) {
      gather(anchor, own);
      Object.assign(anchor, { encryptedValue: own.encryptedValue });
    }
    const moved = new Set<Json>();
    for (const part of this.#parts) {
      const { waitsFor: id } = part;
      const from = id === undefined ? undefined : waiting.get(id);
      if (!from) continue;
      if (!isNew || id !== anchor.id) {
        const state = from.metadata.states[part.number] as Json;
        moved.add(state);
        part.number = anchor.metadata.states.push(state) - 1;
      }
      part.owner = anchor;
    }
    waiting.forEach(({ metadata }) => {
      metadata.states = metadata.states.filter((state) => !moved.has(state));
    });
    if (isNew) waiting.delete(anchor.id);
  }

  // The entries of the record, or nothing when there is nothing to order.
  #entries(anchor: FoldedMessage): Json[] | undefined {
    const entries: Json[] = [];
    // Where the piece of a text behind begins.
    const ends = new Map<FoldedMessage, number>();
    for (const { kind, owner = anchor, number, isGone } of [...this.#parts].reverse()) {
      if (isGone) continue;
      const call = owner.toolCalls[number];
      const isOfCall = kind === 'call' || kind === 'result';
      const entry: Json = { type: kind, id: isOfCall ? call?.id : owner.id };
      let text = kind === 'call' ? call?.function.arguments : textOf(owner.content);
      if (kind === 'text') {
        const begin = beginOfCharacter(textOf(text), number);
        text = textOf(text).slice(begin, ends.get(owner));
        ends.set(owner, begin);
        if (!text) continue;
      }
      if (kind === 'item') {
        const state = owner.metadata.states[number];
        // The metadata may have come anew, whole.
        if (!state) return undefined;
        Object.assign(entry, { kind: state['kind'], at: number });
      } else if (kind !== 'result') Object.assign(entry, hashOf(textOf(text)));
      entries.push(entry);
    }
    return entries.length < 2 ? undefined : entries.reverse();
  }
}

// Halves of a surrogate pair may come in two.
function beginOfCharacter(text: string, at: number): number {
  const isSplit =
    /^[\uDC00-\uDFFF]$/.test(text[at] ?? '') && /[\uD800-\uDBFF]/.test(text[at - 1] ?? '');
  return isSplit ? at - 1 : at;
}
