// What a person does with the page of docs/openui.md, in a real browser.
import { join } from 'node:path';

import { endlessText, slowText } from './console-model.mjs';
import { must, same, watch } from './scenes.mjs';

const desktop = { viewport: { width: 1360, height: 860 } };
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true };

/** What a person can do with the page. */
class Person {
  constructor(page) {
    this.page = page;
  }

  button = (name) => this.page.getByRole('button', { name, exact: true });
  answers = () => this.page.locator('.openui-agent-thread-message-assistant');
  questions = () => this.page.locator('.openui-agent-thread-message-user');
  threads = () => this.page.locator('.openui-agent-thread-button-title');
  row = (title) => this.threads().filter({ hasText: title });

  async ask(text) {
    await this.page.getByRole('textbox').first().fill(text);
    await this.page.keyboard.press('Enter');
  }
  written = (text) => this.answers().last().filter({ hasText: text }).waitFor();
  done = () => this.button('Cancel message').waitFor({ state: 'detached' });
  textOf = async () => (await this.answers().last().innerText()).trim();
  async shown() {
    const all = await this.page.locator('.openui-agent-thread-messages > *').allInnerTexts();
    return all.map((text) => text.trim()).join(' | ');
  }
  async open(title) {
    await this.row(title).first().click();
    await this.questions().first().waitFor();
  }
}

async function json(server, path, options) {
  const response = await fetch(`${server.url}${path}`, { ...options, headers: server.headers });
  must(response.ok, `${path}: status ${response.status}`);
  return response.status === 204 ? undefined : response.json();
}

async function threadOf(server, title) {
  const { threads } = await json(server, '/api/storage/get');
  return threads.find((one) => one.title === title);
}

// --- scenes: (person, sites) => ...

async function send(person, { open }) {
  const { page } = person;
  await page.goto(open.page);
  await person.ask('Make a plan, please.');
  await person.written('Numbers without a place');
  await person.done();
  await person.ask('Thank you.');
  await person.written('A short answer.');
  await person.done();
  const before = await person.shown();
  await page.reload();
  await person.open('Make a plan, please.');
  same(await person.shown(), before, 'the messages that are stored');
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  must(wide <= 0, `the page is ${wide} px wider than the screen`);
}

async function sendByPhone(person, { open }) {
  await person.page.goto(open.page);
  await person.ask('Make a plan by phone.');
  await person.written('Numbers without a place');
  await person.done();
}

async function stop(person, { open }) {
  const { page } = person;
  await page.goto(open.page);
  await person.ask('endless, until it is stopped');
  await person.written('word5');
  await person.button('Cancel message').click();
  await person.done();
  const cut = await person.textOf();
  must(endlessText.startsWith(cut), `it is not cut: ${cut}`);
  // The next message may come while the run is being stopped.
  await person.ask('And now?');
  await person.written('A short answer.');
  await person.done();
  const { id } = await threadOf(open, 'endless, until it is stopped');
  const { runs } = await json(open, `/agent/runs?threadId=${id}`);
  same(runs.map(({ state }) => state).join(), 'completed,cancelled', 'the runs');
  const roles = (await json(open, `/api/storage/get/${id}`)).map(({ role }) => role);
  same(roles.join(), 'user,assistant,user,assistant', 'the stored messages');
}

async function queue(person, { open }) {
  const { page } = person;
  await page.goto(open.page);
  await person.ask('slow, and another one behind it');
  await person.written('word3');
  await page.reload();
  await person.open('slow, and another one behind it');
  await person.ask('What about this?');
  await person.written('A short answer.');
  await person.done();
  await page.reload();
  await person.open('slow, and another one behind it');
  const wanted = ['slow, and another one behind it', slowText, 'What about this?'];
  same(await person.shown(), [...wanted, 'A short answer.'].join(' | '), 'the thread');
}

async function switchThreads(person, { open }) {
  const { page } = person;
  await page.goto(open.page);
  await person.ask('First topic');
  await person.written('A short answer.');
  await person.button('New chat').click();
  await person.ask('Second topic');
  await person.written('A short answer.');
  await person.done();
  same(
    (await person.threads().allInnerTexts()).slice(0, 2).join(),
    'Second topic,First topic',
    'threads',
  );
  await person.open('First topic');
  same(await person.questions().allInnerTexts().then(String), 'First topic', 'the first thread');
  await person.open('Second topic');
  same(await person.questions().allInnerTexts().then(String), 'Second topic', 'the second thread');
}

