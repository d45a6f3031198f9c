// What a recorded stream says, told by plain JSON.parse and concatenation. It shares no code with the
// engine, so that the two can be compared.

/** The content of one answer. */
export interface Content {
  text: string;
  reasoning: string;
  /** Arguments of the function calls, in the order of the calls. */
  calls: { id: string; name: string; args: string }[];
}

/* eslint-disable @typescript-eslint/no-explicit-any */
type Reader = (record: any, content: Content, open: Map<unknown, Content['calls'][number]>) => void;

const chat: Reader = (record, content, open) => {
  const delta = record.choices?.[0]?.delta ?? {};
  content.text += typeof delta.content === 'string' ? delta.content : '';
  content.reasoning += delta.reasoning_content ?? delta.reasoning ?? '';
  for (const part of delta.tool_calls ?? []) {
    const known = open.get(part.index);
    const call =
      known !== undefined && (!part.id || part.id === known.id)
        ? known
        : { id: part.id, name: part.function.name, args: '' };
    if (call !== known) content.calls.push(call);
    open.set(part.index, call);
    call.args += part.function?.arguments ?? '';
  }
};

// The end of a text has it as a whole; recordings may lack pieces before it.
const responses: Reader = (record, content, open) => {
  const place = `text ${record.output_index} ${record.content_index}`;
  const text = open.get(place);
  if (record.type === 'response.output_text.delta') {
    content.text += record.delta;
    open.set(place, { id: '', name: '', args: (text?.args ?? '') + record.delta });
  }
  const isEnd = record.type === 'response.output_text.done' && text !== undefined;
  if (isEnd && record.text.startsWith(text.args)) {
    content.text += record.text.slice(text.args.length);
  }
  if (/^response\.reasoning(_summary)?_text\.delta$/.test(record.type))
    content.reasoning += record.delta;
  if (record.type === 'response.output_item.done' && record.item.type === 'function_call') {
    content.calls.push({
      id: record.item.call_id,
      name: record.item.name,
      args: record.item.arguments,
    });
  }
};

const anthropic: Reader = (record, content, open) => {
  const block = record.content_block;
  if (record.type === 'content_block_start' && block.type === 'text') content.text += block.text;
  if (record.type === 'content_block_start' && block.type === 'tool_use') {
    const call = { id: block.id, name: block.name, args: '' };
    content.calls.push(call);
    open.set(record.index, call);
    if (Object.keys(block.input).length > 0) call.args = JSON.stringify(block.input);
  }
  if (record.type === 'content_block_stop') {
    const ended = open.get(record.index);
    if (ended?.args === '') ended.args = '{}';
    open.delete(record.index);
  }
  if (record.type !== 'content_block_delta') return;
  content.text += record.delta.text ?? '';
  content.reasoning += record.delta.thinking ?? '';
  const call = open.get(record.index);
  if (call !== undefined) call.args += record.delta.partial_json ?? '';
};

// Puts the values of partialArgs where their paths say.
function place(target: any, path: string, piece: any): void {
  const steps = [...path.slice(1).matchAll(/\.([^.[]+)|\[(\d+)\]|\['([^']+)'\]/g)].map((step) =>
    step[2] === undefined ? (step[1] ?? step[3]) : Number(step[2]),
  );
  let node = target;
  steps.slice(0, -1).forEach((step: any, at) => {
    node[step] ??= typeof steps[at + 1] === 'number' ? [] : {};
    node = node[step];
  });
  const last: any = steps.at(-1);
  if ('stringValue' in piece) node[last] = (node[last] ?? '') + piece.stringValue;
  else node[last] = piece.numberValue ?? piece.boolValue ?? null;
}

const gemini: Reader = (record, content, open) => {
  for (const part of record.candidates?.[0]?.content?.parts ?? []) {
    if (part.thought === true) content.reasoning += part.text;
    else content.text += part.text ?? '';
    const call = part.functionCall;
    if (call === undefined) continue;
    if (call.name !== undefined) {
      const known = { id: call.id ?? '', name: call.name, args: JSON.stringify(call.args ?? {}) };
      content.calls.push(known);
      open.set('call', known);
      open.set('args', JSON.parse(known.args));
    }
    const [known, args] = [open.get('call'), open.get('args')];
    for (const piece of call.partialArgs ?? []) place(args, piece.jsonPath, piece);
    if (known !== undefined) known.args = JSON.stringify(args);
  }
};

const interactions: Reader = (record, content, open) => {
  const { step, delta } = record;
  if (step?.type === 'function_call') {
    const call = { id: step.id, name: step.name, args: '' };
    content.calls.push(call);
    open.set(record.index, call);
  }
  if (delta?.type === 'text') content.text += delta.text;
  if (delta?.type === 'thought_summary') content.reasoning += delta.content.text;
  const call = open.get(record.index);
  if (delta?.type === 'arguments_delta' && call !== undefined) call.args += delta.arguments;
};

const bedrock: Reader = (record, content, open) => {
  const use = record.contentBlockStart?.start?.toolUse;
  if (use !== undefined) {
    const call = { id: use.toolUseId, name: use.name, args: '' };
    content.calls.push(call);
    open.set(record.contentBlockStart.contentBlockIndex, call);
  }
  const delta = record.contentBlockDelta?.delta ?? {};
  content.text += delta.text ?? '';
  content.reasoning += delta.reasoningContent?.text ?? '';
  const call = open.get(record.contentBlockDelta?.contentBlockIndex);
  if (call !== undefined) call.args += delta.toolUse?.input ?? '';
};

const cohere: Reader = (record, content, open) => {
  const message = record.delta?.message ?? {};
  content.text += message.content?.text ?? '';
  content.reasoning += (message.tool_plan ?? '') + (message.content?.thinking ?? '');
  const part = message.tool_calls;
  if (record.type === 'tool-call-start') {
    const call = { id: part.id, name: part.function.name, args: '' };
    content.calls.push(call);
    open.set(record.index, call);
  }
  const call = open.get(record.index);
  if (call !== undefined) call.args += part?.function?.arguments ?? '';
};

const readers: Record<string, Reader> = {
  openai_chat: chat,
  openai_responses: responses,
  anthropic,
  gemini,
  gemini_interactions: interactions,
  bedrock_converse: bedrock,
  cohere,
};

/** Reads the records of a recording. */
export function reference(wire: string, records: readonly unknown[]): Content {
  const content: Content = { text: '', reasoning: '', calls: [] };
  const open = new Map<unknown, Content['calls'][number]>();
  for (const record of records) readers[wire]?.(record, content, open);
  return content;
}
