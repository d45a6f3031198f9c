// What a person does with the page of an exported run, opened from a file in a real browser.
import { createRequire } from 'node:module';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { hostileText, startConsoleModel } from './console-model.mjs';
import { must } from './scenes.mjs';

// A run whose text, name, arguments and messages are hostile. Gives the address of its page.
async function exportedPage(millrace, folder, question) {
  const { createAgent, createRuntime } = millrace;
  const model = await startConsoleModel();
  const runtime = createRuntime({ storage: 'memory' });
  try {
    const agent = createAgent({
      ...{ model: 'openai:scripted', provider: { baseURL: model.url, apiKey: 'none' } },
      ...{
        runtime,
        name: `player ${question} </title></script><script>window.hacked = 20</script>`,
      },
    });
    const run = agent.run(`${question} </script><img src=x onerror="window.hacked = 21">`);
    await run.text();
    const path = join(folder, `${run.id}.html`);
    await writeFile(path, runtime.export(run.id));
    return pathToFileURL(path).href;
  } finally {
    await runtime.close();
    model.close();
  }
}

async function readsHostileText({ page, requests, open }) {
  const address = await open('hostile');
  const answer = page.locator('.block.text .body');
  // All of it is text.
  must((await answer.textContent()) === hostileText, `the text is ${await answer.textContent()}`);
  must((await page.title()).includes('<script>'), 'the title has no text of the name');
  must(
    (await page.locator('img, iframe, a, details, .block script').count()) === 0,
    'there is markup',
  );
  must((await page.evaluate(() => window.hacked)) === undefined, 'a script of the run was run');
  must(
    requests.every((url) => url === address),
    `it asked for ${requests.join(' ')}`,
  );
}

async function playsAndSeeks({ page, open }) {
  await open('slow');
  const text = () =>
    page.evaluate(() => document.querySelector('.block.text .body')?.textContent ?? '');
  const whole = await text();
  must(whole.endsWith('word60'), 'the end is not shown first');
  await page.getByRole('button', { name: 'Play again' }).click();
  await page.waitForFunction(() => {
    const shown = document.querySelector('.block.text .body')?.textContent ?? '';
    return shown.includes('word5') && !shown.includes('word55');
  });
  await page.getByRole('button', { name: 'Pause' }).click();
  const paused = await text();
  await page.waitForTimeout(300);
  must((await text()) === paused, 'it goes on while it is paused');
  await page.getByLabel('Speed').selectOption('20');
  await page.getByRole('button', { name: 'Play' }).click();
  await page.getByRole('button', { name: 'Play again' }).waitFor();
  must((await text()) === whole, 'it does not end with the whole text');
  await page.getByLabel('Time in the run').fill('0');
  must((await text()) === '', 'something is shown before it begins');
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  must(wide <= 0, `the page is ${wide} px wider than the screen`);
}

const scenes = { 'reads hostile text': readsHostileText, 'plays and seeks': playsAndSeeks };

/** Plays every scene with the package in `app`; { passed, failed }. */
export async function playExports({ browser, reports, app, folder }) {
  const millrace = createRequire(join(app, 'package.json'))('millrace');
  const counts = { passed: 0, failed: 0 };
  for (const [title, play] of Object.entries(scenes)) {
    const page = await browser.newPage({ viewport: { width: 390, height: 844 } });
    page.setDefaultTimeout(20_000);
    const requests = [];
    const problems = [];
    page.on('request', (request) => requests.push(request.url()));
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (message) => problems.push(message.text()));
    const open = async (question) => {
      const address = await exportedPage(millrace, folder, question);
      await page.goto(address);
      await page.locator('.block.end').waitFor();
      return address;
    };
    try {
      await play({ page, requests, open });
      must(problems.length === 0, problems.join('\n'));
      counts.passed++;
      console.log(`ok   an exported run ${title}`);
    } catch (error) {
      counts.failed++;
      console.error(`FAIL an exported run ${title}\n${error.stack}`);
    } finally {
      const name = `e2e-export-${title.replaceAll(' ', '-')}.png`;
      await page.screenshot({ path: join(reports, name), fullPage: true }).catch(() => undefined);
      await page.close();
    }
  }
  return counts;
}
