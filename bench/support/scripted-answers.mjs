// The answers of the scripted model, turn by turn: nine calls of the tool `noop`, then a text, as OpenAI's chat API
// streams them. Which turn it is, the results in the request say.
export const steps = 10;

const end =
  'data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}\n\n' +
  'data: [DONE]\n\n';

const answers = Array.from({ length: steps }, (_, turn) => {
  const frame = (delta, finish_reason = null) =>
    `data: ${JSON.stringify({ id: `x${turn}`, choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  const first = frame({ role: 'assistant', content: '' });
  if (turn === steps - 1) return first + frame({ content: 'The end.' }) + frame({}, 'stop') + end;
  const head = { index: 0, id: `c${turn}`, type: 'function' };
  const named = { ...head, function: { name: 'noop', arguments: '' } };
  const args = { index: 0, function: { arguments: JSON.stringify({ value: `step ${turn}` }) } };
  return (
    first +
    frame({ tool_calls: [named] }) +
    frame({ tool_calls: [args] }) +
    frame({}, 'tool_calls') +
    end
  );
});

/** What the model answers to the body of a request. */
export function answerTo(body) {
  return answers[body.split('"tool_call_id"').length - 1];
}
