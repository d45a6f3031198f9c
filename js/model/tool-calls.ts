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
  readonly #entries: Entry[] = [];

  get calls(): MessageToolCall[] {
    return this.#entries.map(({ call }) => ({ ...call, function: { ...call.function } }));
  }

  /** Takes pieces; gives of each call whether it changed. */
  add(pieces: readonly ToolCallPiece[]): boolean[] {
    const changed = pieces.map((piece) => (isPiece(piece) ? this.#add(piece) : undefined));
    return this.#entries.map((entry) => changed.includes(entry));
  }

  #add(piece: ToolCallPiece): Entry | undefined {
    const { id, index, type = 'function', thoughtSignature } = piece;
    let entry = this.#find(id, index);
    if (!entry) {
      if (!begins(piece)) return undefined;
      entry = { index, call: { id: '', type, function: { name: '', arguments: '' } } };
      this.#entries.push(entry);
    }
    const { call } = entry;
    const { name, arguments: text } = piece.function ?? {};
    if (id) call.id = id;
    call.function.name ||= name ?? '';
    call.function.arguments += text ?? '';
    if (thoughtSignature !== undefined) call.thoughtSignature = thoughtSignature;
    return entry;
  }

  #find(id: string | null | undefined, index: number | undefined): Entry | undefined {
    const entries = this.#entries;
    if (!id && index === undefined) return entries.at(-1);
    return id
      ? entries.find(({ call, index: at }) => call.id === id || (call.id === '' && at === index))
      : entries.findLast((entry) => entry.index === index);
  }
}

function isPiece(piece: unknown): piece is ToolCallPiece {
  return typeof piece === 'object' && piece !== null;
}

// A piece without an id, a name and arguments is no call.
function begins({ id, function: called }: ToolCallPiece): boolean {
  return Boolean(id) || Boolean(called?.name) || Boolean(called?.arguments);
}
