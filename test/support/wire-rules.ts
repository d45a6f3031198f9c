// What four APIs demand of a conversation, checked as strictly as they do: roles, order, calls and their
// results. Each function gives the rules that are broken.
type Row = Record<string, unknown>;

const list = (value: unknown): Row[] => (Array.isArray(value) ? (value as Row[]) : []);
const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

function isObjectText(value: unknown): boolean {
  try {
    const read: unknown = JSON.parse(String(value));
    return typeof read === 'object' && read !== null && !Array.isArray(read);
  } catch {
    return false;
  }
}

/** OpenAI Chat Completions. */
export function chatCompletionsRules(messages: unknown): string[] {
  const broken: string[] = [];
  let open = new Set<string>();
  for (const [at, row] of list(messages).entries()) {
    const { role, content } = row;
    const calls = list(row.tool_calls);
    if (role === 'tool') {
      const id = String(row.tool_call_id);
      if (!open.delete(id)) broken.push(`${at}: a result of no open call '${id}'`);
      if (typeof content !== 'string' && !Array.isArray(content)) broken.push(`${at}: no content`);
      continue;
    }
    if (open.size > 0) broken.push(`${at}: calls without result: ${[...open].join()}`);
    if (!['system', 'developer', 'user', 'assistant'].includes(String(role))) {
      broken.push(`${at}: the role ${String(role)}`);
    }
    const isEmpty = content === undefined || content === null;
    if (isEmpty && calls.length === 0) broken.push(`${at}: neither content nor calls`);
    if ('tool_calls' in row && calls.length === 0) broken.push(`${at}: an empty list of calls`);
    if (calls.length > 0 && role !== 'assistant') broken.push(`${at}: calls of ${String(role)}`);
    open = new Set(calls.map(({ id }) => String(id)));
    if (open.size !== calls.length) broken.push(`${at}: two calls with one id`);
    for (const call of calls) {
      const { name, arguments: args } = (call.function ?? {}) as Row;
      if (!isText(call.id) || call.type !== 'function') broken.push(`${at}: a call without id`);
      if (!isText(name) || !/^[\w-]{1,64}$/.test(name)) broken.push(`${at}: a call without name`);
      if (typeof args !== 'string') broken.push(`${at}: arguments that are no text`);
    }
  }
  if (open.size > 0) broken.push(`the end: calls without result: ${[...open].join()}`);
  return broken;
}

/** Input items of the Responses API. */
export function responsesRules(items: unknown): string[] {
  const broken: string[] = [];
  const calls = new Map<string, number>();
  for (const [at, item] of list(items).entries()) {
    const id = String(item.call_id);
    const type = item.type as string | undefined;
    if (type === 'function_call') {
      if (!isText(item.call_id) || !isText(item.name)) broken.push(`${at}: a call without id`);
      if (typeof item.arguments !== 'string') broken.push(`${at}: arguments that are no text`);
      if (calls.has(id)) broken.push(`${at}: two calls with the id ${id}`);
      calls.set(id, 0);
    } else if (type === 'function_call_output') {
      if (!calls.has(id)) broken.push(`${at}: an output of no call '${id}'`);
      if (calls.get(id) === 1) broken.push(`${at}: a second output of ${id}`);
      calls.set(id, 1);
    } else if (type === 'message' || type === undefined) {
      if (!['system', 'developer', 'user', 'assistant'].includes(String(item.role))) {
        broken.push(`${at}: the role ${String(item.role)}`);
      }
    } else if (type !== 'reasoning') {
      broken.push(`${at}: the type ${type}`);
    }
  }
  for (const [id, outputs] of calls) if (outputs === 0) broken.push(`no output of the call ${id}`);
  return broken;
}

/** Messages of Anthropic: results stand at the head of the row right behind their calls. */
export function anthropicRules(data: unknown): string[] {
  const broken: string[] = [];
  const { messages = data } = (data ?? {}) as Row;
  let last = '';
  let open = new Set<string>();
  for (const [at, { role, content }] of list(messages).entries()) {
    if (role !== 'user' && role !== 'assistant') broken.push(`${at}: the role ${String(role)}`);
    if (at === 0 && role !== 'user') broken.push('the first row is not of the user');
    if (role === last) broken.push(`${at}: two rows of ${last} in a row`);
    last = String(role);
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : list(content);
    if (blocks.length === 0) broken.push(`${at}: no content`);
    let isHead = true;
    const next = new Set<string>();
    for (const block of blocks) {
      if (block.type === 'tool_result') {
        if (role !== 'user' || !isHead) broken.push(`${at}: a result out of its place`);
        if (!open.delete(String(block.tool_use_id))) broken.push(`${at}: a result of no call`);
        continue;
      }
      isHead = false;
      if (block.type === 'text' && !isText(block.text)) broken.push(`${at}: an empty text`);
      if (block.type !== 'tool_use') continue;
      if (role !== 'assistant') broken.push(`${at}: a call of the user`);
      if (!/^[\w-]+$/.test(String(block.id))) broken.push(`${at}: the id ${String(block.id)}`);
      if (next.has(String(block.id))) broken.push(`${at}: two calls with one id`);
      if (typeof block.input !== 'object' || block.input === null || Array.isArray(block.input)) {
        broken.push(`${at}: an input that is no object`);
      }
      next.add(String(block.id));
    }
    if (open.size > 0) broken.push(`${at}: calls without result: ${[...open].join()}`);
    open = next;
  }
  if (open.size > 0) broken.push(`the end: calls without result: ${[...open].join()}`);
  return broken;
}

/** Contents of Gemini: as many responses as calls, right behind them, of the same names. */
export function geminiRules(data: unknown): string[] {
  const broken: string[] = [];
  const { contents = data } = (data ?? {}) as Row;
  const rows = list(contents);
  if (rows.length > 0 && rows[0]?.role !== 'user') broken.push('the first row is not of the user');
  let open: string[] = [];
  for (const [at, { role, parts }] of rows.entries()) {
    if (role !== 'user' && role !== 'model') broken.push(`${at}: the role ${String(role)}`);
    if (list(parts).length === 0) broken.push(`${at}: no parts`);
    const calls = list(parts).flatMap(({ functionCall: call }) => (call ? [call as Row] : []));
    const answers = list(parts).flatMap(({ functionResponse: one }) => (one ? [one as Row] : []));
    const names = answers.map(({ name }) => String(name)).sort();
    if (names.join() !== [...open].sort().join()) {
      broken.push(`${at}: responses of ${names.join()} to calls of ${open.join()}`);
    }
    if (calls.length > 0 && role !== 'model') broken.push(`${at}: a call of the user`);
    if (answers.length > 0 && role !== 'user') broken.push(`${at}: a response of the model`);
    for (const { response } of answers) {
      if (!isObjectText(JSON.stringify(response))) broken.push(`${at}: a response, no object`);
    }
    open = calls.map(({ name }) => String(name));
  }
  if (open.length > 0) broken.push(`the end: calls without response: ${open.join()}`);
  return broken;
}
