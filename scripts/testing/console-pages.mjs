// What a person does with the page at `/`, in a real browser, at three widths and in light and dark.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { hostileText, slowText } from './console-model.mjs';
import { must, same, watch } from './scenes.mjs';

const sizes = [
  { name: 'phone', width: 390, height: 844, colorScheme: 'dark', hasTouch: true },
  { name: 'tablet', width: 820, height: 1100, colorScheme: 'light' },
  { name: 'desktop', width: 1360, height: 860, colorScheme: 'light' },
];

// Red, one dot.
const image = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8Dwn4EIAAAq/gMBqz5bXwAAAABJRU5ErkJggg==',
  'base64',
);

/** What a person can do with a page. */
class Person {
  constructor(page, size) {
    this.page = page;
    this.size = size;
  }

  button = (name) => this.page.getByRole('button', { name, exact: true });
  answers = (state) => this.page.locator(`[data-role=assistant][data-state=${state}]`);

  async ask(text) {
    await this.page.getByLabel('Message', { exact: true }).fill(text);
    await this.page.keyboard.press('Enter');
  }
  done = () => this.answers('done').last().waitFor();
  textOf = async (state) =>
    (await this.answers(state).last().locator('.markdown').innerText()).trim();
  async written(word) {
    await this.answers('working').filter({ hasText: word }).waitFor();
  }
  async menu() {
    if (this.size.name === 'phone') await this.button('Open menu').click();
  }
  async closeMenu() {
    if (this.size.name === 'phone') await this.button('Close menu').click();
  }
}

// --- scenes: (person, site) => ..., where the site has its servers' addresses

async function send(person, { scripted }) {
  const { page } = person;
  await page.goto(scripted.url);
  await person.ask('Make a plan, please.');
  await person.done();
  await page.getByRole('heading', { name: 'A short plan' }).waitFor();
  await page.locator('.message-footer').filter({ hasText: '55 tokens' }).waitFor();
  const reasoning = page.locator('.reasoning-text');
  must(!(await reasoning.isVisible()), 'the reasoning is open');
  await page.locator('.reasoning summary').press('Enter');
  must((await reasoning.innerText()).includes('I begin with the numbers'), 'no reasoning');
  // The reader may come back, and has it all again.
  await page.reload();
  await page.locator('.reasoning summary').click();
  await person.ask('Thank you');
  await person.answers('done').nth(1).waitFor();
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  must(wide <= 0, `the page is ${wide} px wider than the screen`);
}

async function stop(person, { scripted }) {
  await person.page.goto(scripted.url);
  await person.ask('slow');
  await person.written('word5');
  await person.button('Stop').click();
  await person.answers('cancelled').waitFor();
  const text = await person.textOf('cancelled');
  must(slowText.startsWith(text) && text.length < slowText.length, `it is not cut: ${text}`);
  await person.button('Answer again').click();
  await person.done();
  same(await person.textOf('done'), slowText, 'the answer that was made again');
  await person.ask('And now?');
  await person.answers('done').nth(1).waitFor();
  same(await person.page.locator('[data-role=user]').count(), 2, 'messages');
}

// A message that is sent while an answer is made: it waits, is taken back, or cuts the answer.
async function busy(person, { scripted }) {
  const { page } = person;
  await page.goto(scripted.url);
  await person.ask('endless');
  await person.written('word3');
  await person.ask('Never mind.');
  await person.answers('queued').waitFor();
  await person.button('Take the message back').click();
  await person.answers('queued').waitFor({ state: 'detached' });
  same(await page.locator('[data-role=user]').count(), 1, 'messages behind the one taken back');
  await person.ask('And then?');
  await person.answers('queued').waitFor();
  await page.reload();
  await person.answers('queued').waitFor();
  await page.locator('[data-role=user]').filter({ hasText: 'And then?' }).waitFor();
  await person.written('word5');
  await page.getByLabel('While the answer runs').selectOption('interrupt');
  await person.ask('Shorter, please.');
  await person.answers('done').nth(2).waitFor();
  const turns = page.locator('[data-role]');
  const shown = async () => {
    // What only the log has is there once the tokens of both runs are.
    await page.locator('.message-footer').filter({ hasText: 'tokens' }).nth(1).waitFor();
    const texts = await turns.evaluateAll((all) =>
      all.map((one) => (one.querySelector('.bubble, .markdown') ?? one).textContent.trim()),
    );
    return texts.map((text) => (text.startsWith('word1 word2') ? 'the cut answer' : text));
  };
  const short = 'A short answer.';
  const wanted = ['endless', 'the cut answer', 'Shorter, please.', short, 'And then?', short];
  same((await shown()).join(' | '), wanted.join(' | '), 'the conversation');
  await page.reload();
  await person.answers('done').nth(2).waitFor();
  same((await shown()).join(' | '), wanted.join(' | '), 'the conversation after a reload');
  const cut = await person.answers('done').first().innerText();
  must(!cut.includes(short), `the cut answer has what followed: ${cut}`);
  same(await person.answers('done').locator('.markdown').count(), 3, 'texts');
}

