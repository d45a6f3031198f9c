// Processes that are killed while OpenAI makes their answers in the background: what the provider hears of it over the wire,
// and what readers have in the end.
//   MILLRACE_BACKGROUND_KILLS: how many kills; MILLRACE_SEED: the printed seed
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import { sse } from '../support/responses';
import {
  type Child,
  cleanUp,
  makeStore,
  recordsIn,
  startChild,
  textIn,
} from '../support/durable-child';
import { bodyOf, type Loopback, loopback } from '../support/server';
import { randomOf } from '../support/deploys';

const kills = Number(process.env['MILLRACE_BACKGROUND_KILLS'] ?? 5);
const seed = Number(process.env['MILLRACE_SEED'] ?? Date.now() % 1_000_000);
const runs = 3;

interface Join {
  process: number;
  response: string;
  /** `starting_after`, where the request has it. */
  after: number | undefined;
}

/** A response that the provider makes, whether somebody reads it or not. */
class Made {
  readonly events: object[] = [];
  tokens = 0;
  isOver = false;
  private readonly readers = new Map<ServerResponse, number>();

  constructor(readonly id: string) {
    this.add({ type: 'response.created', response: this.response('queued') });
    this.add({ type: 'response.in_progress', response: this.response('in_progress') });
    const item = { id: `msg_${id}`, type: 'message', role: 'assistant', content: [] };
    this.add({ type: 'response.output_item.added', output_index: 0, item });
  }

  get text(): string {
    return Array.from({ length: this.tokens }, (_, n) => `${n} `).join('');
  }

  generate(): void {
    if (this.isOver) return;
    const place = { item_id: `msg_${this.id}`, output_index: 0, content_index: 0 };
    const delta = `${this.tokens++} `;
    this.add({ type: 'response.output_text.delta', ...place, delta });
  }

  finish(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.add({ type: 'response.completed', response: this.response('completed') });
    for (const reader of this.readers.keys()) reader.end();
  }

  /** Sends what is behind the number, and what comes from there on. */
  read(answer: ServerResponse, after: number): void {
    answer.setHeader('content-type', 'text/event-stream');
    answer.flushHeaders();
    answer.write(sse(...this.events.slice(after + 1)));
    if (this.isOver) return void answer.end();
    this.readers.set(answer, this.events.length - 1);
    answer.on('close', () => this.readers.delete(answer));
  }

  /** Ends what is read. Gives the numbers of the last events that the readers got. */
  breakOff(): number[] {
    const sent = [...this.readers.values()];
    for (const reader of this.readers.keys()) reader.end();
    this.readers.clear();
    return sent;
  }

  private add(event: object): void {
    const numbered = { ...event, sequence_number: this.events.length };
    this.events.push(numbered);
    for (const reader of this.readers.keys()) {
      reader.write(sse(numbered));
      this.readers.set(reader, this.events.length - 1);
    }
  }

  private response(status: string) {
    const content = [{ type: 'output_text', text: this.text, annotations: [] }];
    const message = { id: `msg_${this.id}`, type: 'message', role: 'assistant', content };
    return {
      id: this.id,
      object: 'response',
      created_at: 1,
      model: 'scripted',
      status,
      background: true,
      ...(status === 'completed' && {
        output: [message],
        usage: { input_tokens: 1, output_tokens: this.tokens, total_tokens: 1 + this.tokens },
      }),
    };
  }
}

/** The provider: its address has the number of the process that asks. */
class Provider {
  readonly made = new Map<string, Made>();
  readonly joins: Join[] = [];
  readonly problems: string[] = [];
  private server?: Loopback;
  private timer?: NodeJS.Timeout;

  async open(): Promise<void> {
    this.server = await loopback((request, answer) => {
      void bodyOf(request).then((body) => {
        const url = new URL(request.url ?? '', 'http://provider');
        const [, process, , , id] = url.pathname.split('/');
        if (request.method === 'POST' && id === undefined) return this.create(body, answer);
        const made = this.made.get(id ?? '');
        if (request.method !== 'GET' || !made || url.searchParams.get('stream') !== 'true') {
          this.problems.push(`${request.method} ${request.url}`);
          return void answer.writeHead(400).end('{}');
        }
        const given = url.searchParams.get('starting_after');
        const after = given === null ? undefined : Number(given);
        this.joins.push({ process: Number(process?.slice(1)), response: made.id, after });
        made.read(answer, after ?? -1);
      });
    });
    this.timer = setInterval(() => this.made.forEach((one) => one.generate()), 2);
  }
  async close(): Promise<void> {
    clearInterval(this.timer);
    await this.server?.close();
  }
  urlFor(process: number): string {
    return `${this.server?.url}/p${process}/v1`;
  }