async function rename(person, { open }) {
  const { page } = person;
  await page.goto(open.page);
  await person.ask('A name to be changed');
  await person.written('A short answer.');
  await person.done();
  page.once('dialog', (dialog) => void dialog.accept('Grüße & 100 % <b>'));
  await person.button('Rename').click();
  await person.row('Grüße & 100 % <b>').waitFor();
  await page.reload();
  await person.open('Grüße & 100 % <b>');
  same(await person.questions().innerText(), 'A name to be changed', 'the renamed thread');
  same(await person.row('A name to be changed').count(), 0, 'threads of the old name');
}

async function remove(person, { open }) {
  const { page } = person;
  await page.goto(open.page);
  await person.ask('endless, to be thrown away');
  await person.written('word3');
  // The answer goes on, and would hold the thread.
  await page.reload();
  await person.open('endless, to be thrown away');
  const { id } = await threadOf(open, 'endless, to be thrown away');
  const row = page.locator('.openui-agent-thread-button').filter({ hasText: 'thrown away' });
  await row.hover();
  await row.getByRole('button', { name: 'Thread actions' }).click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await row.waitFor({ state: 'detached' });
  await person.questions().waitFor({ state: 'detached' });
  await page.reload();
  await person.button('New chat').waitFor();
  same(await row.count(), 0, 'threads after a reload');
  same((await json(open, `/agent/runs?threadId=${id}`)).runs.length, 0, 'runs');
}

async function artifacts(person, { open }) {
  const { page } = person;
  await page.goto(open.page);
  await person.ask('Notes, please');
  await person.written('A short answer.');
  await person.done();
  const { id: threadId } = await threadOf(open, 'Notes, please');
  for (let at = 1; at <= 25; at += 1) {
    const id = `note-${at}`;
    const title = at === 7 ? 'Costs of "May"' : `Note number ${at}`;
    const type = at === 3 ? 'table' : 'note';
    const artifact = { id, title, type, threadId, content: { id, title, text: `text ${at}` } };
    await json(open, '/api/storage/artifacts', { method: 'POST', body: JSON.stringify(artifact) });
  }
  const cards = page.locator('.openui-agent-artifact-browser__item');
  await person.button('Notes').click();
  await cards.nth(19).waitFor();
  await person.button('Load more').click();
  await cards.nth(23).waitFor();
  same(await cards.count(), 24, 'notes');
  same(await cards.filter({ hasText: 'Note number 3' }).count(), 0, 'artifacts of another type');
  await page.getByLabel('Search artifacts by title').fill('costs of "');
  await cards.nth(1).waitFor({ state: 'detached' });
  await cards.first().click();
  const text = page.getByRole('textbox', { name: 'Costs of' });
  same(await text.inputValue(), 'text 7', 'the text');
  await text.fill('text that was changed');
  const saved = page.waitForResponse((response) => response.request().method() === 'PATCH');
  await person.button('Save').click();
  same((await saved).status(), 200, 'the status of the change');
  const { content } = await json(open, '/api/storage/artifacts/note-7');
  same(content.text, 'text that was changed', 'the stored text');
  await person.button('Go to thread').click();
  same(await person.questions().innerText(), 'Notes, please', 'the thread of the artifact');
}

async function reload(person, { open, model }) {
  const { page } = person;
  await page.goto(open.page);
  await person.ask('held, with a reload');
  await person.written('word5');
  await page.reload();
  await person.open('held, with a reload');
  await person.written('word12');
  must(!(await person.textOf()).includes('word60'), 'it is shown at its end alone');
  model.release('held, with a reload');
  await person.written('word60');
  same(await person.textOf(), slowText, 'the answer after a reload');
  await page.reload();
  await person.open('held, with a reload');
  same(await person.textOf(), slowText, 'the stored answer');
  same(await person.answers().count(), 1, 'answers');
}

