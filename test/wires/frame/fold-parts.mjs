// The parts of folded messages in their order: that of `metadata.millrace.order` of an answer's last assistant message,
// else that of the messages, each with its items, its text and its calls.

/** A list of what each part shows, and last what belongs to messages as a whole. */
export function foldParts(messages) {
  const results = resultsOf(messages);
  const parts = messages.flatMap((message) => partsOf(message, results));
  const order = messages.flatMap(({ metadata }) => metadata?.millrace?.order ?? []);
  const listed = order.flatMap((entry) => taken(parts, entry));
  return [...listed, ...parts.map(({ shows }) => shows)];
}

// What an entry of the record names; a text may have several pieces.
function taken(parts, { type, id, at, size }) {
  const key = keyOf(type, id, at);
  const part = parts.find((one) => one.key === key);
  if (!part) return [];
  if (type !== 'text') return parts.splice(parts.indexOf(part), 1).map(({ shows }) => shows);
  const text = Buffer.from(part.shows);
  part.shows = text.subarray(size).toString();
  return [text.subarray(0, size).toString()];
}

function keyOf(type, id, at = '') {
  return `${type} ${id} ${at}`;
}

function partsOf({ id, role, content, toolCalls = [], toolCallId, metadata, ...rest }, results) {
  const { providerState = [], ...others } = metadata?.millrace ?? {};
  const states = providerState.map((state, at) => ({ key: keyOf('item', id, at), shows: state }));
  if (role === 'tool') {
    const shows = { content, rest, providerState, own: results.get(toolCallId) };
    return [{ key: keyOf('result', toolCallId), shows }];
  }
  if (role === 'reasoning') {
    return [{ key: keyOf(role, id), shows: { content, rest } }, ...states];
  }
  return [
    ...states,
    { key: keyOf('text', id), shows: content ?? '' },
    ...toolCalls.map((call) => ({ key: keyOf('call', call.id), shows: withoutResult(call) })),
    { key: '', shows: { rest, others } },
  ];
}

function statesOf({ metadata }) {
  return metadata?.millrace?.providerState ?? [];
}

const isOfResult = ({ kind }) => /result/.test(kind);

function withoutResult(call) {
  const own = statesOf(call).filter((state) => !isOfResult(state));
  return { ...call, metadata: own };
}

// What calls have of their results, by the calls' ids.
function resultsOf(messages) {
  const calls = messages.flatMap(({ toolCalls = [] }) => toolCalls);
  return new Map(calls.map((call) => [call.id, statesOf(call).filter(isOfResult)]));
}
