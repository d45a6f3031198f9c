// What declarations of slash commands promise, and for whom.
import { cleanUp, hosts, runJob, serve } from './kit';

afterEach(cleanUp);

describe.each(hosts)('declarations of slash commands (%s)', (host) => {
  it('are declared well, or not at all', async () => {
    const run = (): string => 'ran';
    const usable = { allow_in_private: true, run };
    const api = await serve(host, {
      prepare: (runtime) => {
        for (const [wrong, why] of [
          [{ name: 'a b' }, /white space/],
          [{ permission: 'root' }, /permission is 'root'/],
          [{ rate_limit: 'often' }, /rate_limit/],
          [{ subcommands: { x: { permission: 1 } } }, /permission is 1/],
          [{ inference: { default: 'gone' } }, /inference names 'gone'/],
          [{ inference: { rules: [{ pattern: '(', subcommand: '' }] } }, /regular expression/],
        ] as [object, RegExp][]) {
          const declare = () => runtime.command({ name: 'wrong', ...usable, ...wrong });
          expect(declare).toThrow(expect.objectContaining({ code: 'invalid_option' }));
          expect(declare).toThrow(why);
        }
        runtime.command({ name: ' Spaced ', rate_limit: 'none', ...usable });
      },
    });
    expect((await runJob(api, '/spaced')).reply).toBe('ran');
    expect((await api.json('/api/v1/commands', 200)).count).toBe(1);
  });

  it.each([
    [undefined, ['clean', 'hello'], ['hello'], ['hello']],
    [{ superadminId: 0 }, ['clean', 'hello'], ['hello'], ['hello']],
    [{ adminIds: [10002] }, ['clean', 'hello'], ['clean', 'hello'], ['hello']],
    [
      { superadminId: 7, adminIds: [10001, 10002] },
      ['clean', 'hello'],
      ['clean', 'hello'],
      ['hello'],
    ],
    [{ superadminId: 99 }, ['hello'], ['hello'], ['clean', 'hello']],
  ] as const)('are listed for who sends them: %j', async (ids, first, second, third) => {
    const api = await serve(host, {
      ...(ids && { api: ids }),
      prepare: (runtime) => {
        runtime.command({ name: 'hello', run: () => 'hi' });
        runtime.command({ name: 'clean', permission: 'admin', run: () => 'done' });
      },
    });
    for (const [sender, names] of [
      [10_001, first],
      [10_002, second],
      [99, third],
    ] as [number, readonly string[]][]) {
      const path = `/api/v1/commands?scope=group&group_id=77&sender_id=${sender}`;
      const { commands } = await api.json(path, 200);
      expect(commands.map(({ name }: { name: string }) => name).sort()).toEqual(names);
    }
  });

  it('wait for each principal alone', async () => {
    const keys = ['ada', 'ben'].map((principal) => ({ key: `of-${principal}`, principal }));
    const api = await serve(host, {
      api: { keys },
      prepare: (runtime) =>
        runtime.command({
          ...{ name: 'rarely', allow_in_private: true, rate_limit: { superadmin: 60 } },
          run: ({ context }) => context.run.principal,
        }),
    });
    const send = async (principal: string): Promise<string> => {
      const headers = { 'X-Millrace-API-Key': `of-${principal}` };
      const call = { method: 'POST', headers, json: { message: '/rarely' } };
      return (await api.json('/api/v1/chat', 200, call)).reply;
    };
    expect([await send('ada'), await send('ben')]).toEqual(['ada', 'ben']);
    expect(await send('ada')).toMatch(/60 seconds/);
  });
});
