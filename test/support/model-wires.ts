// Answers of the three APIs that most providers speak, as records of a stream and in one piece.

export type Api = 'chat' | 'responses' | 'messages';

export const apis: readonly Api[] = ['chat', 'responses', 'messages'];

/** One call of a tool, its arguments in pieces. */
export interface WireCall {
  id: string;
  name: string;
  pieces: string[];
}

export interface Answer {
  deltas: string[];
  calls?: WireCall[];
  /** Absent: the provider reports no tokens. */
  usage?: ReportedTokens;
}

/** `input` counts the cached tokens, `output` those of reasoning. */
export interface ReportedTokens {
  input: number;
  output: number;
  cached?: number;
  reasoning?: number;
}

export const deltas = ['Hello', ', brave', ' new', ' world', ' \u{1f30d} \u00e9\u4f60.'];
export const text = deltas.join('');
export const usage = { input: 11, output: 22 };

/** A record of a stream: its name, where the API has names, and its data. */
export interface WireRecord {
  event?: string;
  data: string;
}

/** What an API says about one answer, from its start to its end. */
export function recordsOf(api: Api, answer: Answer): WireRecord[] {
  return { chat: chatRecords, responses: responsesRecords, messages: messagesRecords }[api](answer);
}

export function bytesOf(records: readonly WireRecord[], newline = '\n'): string {
  return records
    .map(({ event, data }) => {
      const name = event === undefined ? '' : `event: ${event}${newline}`;
      return `${name}data: ${data}${newline}${newline}`;
    })
    .join('');
}

/** How many records of the start hold text. */
export function headOf(api: Api, answer: Answer): WireRecord[] {
  const records = recordsOf(api, answer);
  const last = records.findIndex(({ data }) =>
    data.includes(JSON.stringify(deltas[2]).slice(1, -1)),
  );
  return records.slice(0, last + 1);
}

/** The API's own error record. */
export function errorRecord(api: Api, code: string, message: string): WireRecord {
  if (api === 'messages') {
    return named({ type: 'error', error: { type: code, message } });
  }
  if (api === 'responses') return named({ type: 'error', code, message, param: null });
  return { data: JSON.stringify({ error: { message, type: code, code } }) };
}

/** An answer that was not streamed. */
export function wholeOf(api: Api, { deltas: parts, calls = [], usage: counted }: Answer): object {
  const content = parts.join('');
  if (api === 'messages') {
    return {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [
        ...(content === '' ? [] : [{ type: 'text', text: content }]),
        ...calls.map(({ id, name, pieces }) => ({
          type: 'tool_use',
          id,
          name,
          input: JSON.parse(pieces.join('')) as unknown,
        })),
      ],
      stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn',
      usage: counted && { ...messagesInput(counted), output_tokens: counted.output },
    };
  }
  if (api === 'responses') {
    return {
      id: 'resp_1',
      object: 'response',
      status: 'completed',
      model: 'm',
      output: outputItems(parts, calls),
      usage: responsesUsage(counted),
    };
  }
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model: 'm',
    choices: [
      {
        index: 0,
        finish_reason: calls.length > 0 ? 'tool_calls' : 'stop',
        message: {
          role: 'assistant',
          content,
          ...(calls.length === 0
            ? {}
            : {
                tool_calls: calls.map(({ id, name, pieces }) => ({
                  id,
                  type: 'function',
                  function: { name, arguments: pieces.join('') },
                })),
              }),
        },
      },
    ],
    usage: chatUsage(counted),
  };
}

function named(data: { type: string; [member: string]: unknown }): WireRecord {
  return { event: data.type, data: JSON.stringify(data) };
}

function chatUsage(counted: Answer['usage']): object | undefined {
  return (
    counted && {
      prompt_tokens: counted.input,
      completion_tokens: counted.output,
      total_tokens: counted.input + counted.output,
      ...(counted.cached ? { prompt_tokens_details: { cached_tokens: counted.cached } } : {}),
      ...(counted.reasoning
        ? { completion_tokens_details: { reasoning_tokens: counted.reasoning } }
        : {}),
    }
  );
}

// The cached tokens stand beside the others.
function messagesInput({ input, cached = 0 }: ReportedTokens): object {
  return {
    input_tokens: input - cached,
    ...(cached > 0 ? { cache_read_input_tokens: cached } : {}),
  };
}

