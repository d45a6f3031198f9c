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

const responses: Reader = (record, content) => {
  if (record.type === 'response.output_text.delta') content.text += record.delta;
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

const readers: Record<string, Reader> = {
  openai_chat: chat,
  openai_responses: responses,
  anthropic,
};

/** Reads the records of a recording. */
export function reference(wire: string, records: readonly unknown[]): Content {
  const content: Content = { text: '', reasoning: '', calls: [] };
  const open = new Map<unknown, Content['calls'][number]>();
  for (const record of records) readers[wire]?.(record, content, open);
  return content;
}