// More for an answer: it takes the message once the model has written to its end.
async function steer(person, { scripted }) {
  const { page } = person;
  await page.goto(scripted.url);
  await person.ask('slow');
  await person.written('word3');
  await page.getByLabel('While the answer runs').selectOption('steer');
  await person.ask('And more.');
  await page.locator('[data-role=user][data-state=sent]').waitFor();
  await person.answers('done').nth(1).waitFor();
  same(await page.locator('[data-state=sent]').count(), 0, 'messages that wait');
  same(await page.locator('[data-role=user]').count(), 2, 'messages');
  same(await person.textOf('done'), 'A short answer.', 'the second part');
}

async function reload(person, { scripted }) {
  await person.page.goto(scripted.url);
  await person.ask('slow');
  await person.written('word5');
  await person.page.reload();
  await person.written('word12');
  await person.done();
  same(await person.textOf('done'), slowText, 'the answer after a reload');
  same(await person.page.locator('[data-role=user]').count(), 1, 'messages');
}

async function killAndRestart(person, { scripted }) {
  await person.page.goto(scripted.url);
  await person.ask('slow');
  await person.written('word8');
  await scripted.kill();
  await person.page.getByText('The server cannot be reached').waitFor();
  await scripted.start();
  await person.done();
  same(await person.textOf('done'), slowText, 'the answer after a restart');
  must(!(await person.page.getByText('The server cannot be reached').isVisible()), 'still away');
  await person.page.reload();
  await person.done();
  same(await person.textOf('done'), slowText, 'the answer that is stored');
}

async function approval(person, { demo }) {
  const { page } = person;
  await page.goto(demo.url);
  await person.ask('Write a postcard.');
  const card = page.getByRole('region', { name: 'Approval needed' });
  await card.filter({ hasText: 'send_postcard' }).waitFor();
  same((await card.locator('dd pre').allInnerTexts()).join('|'), 'Ada|Hello', 'the exact call');
  // It waits as long as it takes, also for a reader that comes back.
  await page.reload();
  await card.waitFor();
  await person.button('Approve').click();
  await person.done();
  const call = page.locator('.call');
  same(await call.getAttribute('data-state'), 'done', 'the call');
  await call.locator('summary').click();
  await call.getByText('The postcard to Ada is on its way').waitFor();
  await person.ask('Write a postcard.');
  await person.button('Deny').click();
  await person.answers('done').nth(1).waitFor();
  must(!(await card.isVisible()), 'the denied call is still open');
  same(await call.last().getAttribute('data-state'), 'refused', 'the denied call');
  await call.last().getByText('refused', { exact: true }).waitFor();
}

async function hostile(person, { scripted }) {
  const { page } = person;
  await page.goto(scripted.url);
  await person.ask('hostile');
  await person.done();
  const inside = await person.answers('done').evaluate((answer) => ({
    hacked: window.hacked,
    tags: [...answer.querySelectorAll('script, iframe, style, img, object, embed, form, base')]
      .length,
    handlers: [...answer.querySelectorAll('*')].filter((one) =>
      one.getAttributeNames().some((name) => name.startsWith('on')),
    ).length,
    links: [...answer.querySelectorAll('a')].map((one) => one.href),
  }));
  same(inside.hacked, undefined, 'a script ran');
  same(inside.tags + inside.handlers, 0, 'elements of the model');
  const isFine = (link) => /^https:\/\/(ok|evil)\.example\//.test(link);
  must(inside.links.every(isFine), `links: ${inside.links.join(' ')}`);
  must(inside.links.includes('https://ok.example/path'), 'the good link is gone');
  must((await page.locator('body').isVisible()) && hostileText.length > 0, 'the page is gone');
}

async function attachments(person, { scripted }) {
  const { page } = person;
  await page.goto(scripted.url);
  await page.locator('input[type=file]').setInputFiles([
    { name: 'dot.png', mimeType: 'image/png', buffer: image },
    { name: 'list.txt', mimeType: 'text/plain', buffer: Buffer.from('milk, eggs') },
  ]);
  await page.getByLabel('Files to send').getByText('10 B').waitFor();
  await person.ask('Look at these.');
  await person.done();
  const shown = page.locator('[data-role=user] ul[aria-label=Attachments] img');
  const isDrawn = () => shown.evaluate((image) => image.decode().then(() => image.naturalWidth));
  await shown.waitFor();
  same(await isDrawn(), 1, 'the width of the image');
  await page.reload();
  await shown.waitFor();
  same(await isDrawn(), 1, 'the width of the stored image');
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: /list\.txt/ }).click();
  same(readFileSync(await (await download).path(), 'utf8'), 'milk, eggs', 'the file');
}

