// How the page reads the log of a job: across cut streams and a server that is away, each event once.
import { ApiError } from '../../../console/src/api';
import { readJob } from '../../../console/src/job-reader';
import type { JobEvent } from '../../../console/src/types';

const log = ['meta', 'stage', 'message', 'done'].map((event, at) => ({
  ...{ id: String(at + 1), event, payload: {} },
}));

const frame = ({ id, event }: JobEvent): string => `id: ${id}\nevent: ${event}\ndata: {}\n\n`;

type Server = (after: number, request: number) => Response | Error;

const original = globalThis.fetch;
const requests: string[] = [];

function serve(server: Server): void {
  requests.length = 0;
  globalThis.fetch = (async (path: string) => {
    requests.push(path);
    const answer = server(
      Number(new URLSearchParams(path.split('?')[1]).get('after')),
      requests.length,
    );
    if (answer instanceof Error) throw answer;
    return answer;
  }) as typeof fetch;
}

afterEach(() => {
  globalThis.fetch = original;
});

async function read(after = ''): Promise<{ ids: string[]; connection: boolean[] }> {
  const ids: string[] = [];
  const connection: boolean[] = [];
  await readJob({
    ...{ job: 'j', after, signal: new AbortController().signal },
    onEvents: (events) => ids.push(...events.map(({ id }) => id)),
    onConnection: (isLive) => connection.push(isLive),
  });
  return { ids, connection };
}

describe('reading a job', () => {
  it('goes on behind the last event wherever a stream is cut', async () => {
    // A stream ends after each event, and in the middle of the next one.
    serve((after) => new Response(log.slice(after).map(frame).join('').slice(0, 40)));
    const { ids } = await read();
    expect(ids).toEqual(['1', '2', '3', '4']);
    expect(requests.map((path) => path.replace(/.*after=/, ''))).toEqual(['0', '1', '2', '3']);
    expect(requests.join()).not.toContain('key');
  });

  it('waits for a server that is away', async () => {
    const away = [new TypeError('fetch failed'), new Response('', { status: 502 })];
    serve((after) => away.shift() ?? new Response(log.slice(after).map(frame).join('')));
    const { ids, connection } = await read('2');
    expect(ids).toEqual(['3', '4']);
    expect(connection).toEqual([false, false, true]);
  });

  it('ends where the job is not there', async () => {
    serve(() => Response.json({ error: 'Job not found' }, { status: 404 }));
    await expect(read()).rejects.toEqual(new ApiError(404, 'Job not found'));
    expect(requests).toHaveLength(1);
  });

  it('ends with its signal', async () => {
    const controller = new AbortController();
    serve(() => {
      controller.abort();
      return new TypeError('fetch failed');
    });
    const { signal } = controller;
    const nothing = (): void => undefined;
    await readJob({ job: 'j', after: '', signal, onEvents: nothing, onConnection: nothing });
    expect(requests).toHaveLength(1);
  });
});
