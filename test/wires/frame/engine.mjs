// What the engine makes of a vendor's bytes, and what it sends: over loopback, with the built package.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const millrace = require('../../../dist/cjs/index.js');
const { addon } = require('../../../dist/cjs/addon.js');

const question = { id: 'q', role: 'user', content: 'Ask' };
const further = { id: 'f', role: 'user', content: 'Go on' };

/** Calls of one wire. `wire` has `provider`, `call` (members of each payload) and `settings` of the runtime. */
export class Engine {
  constructor(vendor, wire) {
    this.vendor = vendor;
    this.wire = wire;
  }

  /** An answer as the engine reads it: `{ events, report, request }`. */
  async read(answer, payload = {}) {
    const { adapter, read } = this.wire;
    if (read) return read(answer);
    if (adapter) return this.parsed(answer, adapter);
    return this.call([answer], { messages: [question], ...this.wire.asks, ...payload });
  }

  async parsed({ type, bytes, headers }, adapter) {
    const states = [];
    const options = { extended: true, ...adapter.options?.(states) };
    const response = new Response(bytes, { headers: { 'content-type': type, ...headers } });
    const events = [];
    for await (const event of millrace[adapter.name](options).parse(response)) events.push(event);
    return { events, report: { states }, request: undefined };
  }

  /** A stream whose bytes come in these pieces. */
  async cut(type, pieces) {
    const bytes = new ReadableStream({
      start(controller) {
        for (const piece of pieces) controller.enqueue(piece);
        controller.close();
      },
    });
    const { adapter = { name: this.wire.reads } } = this.wire;
    return this.parsed({ type, bytes }, adapter);
  }

  async call(answers, payload, wire = this.wire) {
    const line = this.vendor.open(answers);
    const { provider, model, call, settings } = wire;
    const runtime = millrace.createModelRuntime(provider, {
      apiKey: 'test-key',
      maxRetries: 0,
      circuit: false,
      ...settings,
      baseURL: line.url,
    });
    const events = [];
    let report = {};
    try {
      const run = runtime.stream(
        { model, ...call, ...payload },
        { throttleMs: 0, threadId: 't', runId: 'r' },
      );
      for await (const event of run) events.push(event);
      report = await run.report;
    } catch (error) {
      report = { refused: error.code ?? 'unknown', message: error.message, notes: [] };
    }
    line.close();
    const request = line.requests.at(-1)?.body;
    const failed = events.find(({ type }) => type === 'RUN_ERROR');
    if (request === undefined && failed) {
      report = { ...report, rejected: failed.code, message: failed.message };
    }
    return { events, report, request };
  }

  /**
   * The request that follows an answer, with results for the calls that wait for one: their texts have the calls' ids.
   * Where the vendor `resumes` an answer whose own calls are open, nothing is behind it: it rejects them anywhere else.
   * Gives the folded answer and the results as well.
   */
  async next({ events }) {
    const { format, plain, members, wire = this.wire } = this.wire.next ?? {};
    const { resultOf = (call, text) => text, resumes } = this.wire.next ?? {};
    const folded = millrace.foldEvents(events);
    if (format)
      return { request: toApi(format, folded), report: { notes: [] }, folded, results: [] };
    const answered = new Set(folded.flatMap(({ toolCallId }) => toolCallId ?? []));
    const open = folded
      .flatMap(({ toolCalls = [] }) => toolCalls)
      .filter(({ id }) => !answered.has(id));
    const results = open
      .filter((call) => !isHosted(call))
      .map((call) => {
        const content = resultOf(call, `Done ${call.id}`);
        return { id: `t${call.id}`, role: 'tool', toolCallId: call.id, content };
      });
    const goesOn = resumes && open.some(isHosted);
    const messages = [question, ...folded, ...results, ...(goesOn ? [] : [further])];
    const payload = { messages, format: 'canonical', ...members };
    return { ...(await this.call([plain ?? wire.plain], payload, wire)), folded, results };
  }

  /** A history in the vendor's shape, read and written again by the format of that name. */
  history(format, data) {
    try {
      return { request: toApi(format, fromApi(format, data)), report: { notes: [] } };
    } catch (error) {
      return {
        request: undefined,
        report: { refused: error.code, message: error.message, notes: [] },
      };
    }
  }

  /** The request of another vendor for a history in this one's shape. */
  into(other, format, data) {
    const messages = Array.isArray(data) ? data : (data.messages ?? data.contents);
    return this.call([other.plain], { messages, format }, other);
  }
}

// A call of a tool that runs at the vendor, which gives the result.
function isHosted({ metadata }) {
  const kinds = metadata?.millrace?.providerState?.map(({ kind }) => kind) ?? [];
  return kinds.includes('hosted') || kinds.includes('server_tool');
}

export function fromApi(format, data) {
  return JSON.parse(addon().fromApi(format, JSON.stringify(data)));
}

export function toApi(format, messages) {
  return JSON.parse(addon().toApi(format, JSON.stringify(messages)));
}
