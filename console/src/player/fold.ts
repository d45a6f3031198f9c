// What of a run is to be seen after so many of its records. Nothing here touches the page.
import type { Fields, GivenMessage, RunRecord } from './run-record';

export type BlockKind =
  'user' | 'text' | 'reasoning' | 'call' | 'approval' | 'agent' | 'note' | 'end';

/** One thing that is shown. `revision` grows with each change. */
export interface Block {
  kind: BlockKind;
  branch: number;
  title: string;
  text: string;
  args: string;
  result: string;
  state: string;
  /** A reader was asked to drop it: the request to the model was sent again. */
  isDropped: boolean;
  revision: number;
}

const str = (value: unknown): string => {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
};

/** Text of a message: its own, or that of its parts. */
export function contentText(content: unknown): string {
  if (!Array.isArray(content)) return str(content);
  const texts = content.map((part) => {
    const { type = 'part', text } = part as { type?: string; text?: unknown };
    return typeof text === 'string' ? text : `[${type}]`;
  });
  return texts.join('\n');
}

/** Everything that is shown, in its order. */
export class View {
  readonly blocks: Block[] = [];
  /** What the run is doing. */
  status = '';
  readonly #byKey = new Map<string, Block>();

  given({ content }: GivenMessage): void {
    this.#add('user', 0, { title: 'User', text: contentText(content) });
  }

  apply({ branch = 0, seq, fact, event }: RunRecord): void {
    const table = fact ? facts : events;
    const fields = fact ?? event;
    if (!fields || !Object.hasOwn(table, fields.type)) return;
    table[fields.type]?.(new Place(this, branch, seq), fields);
  }

  /** The block of this key, made where it is missing. */
  block(kind: BlockKind, branch: number, id: string): Block {
    const key = `${branch} ${kind} ${id}`;
    const found = this.#byKey.get(key) ?? this.#add(kind, branch, {});
    this.#byKey.set(key, found);
    found.revision += 1;
    return found;
  }

  find(kind: BlockKind, branch: number, id: string): Block | undefined {
    return this.#byKey.get(`${branch} ${kind} ${id}`);
  }

  #add(kind: BlockKind, branch: number, given: Partial<Block>): Block {
    const empty = { title: '', text: '', args: '', result: '', state: '', isDropped: false };
    const block: Block = { kind, branch, ...empty, revision: 1, ...given };
    this.blocks.push(block);
    return block;
  }
}

// Where a record belongs.
class Place {
  constructor(
    readonly view: View,
    readonly branch: number,
    readonly seq: number,
  ) {}

  block(kind: BlockKind, id: unknown): Block {
    return this.view.block(kind, this.branch, str(id));
  }
  note(title: string, text = '', state = ''): void {
    Object.assign(this.block('note', this.seq), { title, text, state });
  }
  status(text: string): void {
    this.view.status = text;
  }
}

type Row = (place: Place, fields: Fields) => void;

function startOf(kind: 'text' | 'reasoning'): Row {
  return (place, { id, role }) => {
    const block = place.block(kind, id);
    const isUser = role === 'user';
    block.title = kind === 'reasoning' ? 'Reasoning' : isUser ? 'User' : 'Answer';
    block.state = 'open';
    place.status(kind === 'reasoning' ? 'reasons' : 'writes');
  };
}
function deltaOf(kind: 'text' | 'reasoning'): Row {
  return (place, { id, delta }) => (place.block(kind, id).text += str(delta));
}
function endOf(kind: 'text' | 'reasoning'): Row {
  return (place, { id }) => (place.block(kind, id).state = '');
}

const events: Record<string, Row> = {
  TextStart: startOf('text'),
  TextDelta: deltaOf('text'),
  TextEnd: endOf('text'),
  ReasoningStart: startOf('reasoning'),
  ReasoningDelta: deltaOf('reasoning'),
  ReasoningEnd: endOf('reasoning'),
  ToolStart: (place, { id, name }) => {
    Object.assign(place.block('call', id), { title: str(name), state: 'is being written' });
    place.status(`calls ${str(name)}`);
  },
  ToolArgs: (place, { id, delta }) => (place.block('call', id).args += str(delta)),
  ToolEnd: (place, { id }) => (place.block('call', id).state = 'waits'),
  ToolProgress: (place, { id, json }) => (place.block('call', id).result = str(json)),
  ToolResult: (place, { id, content, failed, error, parts }) => {
    const block = place.block('call', id);
    block.result = str(content) || str(parts) || str(error);
    block.state = failed === true ? 'failed' : 'done';
  },
  SubagentStart: (place, { name, description, runId }) => {
    const block = place.block('agent', runId);
    Object.assign(block, { title: str(name), text: str(description), state: 'works' });
    place.status(`${str(name)} works`);
  },
  SubagentEnd: (place, { runId, result, outcome }) => {
    Object.assign(place.block('agent', runId), { state: 'done', result: str(result ?? outcome) });
  },
  SubagentFailed: (place, { runId, message, code }) => {
    const result = `${str(message)} (${str(code)})`;
    Object.assign(place.block('agent', runId), { state: 'failed', result });
  },
  Reset: (place, { reason, messageIds }) => {
    for (const id of Array.isArray(messageIds) ? messageIds : []) drop(place, str(id));
    place.note('The answer begins again', str(reason));
  },
  Retry: (place, { attempt, waitMs, message }) =>
    place.note(`Attempt ${str(attempt)} in ${str(waitMs)} ms`, str(message)),
  Stage: (place, { name, json }) => {
    const { stage, detail } = (json ?? {}) as { stage?: unknown; detail?: unknown };
    if (name !== 'stage') return place.note(str(name), str(json));
    place.status([str(stage), str(detail)].filter((part) => part !== '').join(': '));
  },
  Warning: (place, { code, message }) => place.note('Warning', `${str(message)} (${str(code)})`),
  Citation: (place, { json }) => place.note('Source', str(json)),
  StepStart: (place, { name }) => place.status(str(name)),
  Failed: (place, { message, code }) =>
    place.note('Failed', `${str(message)} (${str(code)})`, 'failed'),
};

