// Puts streamed pieces of tool calls together.
import type { MessageToolCall } from '../../types/chat-stream';

/** One piece as the chat stream carries it. */
export interface ToolCallPiece {
  index?: number;
  id?: string | null;
  type?: string;
  function?: { name?: string | null; arguments?: string | null };
  thoughtSignature?: string;
}

interface Entry {
  index: number | undefined;
  call: MessageToolCall;
}

/**
 * The calls of one answer. A piece belongs to the call with its id, else to the last one with its
 * index: providers use an index again for a parallel call, but never an id.
 */
export class ToolCallList {
  #entries: Entry[] = [];

  get calls(): MessageToolCall[] {
    return this.#entries.map(({ call }) => ({ ...call, function: { ...call.function } }));
  }

  get size(): number {
    return this.#entries.length;
  }

  /** Takes pieces; gives of each call whether it changed. */
  add(pieces: readonly ToolCallPiece[]): boolean[] {
    const changed = new Set<Entry>(pieces.map((piece) => this.#add(piece)));
    return this.#entries.map((entry) => changed.has(entry));
  }

  clear(): void {
    this.#entries = [];
  }

  #add(piece: ToolCallPiece): Entry {
    const { id, index, type = 'function', thoughtSignature } = piece;
    const { name, arguments: text } = piece.function ?? {};
    const entry = this.#find(id, index) ?? this.#create(id, index, type);
    if (id) entry.call.id = id;
    if (name && entry.call.function.name === '') entry.call.function.name = name;
    if (text) entry.call.function.arguments += text;
    if (thoughtSignature !== undefined) entry.call.thoughtSignature = thoughtSignature;
    return entry;
  }

  #find(id: string | null | undefined, index: number | undefined): Entry | undefined {
    if (id) {
      return this.#entries.find(
        (entry) => entry.call.id === id || (entry.call.id === '' && entry.index === index),
      );
    }
    if (index === undefined) return this.#entries.at(-1);
    return this.#entries.findLast((entry) => entry.index === index);
  }

  #create(id: string | null | undefined, index: number | undefined, type: string): Entry {
    const call = { id: id ?? '', type, function: { name: '', arguments: '' } };
    const entry = { index, call };
    this.#entries.push(entry);
    return entry;
  }
}
