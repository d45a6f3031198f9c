// Durable runs and their records as text for the terminal.

/** Who is to do something about a run, and until when. */
export interface Wait {
  reason: string;
  owner?: string;
  since?: number;
  until?: number;
  approval?: string;
  call?: string;
  name?: string;
  step?: number;
  attempt?: number;
  limit?: string;
  priority?: string;
}

/** A run as the engine lists it (lib/run/durable/run_info.hpp). */
export interface RunInfo {
  id: string;
  kind: string;
  name: string;
  version?: string;
  state: string;
  threadId?: string;
  principal?: string;
  createdAt: number;
  endedAt?: number;
  lastSeq: number;
  step: number;
  recoveries: number;
  waitsFor?: Wait;
  recordsRemoved?: true;
}

interface OpenApproval {
  id: string;
  kind: string;
  toolCallId?: string;
  expiresAt?: number;
  interrupt?: { message?: string; metadata?: { arguments?: unknown; toolName?: string } };
}

interface Call {
  call: string;
  kind: string;
  name: string;
  effect: string;
  state: string;
  tries: number;
  arguments?: unknown;
  run?: string;
}

/** What is known of a run (lib/app/run_report.hpp). */
export interface RunReport extends RunInfo {
  owner?: string;
  deadlineAt?: number;
  approvals?: OpenApproval[];
  waits: Wait[];
  calls: Call[];
  children?: RunInfo[];
  usage?: {
    llm?: { apiCalls?: number; tokens?: { input?: number; output?: number } };
    tools?: { totalCalls?: number };
  };
  cost?: { total?: number; unpricedCalls?: number };
  error?: { code?: string; message?: string; detail?: string };
  damage?: string;
}

/** A record of a journal (lib/journal/record_json.hpp). */
export interface RecordLine {
  seq: number;
  at: number;
  branch?: number;
  fact?: { type: string };
  event?: { type: string };
}

const steps = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
] as const;

/** A length of time in its largest unit. */
export function ageOf(ms: number): string {
  const step = steps.find(([unit]) => ms >= unit);
  return step ? `${Math.floor(ms / step[0])} ${step[1]}` : '0 s';
}

const timeOf = (at: number): string => new Date(at).toISOString();

function deadlineOf(until: number, now: number): string {
  return until > now ? `in ${ageOf(until - now)}` : `${ageOf(now - until)} ago`;
}

// What the owner of a wait does, by its reason.
const sentences: Record<string, (wait: Wait) => string> = {
  work: ({ owner }) => `the process ${processOf(owner)}`,
  model: ({ attempt = 1, owner }) =>
    `the model, attempt ${attempt}, in the process ${processOf(owner)}`,
  tool: ({ name, owner }) => `the tool ${name}, in the process ${processOf(owner)}`,
  approval: ({ owner }) => `an approval${by(owner)}`,
  prompt: ({ owner }) => `an answer${by(owner)}`,
  select: ({ owner }) => `a choice${by(owner)}`,
  client: () => 'what its client sends',
  queue: ({ limit, priority = 'normal' }) =>
    limit === 'thread' ? 'the run of its thread' : `its turn, with the priority ${priority}`,
  timer: () => 'its time',
  claim: () => 'a process that opens the store',
  agent_not_registered: () => 'a process with an agent of its name',
};

function by(principal: string | undefined): string {
  return principal === undefined || principal === '' ? '' : ` by ${principal}`;
}

// An owner is its process id and a random part.
function processOf(owner = 'unknown'): string {
  return owner.split('-', 1)[0] ?? owner;
}

/** What is waited for, and until when. */
export function waitOf(wait: Wait, now: number): string {
  const sentence = Object.hasOwn(sentences, wait.reason) ? sentences[wait.reason] : undefined;
  const what = sentence?.(wait) ?? wait.reason;
  return wait.until === undefined ? what : `${what}, ${deadlineOf(wait.until, now)}`;
}