// Nothing but the keyboard.
async function keyboard(person, { scripted }) {
  const { page } = person;
  await page.goto(scripted.url);
  await page.getByLabel('Message', { exact: true }).focus();
  await page.keyboard.type('First of all');
  await page.keyboard.press('Enter');
  await person.done();
  if (person.size.name === 'phone') await person.button('Open menu').press('Enter');
  const row = page.getByRole('link', { name: /^First of all/ }).first();
  await row.waitFor();
  await page
    .getByRole('button', { name: /^Rename First of all/ })
    .first()
    .press('Enter');
  await page.keyboard.type('Renamed by hand');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Renamed by hand' }).waitFor();
  await person.button('Delete Renamed by hand').press('Enter');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  await person.button('Delete Renamed by hand').press('Enter');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Renamed by hand' }).waitFor({ state: 'detached' });
  same(await page.locator('[data-role=user]').count(), 0, 'messages that are left');
}

async function runs(person, { scripted }) {
  const { page } = person;
  await page.goto(scripted.url);
  await person.ask('Count this run.');
  await person.done();
  await person.menu();
  await page.getByRole('link', { name: 'Runs' }).click();
  const row = page.getByRole('row').filter({ hasText: 'Count this run' }).first();
  await row.filter({ hasText: '21 in, 34 out' }).filter({ hasText: 'done' }).waitFor();
  await row.getByRole('link').click();
  await page.locator('[data-role=user]').filter({ hasText: 'Count this run.' }).waitFor();
}

async function key(person, { closed }) {
  const { page } = person;
  await page.goto(closed.url);
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  await page.getByRole('textbox', { name: 'API key' }).fill('a wrong one');
  await page.keyboard.press('Enter');
  await dialog.filter({ hasText: 'with a key only' }).waitFor();
  await page.getByRole('textbox', { name: 'API key' }).fill(closed.key);
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'hidden' });
  await person.ask('Hello');
  await person.done();
  await page.reload();
  await person.done();
  must(!page.url().includes(closed.key), 'the key is in the address');
  const stored = await page.evaluate(() => JSON.stringify([localStorage, document.cookie]));
  must(!stored.includes(closed.key), 'the key outlives the tab');
}

async function accessible(person, { scripted, demo, axe }) {
  const { page } = person;
  const check = async (what) => {
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => globalThis.axe.run());
      const list = violations.map(
        ({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(' ; ')}`,
      );
      must(list.length === 0, `${what}, ${colorScheme}:\n  ${list.join('\n  ')}`);
    }
  };
  await page.goto(scripted.url);
  await page.getByText('What shall we work on?').waitFor();
  await check('the first view');
  await person.ask('Make a plan, please.');
  await person.done();
  await page.locator('.reasoning summary').click();
  await check('an answer');
  await page.goto(`${scripted.url}/#/runs`);
  await page.getByRole('table').waitFor();
  await check('the runs');
  await page.goto(demo.url);
  await person.ask('Write a postcard.');
  await page.getByRole('region', { name: 'Approval needed' }).waitFor();
  await page.locator('.call summary').click();
  await check('an approval');
  await person.menu();
  await page
    .getByRole('button', { name: /^Delete/ })
    .first()
    .press('Enter');
  await page.getByRole('dialog').waitFor();
  await check('a dialog');
}

const scenes = [
  ['an answer streams into the page, with its reasoning', send],
  ['an answer is stopped', stop],
  ['messages are sent while an answer runs', busy],
  ['an answer takes one more message', steer],
  ['a reload in mid-answer goes on', reload],
  ['an answer finishes after kill -9 and a restart', killAndRestart],
  ['a call runs once it was approved', approval],
  ['hostile Markdown does nothing', hostile],
  ['files are sent, and images shown', attachments],
  ['the keyboard is enough', keyboard],
  ['runs show states and tokens', runs],
  ['a key is taken where one is needed', key],
  ['axe finds nothing', accessible],
];

/** Plays every scene at every width; { passed, failed }. `servers(name)` starts servers of their own for each width. */
export async function playConsole({ servers, ...options }) {
  const all = await Promise.all(
    sizes.map(async (size) => {
      const site = await servers(size.name);
      try {
        return await playAt(size, site, options);
      } finally {
        await site.close();
      }
    }),
  );
  const sum = (name) => all.reduce((total, counts) => total + counts[name], 0);
  return { passed: sum('passed'), failed: sum('failed') };
}

async function playAt(size, site, { browser, reports, axe, only }) {
  const counts = { passed: 0, failed: 0 };
  const { name, width, height, ...more } = size;
  const { scripted, demo, closed } = site;
  const origins = new Set([scripted, demo, closed].map(({ url }) => new URL(url).origin));
  for (const [title, play] of scenes) {
    if (only && !title.includes(only)) continue;
    const context = await browser.newContext({ viewport: { width, height }, ...more });
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    const problems = [];
    const began = Date.now();
    watch(page, origins, problems);
    try {
      await play(new Person(page, size), { ...site, axe });
      must(problems.length === 0, problems.join('\n'));
      counts.passed++;
      console.log(`ok   ${name}: ${title} (${Date.now() - began} ms)`);
    } catch (error) {
      counts.failed++;
      console.error(`FAIL ${name}: ${title}\n${error.stack}`);
    } finally {
      const file = `page-${name}-${title.replaceAll(/\W+/g, '-')}.png`;
      await page.screenshot({ path: join(reports, file) }).catch(() => undefined);
      await context.close();
    }
  }
  return counts;
}
