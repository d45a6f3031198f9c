// What providers answer with.
import { createModelRuntime } from 'millrace';

import { stream } from '../../support/provider';
import { callOf, closedPort, payload, providerOf, rejected } from './kit';
import { sse } from '../support/responses';
import type { Rows } from './row';

const received = (message: string, more: object = {}) => ({ error: { message, ...more } });

const aws = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 's', region: 'us-east-1' } as never;

async function failedTooOften(): Promise<unknown> {
  const { url } = await providerOf((response) => void response.writeHead(500).end());
  const circuit = { failures: 1, windowMs: 60_000, pauseMs: 60_000 };
  const call = () => callOf(`${url}/v1`, { circuit }).text();
  await call().catch(() => undefined);
  return call();
}

export const providerRows: Rows = {
  provider_error: { provoke: rejected(500, received('the fuse blew')), says: 'the fuse blew' },
  provider_bad_request: {
    provoke: rejected(400, received("unknown parameter 'sparkle'")),
    says: 'sparkle',
  },
  authentication_failed: { provoke: rejected(401, received('bad key k9')), says: 'k9' },
  permission_denied: { provoke: rejected(403, received('not for project x')), says: 'project x' },
  model_not_found: {
    provoke: rejected(404, received('The model `m9` does not exist', { code: 'model_not_found' })),
    says: 'm9',
  },
  rate_limited: { provoke: rejected(429, received('Limit 30000 reached')), says: '30000' },
  insufficient_quota: {
    provoke: rejected(429, received('No credit for org-7', { code: 'insufficient_quota' })),
    says: 'org-7',
  },
  account_deactivated: {
    provoke: rejected(401, received('org-7 is gone', { code: 'account_deactivated' })),
    says: 'org-7',
  },
  location_not_supported: {
    provoke: rejected(
      403,
      received('No service in AQ', { code: 'unsupported_country_region_territory' }),
    ),
    says: 'AQ',
  },
  invalid_github_token: { provoke: rejected(401, received('bad token t9'), 'github'), says: 't9' },
  invalid_copilot_token: {
    native: ['model/response_error_test.cpp', 'ResponseError.ARejectedCopilotTokenHasItsOwnCode'],
  },
  invalid_bedrock_credentials: {
    provoke: rejected(
      403,
      { __type: 'UnrecognizedClientException', message: 'The security token is invalid.' },
      'bedrock',
      aws,
    ),
    says: 'security token',
  },
  invalid_vertex_credentials: {
    provoke: () =>
      createModelRuntime('vertexai', {
        apiKey: '{"client_email":"me@example"}',
        region: 'us-east1',
      })
        .stream(payload)
        .text(),
    says: 'private_key',
  },
  no_available_channel: {
    provoke: rejected(503, received('No available channel for model m9'), 'newapi'),
    says: 'm9',
  },
  ollama_unavailable: {
    provoke: async () => callOf(`http://127.0.0.1:${await closedPort()}`, {}, 'ollama').text(),
    says: /\*\*\*:\d+|ollama/i,
  },
  ollama_error: {
    provoke: rejected(400, { error: 'llama runner crashed' }, 'ollama'),
    says: 'llama runner crashed',
  },
  context_window_exceeded: {
    provoke: rejected(
      400,
      received('maximum context length is 128000 tokens', { code: 'context_length_exceeded' }),
    ),
    says: '128000',
  },
  tool_limit_exceeded: {
    provoke: rejected(
      400,
      received("Invalid 'tools': array too long. Expected an array with maximum length 128"),
    ),
    says: '128',
  },
  capability_not_supported: {
    provoke: () =>
      createModelRuntime('anthropic', { apiKey: 'k' }).embeddings({ model: 'm', input: 'x' }),
    says: /anthropic/i,
  },
  content_filtered: {
    provoke: rejected(400, received('Blocked: violence', { code: 'content_filter' })),
    says: 'violence',
  },
  output_limit_reached: {
    provoke: async () => {
      const cut = sse({
        choices: [{ index: 0, delta: { content: '{"a":' }, finish_reason: 'length' }],
      });
      const { url } = await providerOf(stream([cut, 'data: [DONE]\n\n']));
      const runtime = createModelRuntime('openai', { apiKey: 'k', baseURL: `${url}/v1` });
      const schema = { type: 'object', properties: { a: { type: 'integer' } } };
      return runtime.generateObject({ ...payload, schema }, { repairs: 0 });
    },
    says: 'max_tokens',
  },
  no_image_generated: {
    provoke: async () => {
      const { url } = await providerOf(
        (response) =>
          void response
            .writeHead(200, { 'content-type': 'application/json' })
            .end('{"data":[{"url":"javascript:alert(1)"}]}'),
      );
      const runtime = createModelRuntime('openai', { apiKey: 'k', baseURL: `${url}/v1` });
      return runtime.createImage({ model: 'm', params: { prompt: 'a cat' } });
    },
    says: 'image',
  },
  circuit_open: { provoke: failedTooOften, says: /openai failed 1 time/ },
  provider_overloaded: {
    provoke: rejected(503, received('Server 7 is overloaded')),
    says: 'Server 7',
  },
};
