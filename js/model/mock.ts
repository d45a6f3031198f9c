// An answer that no provider gave, for tests and benchmarks: `mockResponse` of a payload.
import { setTimeout as sleep } from 'node:timers/promises';

import type { ChatStreamPayload } from '../../types/model';
import type { ProviderSettings } from './settings';

const defaultChunks = ['This ', 'is ', 'a ', 'mock ', 'response.'];
const defaultDelayMs = 50;

/** Settings of a provider that mockedFetch answers for. */
export function mockedSettings(provider: string): ProviderSettings {
  const baseURL = 'http://mock.invalid';
  return {
    baseURL,
    maxRetries: 0,
    custom: { name: provider, dialect: 'openai_chat', auth: 'none', baseURL },
  };
}

/** Answers with the payload's chunks, one after the other. */
export function mockedFetch(payload: ChatStreamPayload): typeof fetch {
  return async (_, init) => {
    const { mockChunks = defaultChunks, mockDelayMs = defaultDelayMs } = payload;
    const answer = recordsOf(mockChunks, mockDelayMs, init?.signal ?? undefined);
    const encoder = new TextEncoder();
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { value, done } = await answer.next();
        if (done === true) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
      async cancel() {
        await answer.return(undefined);
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  };
}

async function* recordsOf(
  chunks: readonly string[],
  delayMs: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<string, undefined> {
  for (const content of chunks) {
    await sleep(delayMs, undefined, signal ? { signal } : {});
    yield record({ delta: { content } });
  }
  yield `${record({ delta: {}, finish_reason: 'stop' })}data: [DONE]\n\n`;
  return undefined;
}

function record(choice: object): string {
  return `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`;
}