  private create(body: string, answer: ServerResponse): void {
    const { background, store } = JSON.parse(body) as { background?: boolean; store?: boolean };
    if (background !== true || store !== true) this.problems.push(`not in the background: ${body}`);
    const made = new Made(`resp_${this.made.size}`);
    this.made.set(made.id, made);
    made.read(answer, -1);
  }
}

const provider = new Provider();
afterEach(async () => {
  await cleanUp();
  await provider.close();
});

async function until(isMet: () => boolean, what: string): Promise<void> {
  for (const end = Date.now() + 20_000; !isMet(); await sleep(2)) {
    if (Date.now() > end) throw new Error(`seed ${seed}: ${what} does not come to pass`);
  }
}

it(
  'are joined again, and no token is made twice',
  async () => {
    await provider.open();
    const random = randomOf(seed);
    const { store, log } = makeStore();
    const parameters = { background: true, apiMode: 'responses' };
    let processes = 0;
    const start = (options: object): Child => {
      const model = provider.urlFor(processes++);
      return startChild({ store, log, model, parameters, ...options });
    };
    const joinsOf = (process: number): Join[] =>
      provider.joins.filter((join) => join.process === process);

    let child = start({ do: 'unread', runs });
    await until(() => provider.made.size === runs, 'that the runs begin');
    await until(() => child.lines.length >= runs, 'that the runs are stored');
    const ids = child.lines.map(({ id }) => id as string);
    for (let kill = 0; kill < kills; kill++) {
      await sleep(random() * 40);
      // Loads while this one works.
      const next = start({ do: 'serve' });
      if (random() < 0.3) await breakOff(processes - 2);
      await sleep(random() * 40);
      await child.kill();
      child = next;
      await until(
        () => joinsOf(processes - 1).length >= runs,
        `that process ${processes - 1} joins`,
      );
    }
    provider.made.forEach((one) => one.finish());

    async function breakOff(process: number): Promise<void> {
      const before = provider.joins.length;
      const sent = [...provider.made.values()].flatMap((one) =>
        one.breakOff().map((last) => ({ response: one.id, last })),
      );
      await until(() => provider.joins.length >= before + sent.length, 'that streams are joined');
      for (const { response, last } of sent) {
        const join = provider.joins.slice(before).find((one) => one.response === response);
        expect({ seed, ...join }).toEqual({ seed, process, response, after: last });
      }
    }

    // The first join of each process is behind what is stored, further ones are behind what the process has read.
    const seen = new Set<string>();
    const stored = new Map<string, number>();
    for (const { process, response, after = -1 } of provider.joins) {
      expect({ seed, process, isWhole: after === -1 }).toEqual({ seed, process, isWhole: false });
      const isFirst = process > 0 && !seen.has(`${process} ${response}`);
      seen.add(`${process} ${response}`);
      if (!isFirst) continue;
      expect(after).toBeGreaterThanOrEqual(stored.get(response) ?? 0);
      stored.set(response, after);
    }
    expect(seen.size).toBe(kills * runs + [...seen].filter((one) => one.startsWith('0 ')).length);
    for (const [at, id] of ids.entries()) {
      const lines = await endOf(id);
      const made = [...provider.made.values()].find(({ text }) => text === lines.at(-1)?.['text']);
      const { status, error } = lines.at(-1) ?? {};
      expect({ seed, at, status, error }).toEqual({ seed, at, status: 'completed' });
      expect(textIn(lines)).toBe(made?.text);
      // Readers get each piece once, in one message of one step.
      const events = recordsIn(lines).map(({ event }) => event as { type: string; name?: string });
      const count = (wanted: string): number =>
        events.filter(({ type, name }) => type === wanted || name === wanted).length;
      expect({
        seed,
        resets: count('millrace.reset'),
        messages: count('TEXT_MESSAGE_START'),
        steps: count('STEP_STARTED'),
      }).toEqual({ seed, resets: 0, messages: 1, steps: 1 });
    }
    // One request for each answer, however often its process ended.
    expect({ seed, made: provider.made.size, problems: provider.problems }).toEqual({
      seed,
      made: runs,
      problems: [],
    });
    console.log(`${kills} kills, ${provider.joins.length} joins, seed ${seed}`);

    async function endOf(id: string) {
      await child.kill();
      child = start({ do: 'attach', id, after: 0 });
      return child.ended();
    }
  },
  120_000 + kills * 4_000,
);
