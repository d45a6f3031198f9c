// Functions of the host before a turn: what they see, change, answer and reject, and what becomes of those that fail.
import type { AgentFunction, PipelineFunction, PipelineOptions } from 'millrace';

import { type Api, cleanUp, ended, Gate, hosts, type Json, runJob, serve } from './kit';

afterEach(async () => {
  await cleanUp();
  jest.restoreAllMocks();
});

type Row = [name: string, run: PipelineFunction, options?: PipelineOptions];

const serveWith = (
  host: (typeof hosts)[number],
  rows: Row[],
  agent: AgentFunction = ({ text }) => `echo: ${text}`,
): Promise<Api> =>
  serve(host, {
    agent,
    prepare: (runtime) => {
      for (const [name, run, options] of rows) runtime.pipeline(name, run, options);
    },
  });

const chat = (api: Api, message: unknown, status = 200, more: object = {}): Promise<Json> =>
  api.json('/api/v1/chat', status, { method: 'POST', json: { message, ...more } });
const textsOf = async (api: Api): Promise<string[]> =>
  (await api.json('/api/v1/chat/history', 200)).items.map(({ content }: Json) => content);

describe.each(hosts)('pipelines (%s)', (host) => {
  it('run in their order, each on what the one before it left', async () => {
    const seen: string[] = [];
    const add =
      (word: string): PipelineFunction =>
      ({ text }) => {
        seen.push(`${word} of ${text}`);
        return { text: `${text} ${word}` };
      };
    const api = await serveWith(host, [
      ['late', add('c'), { order: 200 }],
      ['usual', add('b')],
      ['early', add('a'), { order: -1, description: 'The first.' }],
    ]);
    expect(await chat(api, 'hello')).toMatchObject({ mode: 'chat', reply: 'echo: hello a b c' });
    expect(seen).toEqual(['a of hello', 'b of hello a', 'c of hello a b']);
    expect(await textsOf(api)).toEqual(['hello a b c', 'echo: hello a b c']);
    const { skills } = await api.json('/api/v1/probes/internal', 200);
    expect(skills.pipelines).toEqual({
      ...{ count: 3, loaded: 3, hot_reload: false },
      items: [
        { name: 'early', order: -1, description: 'The first.', loaded: true },
        { name: 'usual', order: 100, description: '', loaded: true },
        { name: 'late', order: 200, description: '', loaded: true },
      ],
    });
  });

  it('see the message with its conversation, and add notes that only the agent reads', async () => {
    const turns: Json[] = [];
    const run: PipelineFunction = ({ signal, ...turn }) => {
      turns.push({ ...turn, signal: signal.aborted });
      return { note: `note ${turns.length}` };
    };
    const read: string[] = [];
    const api = await serveWith(host, [['notes', run]], ({ messages }) => {
      read.push(messages.map(({ content }) => content as string).join(' | '));
      return 'ok';
    });
    await chat(api, { text: 'one', references: [{ quote: 'as said' }] });
    await chat(api, 'two');
    expect(turns[0]).toMatchObject({
      ...{ text: 'one', conversationId: 'legacy-system-42', principal: 'local', signal: false },
      ...{ references: [{ kind: 'message', selected_text: 'as said' }], attachments: [] },
      ...{ isRegenerated: false, runId: expect.stringMatching(/^run_[0-9a-f]{32}$/) },
    });
    expect(read[1]).toMatch(/as said\n\none\n\nnote 1 \| ok \| two\n\nnote 2$/);
    expect((await textsOf(api)).join()).not.toMatch(/note/);
  });

  it('answer a turn in place of the agent, and stop those behind them', async () => {
    const behind = jest.fn();
    const agent = jest.fn(() => 'the agent');
    const rows: Row[] = [
      ['faq', ({ text }) => (text === 'hours?' ? { reply: 'Nine to five.' } : undefined)],
      ['behind', behind],
    ];
    const api = await serveWith(host, rows, agent);
    expect(await chat(api, 'hours?')).toMatchObject({ mode: 'chat', reply: 'Nine to five.' });
    expect([behind.mock.calls.length, agent.mock.calls.length]).toEqual([0, 0]);
    expect(await textsOf(api)).toEqual(['hours?', 'Nine to five.']);
    expect(await chat(api, 'else')).toMatchObject({ reply: 'the agent' });
    expect(behind).toHaveBeenCalledTimes(1);
  });

  it('reject a turn with a code, which leaves nothing behind', async () => {
    const api = await serveWith(host, [
      [
        'guard',
        ({ text }) => {
          if (text === 'plain') return { reject: 'Not here.' };
          return { reject: { code: 'rate_limited', message: 'Later.' } };
        },
      ],
    ]);
    expect(await chat(api, 'plain', 403)).toEqual({
      error: 'Not here.',
      code: 'permission_denied',
    });
    expect(await chat(api, 'other', 429)).toEqual({ error: 'Later.', code: 'rate_limited' });
    expect(await textsOf(api)).toEqual([]);
    const { jobs } = await api.json('/api/v1/chat/jobs', 200);
    expect(jobs).toEqual([]);
  });
});

