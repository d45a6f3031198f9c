// Folders of skills: what a model reads of them and loads, what is left out, and what changes while the runtime is open.
import { EventEmitter, once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createAgent, createRuntime, type SkillFolder } from 'millrace';

import { SkillFolder as Folder } from '../../../dist/cjs/tool/skill-folder';

import { type ScriptedModel, startModel, type Turn } from '../../support/scripted-model';
import { type Api, cleanUp, hosts, type Json, runJob, serve } from './kit';

const models: ScriptedModel[] = [];
const folders: string[] = [];
afterEach(async () => {
  await cleanUp();
  await Promise.all(models.splice(0).map((one) => one.close()));
  for (const one of folders.splice(0)) rmSync(one, { recursive: true, force: true });
});

const front = (name: string, description: string) =>
  `---\nname: ${name}\ndescription: ${description}\n---\n`;

function skillsDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'millrace-skills-'));
  folders.push(dir);
  return dir;
}

function put(dir: string, path: string, text: string | Buffer): void {
  const parts = path.split('/');
  mkdirSync(join(dir, ...parts.slice(0, -1)), { recursive: true });
  writeFileSync(join(dir, path), text);
}

interface Served {
  api: Api;
  model: ScriptedModel;
  folder: SkillFolder;
}

async function serveSkills(
  host: (typeof hosts)[number],
  dir: string,
  turns: Turn[],
  agents?: string[],
): Promise<Served> {
  const model = await startModel(turns);
  models.push(model);
  const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
  const agent = { model: 'openai:scripted', provider, instructions: 'Be brief.' } as const;
  let folder: SkillFolder | undefined;
  const api = await serve(host, {
    agent,
    prepare: (runtime) => {
      folder = runtime.skills(dir, agents ? { agents } : {});
    },
  });
  if (!folder) throw new Error('there is no folder');
  return { api, model, folder };
}

const call = (args: object): Turn => ({ calls: [{ id: 'c1', name: 'load_skill', args }] });
const systemOf = ({ chatBodies }: ScriptedModel, at = 0): string =>
  String(chatBodies[at]?.messages.find(({ role }) => role === 'system')?.content);
const toolsOf = ({ chatBodies }: ScriptedModel, at = 0): string[] =>
  ((chatBodies[at] as Json).tools ?? []).map(({ function: { name } }: Json) => name);
const resultsOf = ({ chatBodies }: ScriptedModel): string[] =>
  chatBodies.flatMap(({ messages }, at) =>
    at < chatBodies.length - 1
      ? []
      : messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content)),
  );

/** What the model got for each of these calls. */
async function load(dir: string, ...args: object[]): Promise<string[]> {
  const { api, model } = await serveSkills('fetch', dir, [...args.map(call), { text: 'done' }]);
  expect(await runJob(api, 'go')).toMatchObject({ status: 'done' });
  return resultsOf(model);
}

describe.each(hosts)('skills (%s)', (host) => {
  it('are offered by name and description, and loaded by a tool', async () => {
    const dir = skillsDir();
    put(
      dir,
      'pdf-forms/SKILL.md',
      `${front('pdf-forms', '>\n  Fills\n  forms: all')}# Steps\nFill.`,
    );
    put(dir, 'pdf-forms/reference/fields.md', 'the fields');
    const turns = [
      call({ name: 'pdf-forms' }),
      call({ name: 'pdf-forms', file: 'reference/fields.md' }),
      { text: 'done' },
    ];
    const { api, model } = await serveSkills(host, dir, turns);
    expect(await runJob(api, 'fill it')).toMatchObject({ status: 'done', reply: 'done' });
    expect(systemOf(model)).toMatch(
      /^Be brief\.\n\n.*load_skill.*\n- pdf-forms: Fills forms: all$/,
    );
    expect(toolsOf(model)).toEqual(['load_skill']);
    expect(resultsOf(model)).toEqual([
      '# Steps\nFill.\n\nFiles of this skill, to be loaded with `file`:\n- reference/fields.md (10 bytes)\n',
      'the fields',
    ]);
    const probe = await api.json('/api/v1/probes/internal', 200);
    expect(probe.skills.anthropic_skills).toEqual({
      ...{ count: 1, loaded: 1, items: [{ name: 'pdf-forms', loaded: true }] },
    });
  });
});