function chatRecords({ deltas: parts, calls = [], usage: counted }: Answer): WireRecord[] {
  const chunk = (delta: object, finish: string | null = null): WireRecord => ({
    data: JSON.stringify({
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      model: 'm',
      choices: [{ index: 0, delta, finish_reason: finish }],
    }),
  });
  const records = [chunk({ role: 'assistant', content: '' })];
  for (const content of parts) records.push(chunk({ content }));
  calls.forEach(({ id, name, pieces }, index) => {
    const call = (delta: object): WireRecord => chunk({ tool_calls: [{ index, ...delta }] });
    records.push(call({ id, type: 'function', function: { name, arguments: '' } }));
    for (const piece of pieces) records.push(call({ function: { arguments: piece } }));
  });
  records.push(chunk({}, calls.length > 0 ? 'tool_calls' : 'stop'));
  if (counted) {
    records.push({
      data: JSON.stringify({
        id: 'chatcmpl-1',
        model: 'm',
        choices: [],
        usage: chatUsage(counted),
      }),
    });
  }
  return [...records, { data: '[DONE]' }];
}

function responsesUsage(counted: Answer['usage']): object | undefined {
  return (
    counted && {
      input_tokens: counted.input,
      input_tokens_details: { cached_tokens: counted.cached ?? 0 },
      output_tokens: counted.output,
      output_tokens_details: { reasoning_tokens: counted.reasoning ?? 0 },
      total_tokens: counted.input + counted.output,
    }
  );
}

function outputItems(parts: string[], calls: WireCall[]): object[] {
  const content = parts.join('');
  return [
    ...(content === ''
      ? []
      : [
          {
            id: 'msg_1',
            type: 'message',
            status: 'completed',
            role: 'assistant',
            content: [{ type: 'output_text', text: content, annotations: [] }],
          },
        ]),
    ...calls.map(({ id, name, pieces }) => ({
      id: `fc_${id}`,
      type: 'function_call',
      status: 'completed',
      call_id: id,
      name,
      arguments: pieces.join(''),
    })),
  ];
}

function responsesRecords({ deltas: parts, calls = [], usage: counted }: Answer): WireRecord[] {
  const response = { id: 'resp_1', object: 'response', model: 'm', status: 'in_progress' };
  let sequence = 0;
  const record = (data: { type: string; [member: string]: unknown }): WireRecord =>
    named({ ...data, sequence_number: sequence++ });
  const records = [record({ type: 'response.created', response: { ...response, output: [] } })];
  const items = outputItems(parts, calls);
  const place = { item_id: 'msg_1', output_index: 0, content_index: 0 };
  if (parts.length > 0) {
    records.push(
      record({
        type: 'response.output_item.added',
        output_index: 0,
        item: { id: 'msg_1', type: 'message', role: 'assistant', content: [] },
      }),
      ...parts.map((delta) => record({ type: 'response.output_text.delta', ...place, delta })),
      record({ type: 'response.output_text.done', ...place, text: parts.join('') }),
      record({ type: 'response.output_item.done', output_index: 0, item: items[0] }),
    );
  }
  calls.forEach(({ id, name, pieces }, at) => {
    const index = at + (parts.length > 0 ? 1 : 0);
    const call = { item_id: `fc_${id}`, output_index: index };
    const item = { id: `fc_${id}`, type: 'function_call', call_id: id, name, arguments: '' };
    records.push(
      record({ type: 'response.output_item.added', output_index: index, item }),
      ...pieces.map((delta) =>
        record({ type: 'response.function_call_arguments.delta', ...call, delta }),
      ),
      record({
        type: 'response.function_call_arguments.done',
        ...call,
        arguments: pieces.join(''),
      }),
      record({ type: 'response.output_item.done', output_index: index, item: items[index] }),
    );
  });
  return [
    ...records,
    record({
      type: 'response.completed',
      response: {
        ...response,
        status: 'completed',
        output: items,
        usage: responsesUsage(counted),
      },
    }),
  ];
}

function messagesRecords({ deltas: parts, calls = [], usage: counted }: Answer): WireRecord[] {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [] };
  const start = counted ? { ...messagesInput(counted), output_tokens: 1 } : undefined;
  const records = [named({ type: 'message_start', message: { ...message, usage: start } })];
  let index = 0;
  const block = (content: object, pieces: object[]): void => {
    const at = index++;
    const record = (data: { type: string; [member: string]: unknown }): WireRecord =>
      named({ ...data, index: at });
    records.push(
      record({ type: 'content_block_start', content_block: content }),
      ...pieces.map((delta) => record({ type: 'content_block_delta', delta })),
      record({ type: 'content_block_stop' }),
    );
  };
  if (parts.length > 0) {
    block(
      { type: 'text', text: '' },
      parts.map((delta) => ({ type: 'text_delta', text: delta })),
    );
  }
  for (const { id, name, pieces } of calls) {
    block(
      { type: 'tool_use', id, name, input: {} },
      pieces.map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
    );
  }
  return [
    ...records,
    named({
      type: 'message_delta',
      delta: { stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn' },
      usage: counted && { output_tokens: counted.output },
    }),
    named({ type: 'message_stop' }),
  ];
}