describe('a pipeline that fails', () => {
  const log = (): jest.SpyInstance => jest.spyOn(console, 'error').mockImplementation();

  it('rejects the turn with no word of the reason, which is in the log', async () => {
    const error = log();
    const api = await serveWith('fetch', [
      ['broken', () => Promise.reject(new Error('the secret reason'))],
    ]);
    expect(await chat(api, 'x', 502)).toEqual({ error: 'Chat failed' });
    expect(error.mock.calls.flat().join(' ')).toMatch(/pipeline broken failed.*the secret reason/);
  });

  it('is passed over where it may be', async () => {
    log();
    const api = await serveWith('fetch', [
      ['broken', () => Promise.reject(new Error('no')), { onError: 'skip' }],
      ['wrong', () => ({ txt: 'misspelt' }) as never, { onError: 'skip' }],
      ['good', ({ text }) => ({ text: `${text}!` })],
    ]);
    expect(await chat(api, 'x')).toMatchObject({ reply: 'echo: x!' });
  });

  it('is not waited for beyond its time, and gets a signal', async () => {
    log();
    let signal: AbortSignal | undefined;
    const never: PipelineFunction = (turn) => {
      signal = turn.signal;
      return new Promise(() => undefined);
    };
    const api = await serveWith('fetch', [['slow', never, { timeoutMs: 20 }]]);
    expect(await chat(api, 'x', 502)).toEqual({ error: 'Chat failed' });
    expect(signal?.reason).toMatchObject({ code: 'timeout' });
  });

  it.each([
    [{ reject: { code: 'rate_limited' } }, /reject must be/],
    [{ text: 1 }, /text must be a string/],
    ['text', /must be an object or nothing/],
  ])('gives what is no result: %j', async (given, reason) => {
    const error = log();
    const api = await serveWith('fetch', [['wrong', () => given as never]]);
    await chat(api, 'x', 502);
    expect(String(error.mock.calls[0]?.[1])).toMatch(reason);
  });

  it('is not taken with wrong options', async () => {
    const { runtime } = await serveWith('fetch', []);
    const add = runtime.pipeline.bind(runtime) as (...given: unknown[]) => void;
    const run = (): void => undefined;
    expect(() => add('', run)).toThrow(expect.objectContaining({ code: 'invalid_argument' }));
    expect(() => add('a')).toThrow(/a name and a function/);
    expect(() => add('a', run, { order: 'first' })).toThrow(/order must be a number/);
    expect(() => add('a', run, { onError: 'ignore' })).toThrow(/'reject' or 'skip'/);
    expect(() => add('a', run, { orders: 1 })).toThrow(/Did you mean 'order'/);
  });
});