describe('what a folder of skills must not do', () => {
  it('takes the name of a tool of an agent', () => {
    const own = { name: 'load_skill', description: 'Mine.', run: () => 'x' };
    const options = { model: 'openai:m', provider: { apiKey: 'k' }, tools: [own] } as const;
    const wrong = expect.objectContaining({
      ...{ code: 'invalid_option', message: expect.stringMatching(/called load_skill.*rename/) },
    }) as Error;
    const first = createRuntime({ storage: 'memory' });
    first.agent('agent', options);
    expect(() => first.skills(skillsDir())).toThrow(wrong);
    first.skills(skillsDir(), { agents: ['other'] });
    const second = createRuntime({ storage: 'memory' });
    second.skills(skillsDir());
    expect(() => second.agent('agent', options)).toThrow(wrong);
    return Promise.all([first.close(), second.close()]);
  });

  it('ends the process when a change cannot be used', async () => {
    const dir = skillsDir();
    const reports = new EventEmitter();
    const folder = new Folder('test', dir, {
      report: ({ problems }) => void (problems.length > 0 && reports.emit('problem')),
      use: () => {
        throw new Error('no use');
      },
    });
    put(dir, 'a/SKILL.md', front('a', 'b'));
    await once(reports, 'problem');
    folder.close();
    expect(folder.problems).toEqual([{ path: dir, message: 'no use' }]);
    expect(() => folder.reload()).toThrow('no use');
  });

  it('gives no file outside of the skill, whatever its path or links', async () => {
    const dir = skillsDir();
    put(dir, 'secret.txt', 'hunter2');
    put(dir, 'a/SKILL.md', `${front('a', 'A.')}text`);
    put(dir, 'a/picture.bin', Buffer.from([1, 0, 2]));
    symlinkSync(join(dir, 'secret.txt'), join(dir, 'a/link.txt'));
    symlinkSync(dir, join(dir, 'a/up'));
    const results = await load(
      dir,
      { name: 'a' },
      ...['../secret.txt', '/etc/passwd', 'link.txt', 'up/secret.txt', 'picture.bin', 'none'].map(
        (file) => ({ name: 'a', file }),
      ),
      { name: 'b' },
    );
    expect(results[0]).toBe(
      'text\n\nFiles of this skill, to be loaded with `file`:\n- picture.bin (3 bytes)\n',
    );
    const reasons = [
      /'\.\.'/,
      /No such file/,
      /symbolic link/,
      /symbolic link/,
      /not a text/,
      /No such/,
    ];
    for (const [at, reason] of reasons.entries()) expect(results[at + 1]).toMatch(reason);
    expect(results[7]).toMatch(/There is no skill 'b'/);
    expect(JSON.stringify(results)).not.toMatch(/hunter2|root:/);
  });

  it('gives a large file in parts', async () => {
    const dir = skillsDir();
    put(dir, 'a/SKILL.md', `${front('a', 'A.')}text`);
    put(dir, 'a/large.txt', `${'x'.repeat(256 * 1024)}the end`);
    const [first, rest] = await load(
      dir,
      { name: 'a', file: 'large.txt' },
      { name: 'a', file: 'large.txt', offset: 256 * 1024 },
    );
    expect(first).toMatch(/\[cut here: 7 more bytes, go on with offset 262144\]$/);
    expect(rest).toBe('the end');
  });

  it('leaves out what is no skill, with a reason, and has the others', async () => {
    const dir = skillsDir();
    put(dir, 'good/SKILL.md', front('good', 'Works.'));
    put(dir, 'no-front/SKILL.md', '# Nothing');
    put(dir, 'bad-yaml/SKILL.md', '---\nname: [\n---\n');
    put(dir, 'bad-name/SKILL.md', front('../etc', 'A.'));
    put(dir, 'no-description/SKILL.md', '---\nname: no-description\n---\n');
    put(dir, 'twice/SKILL.md', front('good', 'Again.'));
    put(dir, 'unfinished/SKILL.md', '---\nname: unfinished\n');
    put(dir, 'aliases/SKILL.md', '---\nname: &a aliases\ndescription: *a\n---\n');
    put(dir, 'empty/other.md', '');
    put(dir, 'file.md', 'no folder');
    symlinkSync(join(dir, 'good'), join(dir, 'linked'));
    const { folder } = await serveSkills('fetch', dir, []);
    expect(folder.skills).toMatchObject([{ name: 'good', description: 'Works.' }]);
    const left = folder.problems.map(({ path }) => path.slice(path.lastIndexOf('/') + 1));
    expect(left).toEqual([
      ...['aliases', 'bad-name', 'bad-yaml', 'empty', 'linked', 'no-description', 'no-front'],
      ...['twice', 'unfinished'],
    ]);
    for (const { message } of folder.problems) expect(message.length).toBeGreaterThan(10);
  });

  it('has the text of a line that is no YAML', async () => {
    const dir = skillsDir();
    put(dir, 'colon/SKILL.md', front('colon', 'Use it when: a form is to be filled # in haste'));
    put(
      dir,
      'hint/SKILL.md',
      `---\nargument-hint: [file] [page]\r\n${front('hint', '`pdf` files').slice(4)}`,
    );
    put(dir, 'folded/SKILL.md', front('folded', 'Use it when: a form\n  is to be filled'));
    const { folder } = await serveSkills('fetch', dir, []);
    expect(folder.skills).toMatchObject([
      { name: 'colon', description: 'Use it when: a form is to be filled' },
      { name: 'hint', description: '`pdf` files' },
    ]);
    expect(folder.problems).toHaveLength(1);
  });

  it('is not taken where there is none, or for wrong options', async () => {
    const { api } = await serveSkills('fetch', skillsDir(), []);
    const skills = (...given: unknown[]) =>
      (api.runtime.skills as (...args: unknown[]) => void)(...given);
    expect(() => skills('/does/not/exist')).toThrow(/cannot be read/);
    expect(() => skills(1)).toThrow(expect.objectContaining({ code: 'invalid_argument' }));
    expect(() => skills('.', { agents: 'agent' })).toThrow(/list of names/);
    expect(() => skills('.', { agent: [] })).toThrow(/Did you mean 'agents'/);
  });
});

