// What an authorization server answers may repeat what it was sent, or hold secrets of its own: neither
// belongs into an error.
import { jsonOf } from '../plain-values';
import { withoutTexts } from '../secret-text';
import type { JsonAnswer } from './oauth-discovery';

const secretMembers = ['access_token', 'refresh_token', 'id_token', 'client_secret'];

/** The answer as it may be told; `sent` are the secrets of the request. */
export function withoutSecrets(
  answer: JsonAnswer,
  sent: readonly (string | undefined)[] = [],
): JsonAnswer {
  const members = (answer.json ?? {}) as Record<string, unknown>;
  const own = secretMembers.map((name) => members[name]);
  const text = withoutTexts(answer.text, [...sent, ...own]);
  return { ...answer, text, json: answer.json === undefined ? undefined : jsonOf(text) };
}
