// Many chats at a time through one client; tells when their first tokens were seen.
import { clients } from '../support/clients.mjs';
import { options, report } from '../support/worker.mjs';

const { client, url, chats, spread, deltas, rate } = options;
const words = `[paced ${deltas} ${rate}]`;
// The clock that the provider's stamps are of.
const now = () => Number(process.hrtime.bigint()) / 1e6;

const sinceSent = [];
const sinceBegun = [];
// Compiled before it is measured.
const warm = await clients[client]({ url, words: '[paced 2 50]', onEvent: () => {} });
for (let round = 0; round < 5; round += 1) {
  await Promise.all(Array.from({ length: 20 }, () => warm()));
}

async function chat() {
  const begun = now();
  let seen = false;
  const read = await clients[client]({
    url,
    words,
    onEvent: (text) => {
      const stamp = seen ? undefined : /@@([\d.]+)@@/.exec(text);
      if (!stamp) return;
      seen = true;
      const at = now();
      sinceSent.push(at - Number(stamp[1]));
      sinceBegun.push(at - begun);
    },
  });
  await read();
}

const quantile = (values, q) =>
  values.sort((a, b) => a - b)[Math.floor(q * (values.length - 1))] ?? -1;
const started = now();
const running = [];
for (let begun = 0; begun < chats;) {
  const due = spread === 0 ? chats : Math.ceil(((now() - started) / spread) * chats);
  for (; begun < Math.min(due, chats); begun += 1) running.push(chat());
  if (begun < chats) await new Promise((resolve) => setTimeout(resolve, 1));
}
await Promise.all(running);
report({
  chats: sinceSent.length,
  p50: quantile(sinceSent, 0.5),
  p99: quantile(sinceSent, 0.99),
  begun50: quantile(sinceBegun, 0.5),
  begun99: quantile(sinceBegun, 0.99),
});
