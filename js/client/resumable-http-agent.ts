// AG-UI's HttpAgent for a server that records its runs: a cut connection or a reload loses nothing of an answer.
import { HttpAgent } from '@ag-ui/client';

import { addressBelow } from './address';
import type { ReconnectOptions, RunPosition } from './resumable-run';
import { errorOfAnswer, reconnectDefaults, ResumableRun } from './resumable-run';

type HttpAgentConfig = ConstructorParameters<typeof HttpAgent>[0];
type RunParameters = Parameters<HttpAgent['runAgent']>[0];
type Subscriber = Parameters<HttpAgent['runAgent']>[1];
type RunInput = Parameters<HttpAgent['run']>[0];
type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Options of a ResumableHttpAgent beside those of HttpAgent. */
export interface ResumableHttpAgentConfig extends HttpAgentConfig {
  /** How it comes back after a connection broke. */
  reconnect?: ReconnectOptions;
}

/** What AG-UI's clone() does not copy stands beside the agent. */
interface Memory {
  fetch: Fetch;
  reconnect: Required<ReconnectOptions>;
  position?: RunPosition | undefined;
  attach?: RunPosition | undefined;
  input?: Pick<RunInput, 'runId' | 'threadId'> | undefined;
  /** The next request is for what goes on in the thread. */
  connects?: boolean;
  /** Settles with the head of the answer, or with what kept it from coming. */
  head?: Promise<Response> | undefined;
  /** The stop that was requested last. */
  stopped?: Promise<void> | undefined;
}

const memories = new WeakMap<HttpAgent, Memory>();

function memoryOf(agent: HttpAgent): Memory {
  return memories.get(agent) as Memory;
}

const pageFetch: Fetch = (url, init) => fetch(url, init);

/**
 * An HttpAgent whose runs survive cut connections and reloads, on a server with storage (`millrace serve --storage`,
 * or a handler of an agent with a runtime). On any other server it is an HttpAgent.
 */
export class ResumableHttpAgent extends HttpAgent {
  constructor(config: ResumableHttpAgentConfig) {
    super(config);
    const given = config.fetch as Fetch | undefined;
    const reconnect = { ...reconnectDefaults, ...config.reconnect };
    remember(this, { fetch: given ?? pageFetch, reconnect });
  }

  /** Where the run of the moment, or the last one, was read to: what `attach` takes after a reload. */
  get position(): RunPosition | undefined {
    return memoryOf(this).position;
  }

  /**
   * Reads a run that is there already: after a reload, or one that another page began. Without `after` from its
   * beginning; with `after` what follows that record, and before it the beginnings of what is open there.
   */
  async attach(
    runId: string,
    options: { after?: number } & NonNullable<RunParameters> = {},
    subscriber?: Subscriber,
  ): ReturnType<HttpAgent['runAgent']> {
    const { after, ...parameters } = options;
    memoryOf(this).attach = after === undefined ? { runId } : { runId, after };
    try {
      return await this.runAgent(parameters, subscriber);
    } finally {
      memoryOf(this).attach = undefined;
    }
  }

  override run(input: RunInput): ReturnType<HttpAgent['run']> {
    const memory = memoryOf(this);
    memory.input = { runId: input.runId, threadId: input.threadId };
    memory.connects = false;
    return super.run(input);
  }

  /** What `connectAgent` reads: the messages of the thread, and the run that goes on there. */
  protected override connect(input: RunInput): ReturnType<HttpAgent['run']> {
    const memory = memoryOf(this);
    memory.input = { runId: input.runId, threadId: input.threadId };
    memory.connects = true;
    // A run that was aborted ends no other one.
    if (this.abortController.signal.aborted) this.abortController = new AbortController();
    return super.run(input);
  }

  /** Stops the run on the server, and its reading here. */
  override abortRun(): void {
    const memory = memoryOf(this);
    const stopped = stopRun(this, memory);
    // It is no failure of the page's that nobody waits for.
    stopped.catch(() => undefined);
    memory.stopped = stopped;
    super.abortRun();
  }

  /** Resolves when the server has recorded the last stop; rejects when it did not. */
  get stopped(): Promise<void> {
    return memoryOf(this).stopped ?? Promise.resolve();
  }

  override clone(): this {
    const copy = super.clone() as this;
    const { fetch: given, reconnect } = memoryOf(this);
    remember(copy, { fetch: given, reconnect });
    return copy;
  }
}

function remember(agent: ResumableHttpAgent, memory: Memory): void {
  memories.set(agent, memory);
  agent.fetch = (url: string, init: RequestInit) => {
    const run = makeRun(memory, url, init);
    const sent = run.send();
    memory.head = sent;
    return run.open(sent);
  };
}

function makeRun(memory: Memory, url: string, init: RequestInit): ResumableRun {
  const { attach, input, reconnect, connects = false } = memory;
  const headers = new Headers(init.headers);
  headers.delete('content-type');
  memory.position = attach;
  return new ResumableRun({
    url,
    ...(attach === undefined && { init }),
    headers,
    fetch: memory.fetch,
    signal: init.signal ?? new AbortController().signal,
    reconnect,
    agUiRunId: input?.runId ?? '',
    threadId: input?.threadId ?? '',
    attach,
    connects,
    onPosition: (position) => (memory.position = position),
  });
}

// The server's id of the run comes with the head of the answer; one without it records no runs.
async function stopRun(agent: ResumableHttpAgent, memory: Memory): Promise<void> {
  const { position, head } = memory;
  const answered = position ? undefined : await head?.catch(() => undefined);
  const id = position?.runId ?? answered?.headers.get('millrace-run-id');
  if (!id) return;
  const { headers } = agent;
  const response = await memory.fetch(addressBelow(agent.url, `/runs/${encodeURIComponent(id)}`), {
    method: 'DELETE',
    headers,
    keepalive: true,
  });
  if (!response.ok) throw await errorOfAnswer(response);
}
