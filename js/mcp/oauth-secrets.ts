// What an authorization server answers may repeat what it was sent, or hold secrets of its own: neither
// belongs into an error.
import { jsonOf } from '../plain-values';
import type { JsonAnswer } from './oauth-discovery';

const secretMembers = ['access_token', 'refresh_token', 'id_token', 'client_secret'];
// What is shorter may stand anywhere by chance.
const leastLength = 8;

/** The answer as it may be told; `sent` are the secrets of the request. */
export function withoutSecrets(
  answer: JsonAnswer,
  sent: readonly (string | undefined)[] = [],
): JsonAnswer {
  const members = (answer.json ?? {}) as Record<string, unknown>;
  const own = secretMembers.map((name) => members[name]);
  let { text } = answer;
  for (const secret of [...sent, ...own]) {
    if (typeof secret !== 'string' || secret.length < leastLength) continue;
    const inJson = JSON.stringify(secret).slice(1, -1);
    for (const form of [secret, inJson, encodeURIComponent(secret)]) {
      text = text.replaceAll(form, '[redacted]');
    }
  }
  return { ...answer, text, json: answer.json === undefined ? undefined : jsonOf(text) };
}
