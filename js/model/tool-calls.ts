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

/** The calls of one answer. */
export interface ToolCallList {
  /** Copies of the calls. */
  calls(): MessageToolCall[];
  /** Takes pieces; gives of each call whether it changed. */
  add(pieces: readonly ToolCallPiece[]): boolean[];
}

/**
 * A piece belongs to the call with its id, else to the last one with its index: providers use an index again for a
 * parallel call, but never an id.
 */
export function toolCallList(): ToolCallList {
  const entries: Entry[] = [];
  const find = ({ id, index }: ToolCallPiece): Entry | undefined => {
    if (!id && index === undefined) return entries.at(-1);
    return id
      ? entries.find(({ call, index: at }) => call.id === id || (call.id === '' && at === index))
      : entries.findLast((entry) => entry.index === index);
  };
  const add = (piece: ToolCallPiece): Entry | undefined => {
    const { id, index, type = 'function', thoughtSignature } = piece;
    const { name, arguments: text } = piece.function ?? {};
    let entry = find(piece);
    if (!entry) {
      // A piece without an id, a name and arguments is no call.
      if (!id && !name && !text) return undefined;
      entry = { index, call: { id: '', type, function: { name: '', arguments: '' } } };
      entries.push(entry);
    }
    const { call } = entry;
    if (id) call.id = id;
    call.function.name ||= name ?? '';
    call.function.arguments += text ?? '';
    if (thoughtSignature !== undefined) call.thoughtSignature = thoughtSignature;
    return entry;
  };
  return {
    calls: () => entries.map(({ call }) => ({ ...call, function: { ...call.function } })),
    add(pieces) {
      const changed = pieces.map((piece) => (Object(piece) === piece ? add(piece) : undefined));
      return entries.map((entry) => changed.includes(entry));
    },
  };
}