function drop(place: Place, id: string): void {
  for (const kind of ['text', 'reasoning', 'call'] as const) {
    const block = place.view.find(kind, place.branch, id);
    if (block) Object.assign(block, { isDropped: true, revision: block.revision + 1 });
  }
}

const facts: Record<string, Row> = {
  ModelRequested: (place, { attempt }) =>
    place.status(attempt === 1 ? 'waits for the model' : `asks the model, attempt ${str(attempt)}`),
  ToolIntent: (place, { call, name, args, kind }) => {
    if (kind === 'sleep' || kind === 'child') return;
    const block = place.block('call', call);
    block.title = str(name);
    // What runs: the user may have edited what the model wrote.
    if (!isSame(block.args, args)) block.args = str(args);
  },
  ToolStarted: (place, { call }) => {
    const block = place.view.find('call', place.branch, str(call));
    if (!block) return;
    Object.assign(block, { state: 'runs', revision: block.revision + 1 });
    place.status(`runs ${block.title}`);
  },
  ToolResult: (place, { call, status, content, code }) => {
    const block = place.view.find('call', place.branch, str(call));
    if (!block) return;
    const result = str(content) || str(code);
    const state = status === 'ok' ? 'done' : str(status);
    Object.assign(block, { state, result, revision: block.revision + 1 });
  },
  ApprovalRequested: (place, { id, call, kind }) => {
    const block = place.block('approval', id);
    const asked = place.view.find('call', place.branch, str(call));
    const what = asked ? `${asked.title} ${asked.args}` : str(call);
    Object.assign(block, { title: str(kind), text: what, state: 'waits for the user' });
    place.status('waits for the user');
  },
  ApprovalDecided: (place, { id, decision, by }) => {
    const { status, payload } = (decision ?? {}) as { status?: unknown; payload?: unknown };
    const approved = (payload as { approved?: unknown } | undefined)?.approved;
    const state = approved === undefined ? str(status) : approved === true ? 'approved' : 'denied';
    const result = [str(payload), by === undefined ? '' : `by ${str(by)}`].join(' ').trim();
    Object.assign(place.block('approval', id), { state, result });
  },
  ApprovalExpired: (place, { id }) => (place.block('approval', id).state = 'expired'),
  MessageSent: (place, { message }) => {
    const { content } = (message ?? {}) as { content?: unknown };
    Object.assign(place.block('user', place.seq), { title: 'User', text: contentText(content) });
  },
  Claimed: (place, { cause, downtimeMs }) => {
    if (cause === 'lost') place.note('A process was gone', `for ${str(downtimeMs)} ms`);
  },
  JobStep: (place, { name, state, result }) =>
    place.note(`Step ${str(name)} ${str(state)}`, str(result)),
  Slept: (place, { name }) => place.note(`Sleeps: ${str(name)}`),
  Parked: (place, { reason }) => place.note('Parked', str(reason)),
  LimitReached: (place, { limit }) => place.note('A limit was reached', str(limit)),
  StopRequested: (place, { reason }) => place.note('A stop was requested', str(reason)),
  Terminal: (place, { status, reason, error, usage, cost }) => {
    const failure = (error ?? {}) as { message?: unknown; code?: unknown };
    const state = str(status);
    const why = reason === status ? '' : str(reason);
    const text = failure.message === undefined ? why : str(failure.message);
    const result = [totalsOf(usage), costOf(cost)].filter((part) => part !== '').join(', ');
    const title = `The run is ${state}`;
    const isBad = state === 'failed' || state === 'dead';
    Object.assign(place.block('end', ''), { title, text, result, state: isBad ? 'failed' : '' });
    place.status(state);
  },
};

// Numbers in the text may be longer than those of JavaScript.
function isSame(text: string, value: unknown): boolean {
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(value);
  } catch {
    return false;
  }
}

function totalsOf(usage: unknown): string {
  const { llm } = (usage ?? {}) as { llm?: { tokens?: { input?: number; output?: number } } };
  const { input, output } = llm?.tokens ?? {};
  return input === undefined ? '' : `${input} tokens in, ${output ?? 0} out`;
}

function costOf(cost: unknown): string {
  const { total } = (cost ?? {}) as { total?: number };
  return typeof total === 'number' ? `$${total.toFixed(6)}` : '';
}