describe('what pipelines made of a turn', () => {
  it('is stored, so that a request that comes again runs none of them', async () => {
    let runs = 0;
    const api = await serveWith('fetch', [
      [
        'once',
        ({ text }) => {
          runs += 1;
          return runs === 1 ? { text: `${text}, changed` } : { reject: 'never again' };
        },
      ],
    ]);
    const again = { method: 'POST', headers: { 'Idempotency-Key': 'k1' }, json: { message: 'x' } };
    const first = await api.json('/api/v1/chat/jobs', 202, again);
    const second = await api.json('/api/v1/chat/jobs', 202, again);
    expect([second.job_id, runs]).toEqual([first.job_id, 1]);
  });

  it('is nothing for a turn that cannot begin', async () => {
    const texts: string[] = [];
    const gate = new Gate();
    const note: PipelineFunction = ({ text }) => {
      texts.push(text);
      return undefined;
    };
    const api = await serveWith('fetch', [['note', note]], async (_turn, { signal }) => {
      await gate.wait(signal);
      return 'done';
    });
    const jobs = '/api/v1/chat/jobs';
    await api.json(jobs, 202, { method: 'POST', json: { message: 'one' } });
    const headers = { 'Idempotency-Key': 'busy' };
    const rejected = await api.json(jobs, 409, {
      method: 'POST',
      json: { message: 'two' },
      headers,
    });
    expect(rejected.error).toBe('Chat job is still running');
    expect(texts).toEqual(['one']);
    gate.open();
  });

  it('leaves a message as it is that is answered again', async () => {
    const regenerated: boolean[] = [];
    const api = await serveWith('fetch', [
      [
        'mark',
        ({ text, isRegenerated }) => {
          regenerated.push(isRegenerated);
          return { text: `${text}+` };
        },
      ],
    ]);
    await runJob(api, 'x');
    const { items } = await api.json('/api/v1/chat/history', 200);
    const path = '/api/v1/chat/conversations/legacy-system-42/messages';
    const again = { method: 'POST', json: {} };
    const job = await api.json(`${path}/${items[1].message_id}/regenerate`, 202, again);
    await ended(api, job.job_id);
    expect(regenerated).toEqual([false, true]);
    expect(await textsOf(api)).toEqual(['x+', 'echo: x+']);
  });

  it('is made anew for a message that was edited, once', async () => {
    const mask: PipelineFunction = ({ text }) => {
      if (text.includes('password')) return { reject: 'No passwords here.' };
      return { text: `${text.replace(/\d{4,}/g, '[number]')}+`, note: `note on ${text}` };
    };
    const read: string[] = [];
    const api = await serveWith('fetch', [['mask', mask]], ({ messages }) => {
      read.push(messages.map(({ content }) => content as string).join(' | '));
      return 'ok';
    });
    await runJob(api, 'one');
    const question = async (): Promise<string> => {
      const { items } = await api.json('/api/v1/chat/history', 200);
      return `/api/v1/chat/conversations/legacy-system-42/messages/${items[0].message_id}`;
    };
    const again = async (json: object): Promise<void> => {
      const path = `${await question()}/regenerate`;
      await ended(api, (await api.json(path, 202, { method: 'POST', json })).job_id);
    };
    await again({ text: 'card 41111111' });
    expect(read.at(-1)).toBe('card [number]+\n\nnote on card 41111111');
    expect(await textsOf(api)).toEqual(['card [number]+', 'ok']);
    await again({});
    expect(read.at(-1)).toBe('card [number]+\n\nnote on card 41111111');
    await api.json(await question(), 200, { method: 'PATCH', json: { text: 'card 42222222' } });
    await again({});
    expect(read.at(-1)).toBe('card [number]+\n\nnote on card 42222222');
    expect(await textsOf(api)).toEqual(['card [number]+', 'ok']);
    const path = `${await question()}/regenerate`;
    await api.json(path, 403, { method: 'POST', json: { text: 'my password' } });
    expect(await textsOf(api)).toEqual(['card [number]+', 'ok']);
    await chat(api, 'next');
    expect(read.at(-1)).toBe(
      'card [number]+\n\nnote on card 42222222 | ok | next+\n\nnote on next',
    );
  });

  it('is there from the next turn on where one is added later', async () => {
    const api = await serveWith('fetch', []);
    expect(await chat(api, 'a')).toMatchObject({ reply: 'echo: a' });
    api.runtime.pipeline('late', ({ text }) => ({ text: `${text}, late` }));
    expect(await chat(api, 'b')).toMatchObject({ reply: 'echo: b, late' });
    api.runtime.pipeline('late', ({ text }) => ({ text: `${text}, replaced` }));
    expect(await chat(api, 'c')).toMatchObject({ reply: 'echo: c, replaced' });
  });
});