function approvalText({ id, kind, toolCallId, expiresAt, interrupt }: OpenApproval, call?: Call) {
  const name = interrupt?.metadata?.toolName ?? call?.name;
  const given = interrupt?.metadata?.arguments ?? call?.arguments;
  const would = name === undefined ? [] : [`    runs ${name} ${JSON.stringify(given ?? {})}`];
  return [
    `  ${id}  ${kind}${toolCallId === undefined ? '' : ` of the call ${toolCallId}`}`,
    ...would,
    ...(interrupt?.message === undefined ? [] : [`    ${interrupt.message}`]),
    ...(expiresAt === undefined ? [] : [`    until ${timeOf(expiresAt)}`]),
  ];
}

function callText({ call, name, state, effect, tries, arguments: given, run }: Call): string {
  const often = tries > 1 ? `, attempt ${tries}` : '';
  const child = run === undefined ? '' : `  ${run}`;
  return `  ${call}  ${name} ${JSON.stringify(given ?? {})}  ${state}${often} (${effect})${child}`;
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', `${title}:`, ...lines];
}

function usageText({ usage }: RunReport): string | undefined {
  const { apiCalls, tokens } = usage?.llm ?? {};
  if (apiCalls === undefined) return undefined;
  const { input = 0, output = 0 } = tokens ?? {};
  const calls = `${apiCalls} model calls, ${usage?.tools?.totalCalls ?? 0} tool calls`;
  return `${calls}, ${input} tokens in, ${output} tokens out`;
}

// They are kept for a time only.
function recordsText({ lastSeq, recordsRemoved }: RunReport): string {
  if (recordsRemoved !== true) return String(lastSeq);
  return `${lastSeq}, removed; messages, calls and the last checkpoint are still there`;
}

// Without a price of some call there is no total.
function costText({ cost }: RunReport): string | undefined {
  if (cost === undefined) return undefined;
  if (cost.total !== undefined) return `$${cost.total.toFixed(6)}`;
  return `unknown: ${cost.unpricedCalls ?? 0} calls without a known price`;
}

/** Everything that is known of a run. */
export function shownRun(report: RunReport, now: number): string {
  const { id, state, name, version, threadId, principal, createdAt, endedAt } = report;
  const head: [string, string | undefined][] = [
    ['state', state],
    ['name', version === undefined ? name : `${name} ${version}`],
    ['thread', threadId],
    ['principal', principal],
    ['created', `${timeOf(createdAt)} (${ageOf(now - createdAt)} ago)`],
    ['ended', endedAt === undefined ? undefined : timeOf(endedAt)],
    ['deadline', report.deadlineAt === undefined ? undefined : timeOf(report.deadlineAt)],
    ['records', recordsText(report)],
    ['step', String(report.step)],
    ['recoveries', report.recoveries > 0 ? String(report.recoveries) : undefined],
    ['usage', usageText(report)],
    ['cost', costText(report)],
    ['error', report.error && `${report.error.message} (${report.error.code})`],
    ['detail', report.error?.detail],
    ['damage', report.damage],
  ];
  const width = Math.max(...head.map(([word]) => word.length));
  const lines = head.flatMap(([word, text]) =>
    text === undefined ? [] : [`  ${word.padEnd(width)}  ${text}`],
  );
  const callOf = (call: string | undefined) => report.calls.find((one) => one.call === call);
  const approvals = (report.approvals ?? []).flatMap((approval) =>
    approvalText(approval, callOf(approval.toolCallId)),
  );
  const children = (report.children ?? []).map(
    (child) => `  ${child.id}  ${child.name}  ${child.state}`,
  );
  return `${[
    id,
    ...lines,
    ...section(
      'waits for',
      report.waits.map((wait) => `  ${waitOf(wait, now)}`),
    ),
    ...section('approvals', approvals),
    ...section('calls', report.calls.map(callText)),
    ...section('sub-agents', children),
  ].join('\n')}\n`;
}

const longestFields = 200;

/** A record as one line: its number, time, type and fields. */
export function recordLine({ seq, at, branch, fact, event }: RecordLine): string {
  const { type, ...fields } = { type: 'Unknown', ...(fact ?? event) };
  const text = Object.keys(fields).length === 0 ? '' : `  ${JSON.stringify(fields)}`;
  const shown = text.length > longestFields ? `${text.slice(0, longestFields)}...` : text;
  const child = branch === undefined ? '' : `  [${branch}]`;
  return `${String(seq).padStart(6)}  ${timeOf(at).slice(11, 23)}  ${fact ? '#' : ' '} ${type}${child}${shown}\n`;
}
