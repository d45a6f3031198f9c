// millrace runs: the durable runs of a store.
import { MillraceError } from '../errors';
import { messageOf } from '../thrown';
import type { Command } from './command';
import { integerOption, plain, readArgs, runOf, UsageError } from './command';
import {
  ageOf,
  type RecordLine,
  recordLine,
  type RunInfo,
  type RunReport,
  shownRun,
  waitOf,
} from './run-text';
import { exportRun } from './run-export';
import { forkRun } from './run-fork';
import { replayRun } from './run-replay';
import { changeStore, reporting, storeCommand, storeHelp, storeOf, storeOptions } from './store';
import { tableOf } from './table';

const help = `Usage: millrace runs ls [--state <state>] [--thread <id>] [--limit <n>] [--children]
       millrace runs show <run>
       millrace runs tail <run> [--after <seq>]
       millrace runs stop <run> [--reason <text>]
       millrace runs approve <run> [approval] [--deny] [--args <json>]
       millrace runs export <run> [--output <path>] [--format html|jsonl] [--secret <name>]
       millrace runs fork <run> --at <seq> [--edit-result <call>=<text>] [--edit-message <text>]
       millrace runs replay <run> [--as <form>] [--protocol-version <version>] [--output <path>]

Shows the durable runs of a store, and answers and stops them.

  ls       lists runs, the newest first, with what each waits for
  show     prints a run: its waits with their owners and deadlines, open approvals with exactly what would run,
           its calls, tokens and cost
  tail     prints the records of a run and follows it to its end
  stop     ends a run as cancelled
  approve  approves a call that waits for it, or denies it; the approval's id may be left out where only
           one is open
  export   writes a run to one file: a page that plays it offline, or its records as lines of JSON
  fork     begins a new run from a record of this one; what was over by then is not done again
  replay   prints the bytes that the readers of a run got, from its journal: no model and no tool is called

The process that has the store open stops and approves; where there is none, this command does.

Options:
  --state <state>        queued, running, waiting, sleeping, parked, completed, failed, cancelled or dead
  --thread <id>          of this thread only; of a fork: its new thread
  --limit <n>            at most so many runs (default 50)
  --children             also the runs of sub-agents
  --after <seq>          begin behind this record
  --deny                 deny the call instead
  --args <json>          run the call with these arguments instead
  --reason <text>        why: recorded with a stop, given to the model with a denial
  --output <path>        a new file; - is standard output (default: <run>.html or <run>.jsonl here for an export, and
                         standard output for a replay)
  --format <format>      html (default) or jsonl
  --as <form>            ag_ui (AG-UI, default), ag_ui_proto (the same in protobuf) or lobe (LobeHub's stream)
  --protocol-version <version>  of an AG-UI client; default: of the one that began the run
  --at <seq>             the last record that a fork keeps
  --edit-result <call>=<text>  another result of a call that was over by then; may be repeated
  --edit-message <text>  takes the place of the user's last message
  --secret <name>        leave out values of this name in arguments, beside passwords, keys and tokens; may be repeated
${storeHelp}
Exit code: 0, 1 when it failed, 2 for wrong arguments.
`;

const lsOptions = {
  ...storeOptions,
  state: { type: 'string' },
  thread: { type: 'string' },
  limit: { type: 'string' },
  children: { type: 'boolean' },
} as const;
const tailOptions = { ...storeOptions, after: { type: 'string' } } as const;
const stopOptions = { ...storeOptions, reason: { type: 'string' } } as const;
const approveOptions = {
  ...storeOptions,
  deny: { type: 'boolean' },
  args: { type: 'string' },
  reason: { type: 'string' },
} as const;

const writeJson = (value: unknown): void => {
  process.stdout.write(`${JSON.stringify(value)}\n`);
};

interface RunList {
  runs: RunInfo[];
  nextCursor?: string;
  owner?: string;
}

async function list(args: readonly string[]): Promise<number> {
  const { values } = readArgs(args, lsOptions, false);
  if (values.help === true) return printHelp();
  return reporting(values.json === true, async () => {
    const limit = integerOption('limit', values.limit, 1, 1000);
    const query = {
      ...(values.state !== undefined && { state: values.state }),
      ...(values.thread !== undefined && { threadId: values.thread }),
      ...(limit !== undefined && { limit }),
      ...(values.children === true && { children: true }),
    };
    const found = await storeCommand<RunList>('runs', { ...storeOf(values), query });
    if (values.json === true) writeJson(found);
    else printList(found);
    return 0;
  });
}

function printList({ runs, nextCursor }: RunList): void {
  if (runs.length === 0) {
    process.stdout.write('There are no such runs.\n');
    return;
  }
  const now = Date.now();
  const cells = runs.map((run) => [
    run.id,
    run.state,
    run.name,
    run.threadId ?? '-',
    ageOf(now - run.createdAt),
    run.waitsFor ? waitOf(run.waitsFor, now) : '-',
  ]);
  const head = ['run', 'state', 'name', 'thread', 'age', 'waits for'];
  process.stdout.write(plain(tableOf(head, cells)));
  if (nextCursor !== undefined) process.stderr.write('There are more; --limit lists them.\n');
}

