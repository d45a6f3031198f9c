// What a person does with the chat page of test/e2e/app, in a real browser.
import { createServer } from 'node:http';
import { join } from 'node:path';

import { launchOptions } from './browser.mjs';

// A model's server that says one word and then nothing; tells when its caller has left.
async function silentModel() {
  let left;
  const gone = new Promise((resolve) => (left = resolve));
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(
      'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"wait"}}]}\n\n',
    );
    response.on('close', left);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    gone,
    close: () => (server.closeAllConnections(), server.close()),
  };
}

const within = (milliseconds, promise, what) =>
  Promise.race([
    promise,
    new Promise((_, reject) =>
      setTimeout(
        () => reject(new Error(`not within ${milliseconds} ms: ${what}`)),
        milliseconds,
      ).unref(),
    ),
  ]);

/** Plays every scene; { passed, failed }. */
export async function playPages({ chromium, pages, reports, open, closed }) {
  const started = await chromium.launch(launchOptions());
  const counts = { passed: 0, failed: 0 };

  const scene = async (title, play) => {
    const page = await started.newPage();
    page.setDefaultTimeout(20_000);
    const problems = [];
    page.on('pageerror', (error) => problems.push(error.message));
    try {
      await play(page);
      if (problems.length > 0) throw new Error(problems.join('\n'));
      counts.passed++;
      console.log(`ok   ${title}`);
    } catch (error) {
      counts.failed++;
      console.error(`FAIL ${title}\n${error.stack}`);
    } finally {
      const name = `e2e-${title.replaceAll(/\W+/g, '-')}.png`;
      await page.screenshot({ path: join(reports, name) }).catch(() => undefined);
      await page.close();
    }
  };
  const say = async (page, text, query = '') => {
    await page.goto(`${pages}/${query}`);
    await page.getByLabel('Message').fill(text);
    await page.getByRole('button', { name: 'Send' }).click();
  };
  const row = (page, role) => page.locator(`[data-role=${role}]`);
  const idle = (page) =>
    page
      .getByTestId('state')
      .filter({ hasText: /^idle$/ })
      .waitFor();

  await scene('an answer streams into the page', async (page) => {
    await say(page, 'Hello there');
    await row(page, 'assistant').filter({ hasText: '[demo]' }).waitFor();
    // Words still come while the first are read.
    await page.getByTestId('state').filter({ hasText: 'running' }).waitFor();
    await idle(page);
  });
  await scene('a tool runs after a person approved it', async (page) => {
    await say(page, 'Write a postcard.');
    await page.getByRole('alert').filter({ hasText: 'send_postcard' }).waitFor();
    if ((await row(page, 'tool').count()) > 0)
      throw new Error('the tool ran before it was approved');
    await page.getByRole('button', { name: 'Approve' }).click();
    await row(page, 'tool').filter({ hasText: 'The postcard to Ada is on its way' }).waitFor();
    await idle(page);
  });
  await scene('a refused tool does not run', async (page) => {
    await say(page, 'Write a postcard.');
    await page.getByRole('button', { name: 'Refuse' }).click();
    await row(page, 'tool')
      .filter({ hasText: /refused/ })
      .waitFor();
    await idle(page);
  });
  await scene('a person stops an answer and asks again', async (page) => {
    await say(page, 'Hello there');
    await row(page, 'assistant').filter({ hasText: '[demo]' }).waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await idle(page);
    await page.getByLabel('Message').fill('Once more');
    await page.getByRole('button', { name: 'Send' }).click();
    await idle(page);
    if ((await row(page, 'user').count()) !== 2) throw new Error('a message was lost');
  });
  await scene('a failure is told', async (page) => {
    await say(page, 'Please fail.');
    await page
      .getByTestId('state')
      .filter({ hasText: /failed: .+/ })
      .waitFor();
  });
  await scene('the model is left when the page is closed', async (page) => {
    const model = await silentModel();
    try {
      await page.goto(pages);
      const request = `fetch('/api/chat?base=' + encodeURIComponent(${JSON.stringify(model.url)}), {
        method: 'POST', headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x' }] }),
      }).then((response) => response.body.getReader().read()).then(() => undefined)`;
      await page.evaluate(request);
      await page.goto('about:blank');
      await within(5_000, model.gone, 'the model was left');
    } finally {
      model.close();
    }
  });
  await scene('millrace serve answers a page that it allows', async (page) => {
    await say(page, 'Hello there', `?agent=${encodeURIComponent(`${open}/agent`)}`);
    await row(page, 'assistant').filter({ hasText: '[demo]' }).waitFor();
    await idle(page);
  });
  await scene('millrace serve refuses pages of other origins', async (page) => {
    await say(page, 'Hello there', `?agent=${encodeURIComponent(`${closed}/agent`)}`);
    await page
      .getByTestId('state')
      .filter({ hasText: /failed/ })
      .waitFor();
    if ((await row(page, 'assistant').count()) > 0) throw new Error('the page was answered');
  });
  await started.close();
  return counts;
}