describe('changes of skills', () => {
  it('are there for the next run: new, changed and removed ones', async () => {
    const dir = skillsDir();
    put(dir, 'a/SKILL.md', front('a', 'First.'));
    const { api, model, folder } = await serveSkills('fetch', dir, []);
    await runJob(api, 'one');
    expect(systemOf(model, 0)).toMatch(/\n- a: First\.$/);
    put(dir, 'a/SKILL.md', front('a', 'Second one.'));
    put(dir, 'b/SKILL.md', front('b', 'New.'));
    while (folder.skills.length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
    await runJob(api, 'two');
    expect(systemOf(model, 1)).toMatch(/\n- a: Second one\.\n- b: New\.$/);
    rmSync(join(dir, 'a'), { recursive: true });
    rmSync(join(dir, 'b'), { recursive: true });
    folder.reload();
    await runJob(api, 'three');
    expect(systemOf(model, 2)).toBe('Be brief.');
    expect(toolsOf(model, 2)).toEqual([]);
  });

  it('reach the agents that are named, and no other', async () => {
    const dir = skillsDir();
    put(dir, 'a/SKILL.md', front('a', 'For the other one.'));
    const { api, model } = await serveSkills('fetch', dir, [{ text: 'plain' }], ['other']);
    const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
    const { runtime } = api;
    const other = createAgent({ model: 'openai:scripted', provider, runtime, name: 'other' });
    await runJob(api, 'hello');
    expect(systemOf(model, 0)).toBe('Be brief.');
    await other.run('hello').text();
    expect(systemOf(model, 1)).toMatch(/- a: For the other one\./);
    expect(toolsOf(model, 1)).toEqual(['load_skill']);
  });
});