async function killAndRestart(person, { open, model }) {
  const { page } = person;
  await page.goto(open.page);
  await person.ask('held, with a crash');
  await person.written('word8');
  await open.kill();
  await page.getByText('Something went wrong').waitFor();
  await open.start();
  await page.reload();
  await person.open('held, with a crash');
  model.release('held, with a crash');
  await person.written('word60');
  same(await person.shown(), `held, with a crash | ${slowText}`, 'the thread after a restart');
  await page.reload();
  await person.open('held, with a crash');
  same(await person.shown(), `held, with a crash | ${slowText}`, 'the stored thread');
}

async function failure(person, { open }) {
  const { page } = person;
  await page.goto(open.page);
  await person.ask('This one is broken');
  await page.getByText('It is broken.').waitFor();
  await person.done();
  await person.ask('And this one?');
  await person.written('A short answer.');
}

async function key(person, { closed }) {
  const { page } = person;
  await page.goto(closed.keyless);
  await person.ask('Without a key');
  await page.getByText(/failed: 401/).waitFor();
  await page.goto(closed.page);
  await person.ask('endless, with a key');
  await person.written('word5');
  await person.button('Cancel message').click();
  await person.done();
  await person.ask('And now?');
  await person.written('A short answer.');
  await person.button('Notes').click();
  await page.getByText('No notes yet').waitFor();
}

async function ownAgent(person, { own }) {
  const { page } = person;
  await page.goto(own.page);
  await person.ask('Save a note.');
  await person.written('It is done.');
  await person.done();
  await person.button('Shopping').click();
  same(
    await page.getByRole('textbox', { name: 'Shopping' }).inputValue(),
    'milk, eggs',
    'the note beside the thread',
  );
  await page.reload();
  await person.open('Save a note.');
  await person.written('It is done.');
  await person.button('Shopping').waitFor();
  await person.button('Notes').click();
  await page.locator('.openui-agent-artifact-browser__item').click();
  await page.getByRole('textbox', { name: 'Shopping' }).waitFor();
  await page.getByRole('textbox', { name: 'Shopping' }).fill('milk, eggs, bread');
  await person.button('Save').click();
  await person.button('Back').click();
  await page.locator('.openui-agent-artifact-browser__item').click();
  await page.getByText('milk, eggs, bread').waitFor();
}

// The rows beside each other, each with servers of its own: one of them is killed.
const lanes = [
  [
    ['an answer streams into the page and is stored', send],
    ['an answer on a phone', sendByPhone, phone],
    ['an answer is stopped, and the next message answered', stop],
    ['threads are switched', switchThreads],
    ['a thread is renamed', rename],
    ['a thread is deleted while an answer is made', remove],
    ['artifacts are listed, filtered, opened and changed', artifacts],
  ],
  [
    ['a message waits for the answer before it', queue],
    ['a reload in mid-answer goes on', reload],
  ],
  [
    ['an answer finishes after kill -9 and a restart', killAndRestart],
    ['a failure is shown', failure],
    ['a key is sent where one is needed', key],
    ['a tool of an own server stores an artifact', ownAgent],
  ],
];

async function playScene([title, play, size = desktop], { browser, sites, reports }) {
  const context = await browser.newContext(size);
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const problems = [];
  const began = Date.now();
  watch(page, new Set([sites.open, sites.closed, sites.own].map(({ url }) => url)), problems);
  try {
    await play(new Person(page), sites);
    must(problems.length === 0, problems.join('\n'));
    console.log(`ok   ${title} (${Date.now() - began} ms)`);
    return true;
  } catch (error) {
    console.error(`failed: ${title}\n${error.stack}`);
    return false;
  } finally {
    const file = `openui-${title.replaceAll(/\W+/g, '-')}.png`;
    await page.screenshot({ path: join(reports, file) }).catch(() => undefined);
    await context.close();
  }
}

/** Plays every scene whose title has `only`; { passed, failed }. `start` gives servers, screenshots go into `reports`. */
export async function playOpenUi({ browser, start, reports, only = '' }) {
  const played = await Promise.all(
    lanes.map(async (scenes) => {
      const wanted = scenes.filter(([title]) => title.includes(only));
      if (wanted.length === 0) return [];
      const sites = await start();
      const results = [];
      try {
        for (const scene of wanted) {
          results.push(await playScene(scene, { browser, sites, reports }));
        }
      } finally {
        await sites.close();
      }
      return results;
    }),
  );
  const passed = played.flat().filter(Boolean).length;
  return { passed, failed: played.flat().length - passed };
}
