// A provider for an Engine that answers from a script and remembers what it was asked.
/* eslint-disable @typescript-eslint/no-explicit-any */

/** A call of a tool as a model makes it. */
export const toolCall = (name: string, args = '{}', id = name) => ({
  id,
  type: 'function' as const,
  function: { name, arguments: args },
});

/** Gives one answer after the other, then `end`; an Error is thrown. */
export const scripted = (...answers: any[]) => {
  const requested: any[] = [];
  return {
    asked: requested,
    chat: async (request: any) => {
      requested.push(structuredClone(request));
      const answer = answers.shift() ?? { content: 'end' };
      if (answer instanceof Error) throw answer;
      return {
        message: { role: 'assistant', ...answer },
        usage: { prompt_tokens: 2, completion_tokens: 1 },
      };
    },
  };
};

/** What the model read of its calls. */
export const resultsOf = ({ messages }: { messages: any[] }) =>
  messages.filter(({ role }) => role === 'tool').map(({ content }) => content as unknown);
