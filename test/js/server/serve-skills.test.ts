// millrace serve --skills: what the agent of the server reads of a folder, and what it reads once that has changed.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { bareEnvironment } from '../../support/environment';
import { type ScriptedModel, startModel } from '../../support/scripted-model';

interface Probe {
  skills: { anthropic_skills: { items: object[] } };
}

const cli = join(__dirname, '../../../dist/cjs/cli/main.js');
const dir = mkdtempSync(join(tmpdir(), 'millrace-served-skills-'));
const closers: (() => unknown)[] = [() => rmSync(dir, { recursive: true, force: true })];
afterAll(async () => {
  for (const close of closers.reverse()) await close();
});

function put(name: string, description: string, text = ''): void {
  mkdirSync(join(dir, name), { recursive: true });
  const front = `---\nname: ${name}\ndescription: ${description}\n---\n`;
  writeFileSync(join(dir, name, 'SKILL.md'), front + text);
}

async function serve(model: ScriptedModel): Promise<{ url: string; errors: () => string }> {
  const args = ['serve', '--port', '0', '--json', '--skills', dir, '--system', 'Be brief.'];
  const more = ['--storage', `file:${join(dir, '.store.db')}`, '--model', 'openai:scripted'];
  const child: ChildProcess = spawn(process.execPath, [cli, ...args, ...more], {
    env: { ...bareEnvironment, OPENAI_API_KEY: 'k', OPENAI_BASE_URL: model.url },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  closers.push(async () => {
    child.kill();
    if (child.exitCode === null) await once(child, 'exit');
  });
  let errors = '';
  child.stderr?.on('data', (bytes) => (errors += String(bytes)));
  if (!child.stdout) throw new Error('there is no output');
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return { url: (JSON.parse(line) as { url: string }).url, errors: () => errors };
}

const run = async (url: string): Promise<string> => {
  const body = { threadId: 't', messages: [{ id: 'm', role: 'user', content: 'Go' }] };
  const headers = { 'content-type': 'application/json' };
  const call = { method: 'POST', headers, body: JSON.stringify(body) };
  return (await fetch(`${url}/agent`, call)).text();
};

const systemOf = ({ chatBodies }: ScriptedModel): string =>
  String(chatBodies.at(-1)?.messages.find(({ role }) => role === 'system')?.content);

it('offers the skills of a folder, loads them, and takes changes', async () => {
  put('greeting', 'How people are greeted.', 'Always say "Servus".');
  put('Wrong Name', 'Left out.');
  const model = await startModel((_body, index) =>
    index === 0
      ? { calls: [{ id: 'c1', name: 'load_skill', args: { name: 'greeting' } }] }
      : { text: 'Servus!' },
  );
  closers.push(() => model.close());
  const { url, errors } = await serve(model);
  expect(await run(url)).toMatch(/Servus!/);
  expect(systemOf(model)).toMatch(/^Be brief\.\n\n.*\n- greeting: How people are greeted\.$/);
  const result = model.chatBodies[1]?.messages.find(({ role }) => role === 'tool');
  expect(result?.content).toBe('Always say "Servus".');
  expect(errors()).toMatch(/A skill is left out: .*Wrong Name: `name` must be/);
  const probe = (await (await fetch(`${url}/api/v1/probes/internal`)).json()) as Probe;
  expect(probe.skills.anthropic_skills.items).toEqual([{ name: 'greeting', loaded: true }]);
  put('added', 'Came later.');
  while (!systemOf(model).includes('- added: Came later.')) await run(url);
}, 60_000);

it('is a wrong use where there is no such folder', () => {
  const { status, stderr } = spawnSync(process.execPath, [cli, 'serve', '--skills', '/none']);
  expect(status).toBe(2);
  expect(String(stderr)).toMatch(/--skills: the folder of skills '\/none' cannot be read/);
});
