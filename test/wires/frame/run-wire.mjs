// One wire from beginning to end, in a process of its own:
//   node run-wire.mjs NAME RESULT_FILE [--seed N]
import { readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { playEncoders } from './encoders.mjs';
import { furtherMembers } from './further.mjs';
import { exceptionsOf, unseenOf } from './lists.mjs';
import { cuts } from './cuts.mjs';
import { orders } from './order.mjs';
import { headers, parameters } from './parameters.mjs';
import { playRecordings } from './recordings.mjs';
import { selfTest } from './self-test.mjs';
import { startVendor } from './server.mjs';
import { eventMembers } from './stream-events.mjs';
import { Ways } from './ways.mjs';

const vendors = join(dirname(dirname(fileURLToPath(import.meta.url))), 'vendors');
const [name, file] = process.argv.slice(2);
const seed = Number(process.argv[process.argv.indexOf('--seed') + 1]);

async function wireOf(one) {
  return (await import(join(vendors, `${one}.mjs`))).default;
}

async function wiresOf() {
  const names = readdirSync(vendors).filter((found) => !found.endsWith('-stream.mjs'));
  return Promise.all(names.map((found) => wireOf(found.replace(/\.mjs$/, ''))));
}

// The other vendors that a history can be sent to.
async function othersOf(one) {
  return (await wiresOf()).filter(({ provider, name: other }) => provider && other !== one);
}

/** Sends everything of a wire. */
export async function play(ways, others) {
  await ways.subjects();
  await eventMembers(ways);
  await ways.history();
  await parameters(ways);
  await headers(ways);
  await ways.into(others);
  if (ways.drops.size > 0) return { order: {}, cut: 0, further: {} };
  return {
    order: await orders(ways),
    cut: await cuts(ways),
    further: await furtherMembers(ways),
  };
}

// Rows that are lost but excepted for a reason.
function except(rows, exceptions) {
  for (const row of rows) {
    if (row.end !== 'lost') continue;
    const found = exceptions.find((one) => one.row.test(row.row) && one.way.test(row.way));
    if (!found) continue;
    found.used = true;
    Object.assign(row, { end: 'excepted', place: `[${found.reason}](${found.link})` });
  }
}

// What is no wire of a vendor: the encoders, which get the answers of those that are called, and the recordings.
async function withoutSdk(title, sent) {
  const started = performance.now();
  const vendor = await startVendor();
  const { ends, counts, unread = [] } = await sent(vendor);
  const rows = ends.list();
  const exceptions = exceptionsOf(name);
  except(rows, exceptions);
  vendor.close();
  const unused = exceptions.filter(({ used }) => !used);
  const problems = [
    ...unused.map(({ rows: row }) => `nothing is lost at the exception ${row}`),
    ...unread.map((file) => `the recording ${file} is of no wire that is known here`),
  ];
  const none = { order: {}, cut: 0, test: { dropped: [], wrong: [] } };
  finish({ name, title, sdk: '@ag-ui/core', rows, problems, counts, ...none }, started);
}

function finish(result, started) {
  const seconds = Math.round(performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage();
  const cpu = Math.round((user + system) / 100_000) / 10;
  writeFileSync(file, JSON.stringify({ ...result, seconds, cpu }));
}

async function main() {
  if (name === 'encoders') {
    return withoutSdk('Encoders', async (vendor) => playEncoders(await othersOf(name), vendor));
  }
  if (name === 'recordings') {
    return withoutSdk('Recorded answers', async () => playRecordings(await wiresOf()));
  }
  const started = performance.now();
  const wire = await wireOf(name);
  const vendor = await startVendor();
  const ways = new Ways(wire, vendor);
  const others = await othersOf(name);
  const { order, cut, further } = await play(ways, others);
  const rows = ways.ends.list();
  const problems = [
    ...new Set(ways.refusals),
    ...further.lost.map((place) => `a further member does not go back: ${place}`),
  ];
  const test = await selfTest(
    ways,
    (drops) => new Ways(wire, vendor, { drops, sdk: false }),
    (second) => play(second, others),
    seed,
  );
  const exceptions = exceptionsOf(name);
  except(rows, exceptions);
  const unseen = unseenOf(name);
  for (const row of ways.sdkOnly) {
    const known = unseen.find((one) => one.row.test(row));
    if (known) known.used = true;
    else problems.push(`the SDK's own client does not show ${row}`);
  }
  for (const one of exceptions)
    if (!one.used) problems.push(`nothing is lost at the exception ${one.rows}`);
  for (const one of unseen)
    if (!one.used) problems.push(`the SDK shows what is listed as unseen: ${one.rows}`);
  vendor.close();
  const { title, sdk } = wire;
  const { counts } = ways;
  const found = { rows, problems, order, cut, further: further.sent, counts, test };
  return finish({ name, title, sdk, ...found }, started);
}

await main();
process.exit(0);