async function show(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArgs(args, storeOptions, true);
  if (values.help === true) return printHelp();
  return reporting(values.json === true, async () => {
    const report = await storeCommand<RunReport>('run', {
      ...storeOf(values),
      id: runOf(positionals),
    });
    if (values.json === true) writeJson(report);
    else process.stdout.write(plain(shownRun(report, Date.now())));
    return 0;
  });
}

interface RecordPage {
  records: RecordLine[];
  next: number;
  isOver: boolean;
  isComplete: boolean;
}

const pollMs = 200;

async function tail(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArgs(args, tailOptions, true);
  if (values.help === true) return printHelp();
  return reporting(values.json === true, async () => {
    const id = runOf(positionals);
    let after = integerOption('after', values.after, 0, Number.MAX_SAFE_INTEGER) ?? 0;
    const store = storeOf(values);
    for (;;) {
      const page = await storeCommand<RecordPage>('records', { ...store, id, after });
      for (const record of page.records) {
        if (values.json === true) writeJson(record);
        else process.stdout.write(plain(recordLine(record)));
      }
      after = page.next;
      if (!page.isComplete) continue;
      if (page.isOver) return 0;
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
  });
}

async function stop(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArgs(args, stopOptions, true);
  if (values.help === true) return printHelp();
  return reporting(values.json === true, async () => {
    const id = runOf(positionals);
    const reason = values.reason ?? 'user_aborted';
    const query = new URLSearchParams({ reason }).toString();
    const info = await changeStore<RunInfo>(storeOf(values), {
      method: 'DELETE',
      path: `/runs/${encodeURIComponent(id)}?${query}`,
      command: 'stop',
      options: { id, reason },
    });
    if (values.json === true) writeJson(info);
    else process.stdout.write(`${info.id} ${stateText(info)}\n`);
    return 0;
  });
}

// A process that works on a run ends it after the stop is recorded.
function stateText({ state }: RunInfo): string {
  return state === 'running' ? 'is being stopped' : `is ${state}`;
}

function argumentsOf(text: string | undefined): object | undefined {
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`--args must be a JSON object: ${messageOf(error)}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new UsageError('--args must be a JSON object.');
}

// The approval that is meant, where none is named.
function onlyApproval(report: RunReport): string {
  const open = report.approvals ?? [];
  const [first] = open;
  if (first === undefined) {
    throw new MillraceError(
      'approval_answered',
      `The run ${report.id} is ${report.state} and waits for no approval.`,
    );
  }
  if (open.length === 1) return first.id;
  const ids = open.map(({ id }) => `  ${id}\n`).join('');
  throw new UsageError(`The run waits for ${open.length} approvals; name one:\n${ids}`);
}

async function approve(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArgs(args, approveOptions, true);
  if (values.help === true) return printHelp();
  return reporting(values.json === true, async () => {
    const id = runOf(positionals, 2);
    const editedArgs = argumentsOf(values.args);
    if (editedArgs !== undefined && values.deny === true) {
      throw new UsageError('--args and --deny exclude each other.');
    }
    const store = storeOf(values);
    const approval =
      positionals[1] ?? onlyApproval(await storeCommand<RunReport>('run', { ...store, id }));
    const { reason } = values;
    const payload = {
      approved: values.deny !== true,
      ...(editedArgs && { editedArgs }),
      ...(reason !== undefined && { reason }),
    };
    const entry = { status: 'resolved', payload };
    const info = await changeStore<RunInfo>(store, {
      method: 'POST',
      path: `/runs/${encodeURIComponent(id)}/approvals/${encodeURIComponent(approval)}`,
      body: entry,
      command: 'approve',
      options: { id, approval, entry },
    });
    if (values.json === true) writeJson(info);
    else process.stdout.write(`${plain(approval)} is ${values.deny ? 'denied' : 'approved'}.\n`);
    return 0;
  });
}

const works: Record<string, (args: readonly string[]) => Promise<number>> = {
  ls: list,
  show,
  tail,
  stop,
  approve,
  export: async (args) => (await exportRun(args)) ?? printHelp(),
  replay: async (args) => (await replayRun(args)) ?? printHelp(),
  fork: async (args) => (await forkRun(args)) ?? printHelp(),
};

function printHelp(): number {
  process.stdout.write(help);
  return 0;
}

/** The `runs` command. */
export const runs: Command = {
  summary: 'list, read, stop, approve, export, replay and fork durable runs',
  async run([name = '', ...args]) {
    if (name === '--help' || name === '-h') return printHelp();
    const work = Object.hasOwn(works, name) ? works[name] : undefined;
    if (!work) throw new UsageError(`'millrace runs' needs a command.\n\n${help}`);
    return work(args);
  },
};
