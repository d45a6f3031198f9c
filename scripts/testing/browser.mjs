// The browser that works with pages: the machine's Chromium, or the one that CHROMIUM names.
import { existsSync } from 'node:fs';

const paths = [
  process.env.CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

/** Its path; without any, an error says what to install. */
export function browserPath() {
  const found = paths.find((path) => path && existsSync(path));
  if (found) return found;
  throw new Error(
    'No Chromium was found: install one (apt-get install chromium) or name it in CHROMIUM.',
  );
}

/** What playwright's `launch` takes for a browser that asks nothing of the network by itself. */
export const launchOptions = () => ({
  executablePath: browserPath(),
  headless: true,
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
});
