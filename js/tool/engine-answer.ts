// Calls the engine's agent room: pure functions by name, plain values in and out.
import { addon } from '../addon';
import { rethrow } from '../errors';
import { toJson } from '../serialize';

const compiled = new Map<string, RegExp | undefined>();

// Patterns are JavaScript's; what one that does not compile means is the engine's to say.
export function matchesRegex(pattern: string, text: string): boolean | undefined {
  if (!compiled.has(pattern)) {
    let regex: RegExp | undefined;
    try {
      regex = new RegExp(pattern);
    } catch {
      regex = undefined;
    }
    if (compiled.size > 500) compiled.clear();
    compiled.set(pattern, regex);
  }
  return compiled.get(pattern)?.test(text);
}

/** What the engine's function of this name answers. */
export function engineAnswer<Answer>(name: string, question: object): Answer {
  return requestJson<Answer>(name, toJson(question, 'question'));
}

/** The same with a question that is JSON text already. */
export function requestJson<Answer>(name: string, requestJson: string): Answer {
  try {
    return JSON.parse(addon().agentAnswer(name, requestJson, Date.now(), matchesRegex)) as Answer;
  } catch (error) {
    rethrow(error);
  }
}
