// Servers that do not know `json_schema`, although no setting says so.
interface Rejected {
  status?: unknown;
  message?: unknown;
  error?: unknown;
}

/**
 * Whether a provider rejected a request since it takes no JSON Schema for its answers.
 * Source: LobeHub's model-runtime (2026-11); DeepSeek says "This response_format type is unavailable now".
 */
export function rejectsFormat(error: unknown): boolean {
  const { status, message, error: received } = (error ?? {}) as Rejected;
  if (status !== 400 && status !== 422) return false;
  const text = `${String(message)} ${JSON.stringify(received) ?? ''}`;
  return format.test(text) && rejection.test(text) && !schema.test(text);
}

const format = /response_format|json_schema|structured.?output/i;
const rejection = /unavailable|unsupported|not (?:yet )?support|not (?:available|allowed)/i;
// Of the schema itself, which would be rejected elsewhere, too.
const schema = /invalid schema/i;
