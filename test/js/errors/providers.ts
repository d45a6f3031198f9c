// What providers answer with.
import { createModelRuntime } from 'millrace';

import { stream } from '../../support/provider';
import { callOf, closedPort, payload, providerOf, refused } from './kit';
import { sse } from '../support/responses';
import type { Rows } from './row';

const said = (message: string, more: object = {}) => ({ error: { message, ...more } });

const aws = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 's', region: 'us-east-1' } as never;

async function failedTooOften(): Promise<unknown> {
  const { url } = await providerOf((response) => void response.writeHead(500).end());
  const circuit = { failures: 1, windowMs: 60_000, pauseMs: 60_000 };
  const call = () => callOf(`${url}/v1`, { circuit }).text();
  await call().catch(() => undefined);
  return call();
}

export const providerRows: Rows = {
  provider_error: { provoke: refused(500, said('the fuse blew')), says: 'the fuse blew' },
  provider_bad_request: {
    provoke: refused(400, said("unknown parameter 'sparkle'")),
    says: 'sparkle',
  },
  authentication_failed: { provoke: refused(401, said('bad key k9')), says: 'k9' },
  permission_denied: { provoke: refused(403, said('not for project x')), says: 'project x' },
  model_not_found: {
    provoke: refused(404, said('The model `m9` does not exist', { code: 'model_not_found' })),
    says: 'm9',
  },
  rate_limited: { provoke: refused(429, said('Limit 30000 reached')), says: '30000' },
  insufficient_quota: {
    provoke: refused(429, said('No credit for org-7', { code: 'insufficient_quota' })),
    says: 'org-7',
  },
  account_deactivated: {
    provoke: refused(401, said('org-7 is gone', { code: 'account_deactivated' })),
    says: 'org-7',
  },
  location_not_supported: {
    provoke: refused(
      403,
      said('No service in AQ', { code: 'unsupported_country_region_territory' }),
    ),
    says: 'AQ',
  },
  invalid_github_token: { provoke: refused(401, said('bad token t9'), 'github'), says: 't9' },
  invalid_copilot_token: {
    native: ['model/response_error_test.cpp', 'ResponseError.ARejectedCopilotTokenHasItsOwnCode'],
  },
  invalid_bedrock_credentials: {
    provoke: refused(
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
    provoke: refused(503, said('No available channel for model m9'), 'newapi'),
    says: 'm9',
  },
  ollama_unavailable: {
    provoke: async () => callOf(`http://127.0.0.1:${await closedPort()}`, {}, 'ollama').text(),
    says: /127\.0\.0\.1:\d+|ollama/i,
  },
  ollama_error: {
    provoke: refused(400, { error: 'llama runner crashed' }, 'ollama'),
    says: 'llama runner crashed',
  },
  context_window_exceeded: {
    provoke: refused(
      400,
      said('maximum context length is 128000 tokens', { code: 'context_length_exceeded' }),
    ),
    says: '128000',
  },
  tool_limit_exceeded: {
    provoke: refused(
      400,
      said("Invalid 'tools': array too long. Expected an array with maximum length 128"),
    ),
    says: '128',
  },
  capability_not_supported: {
    provoke: () =>
      createModelRuntime('anthropic', { apiKey: 'k' }).embeddings({ model: 'm', input: 'x' }),
    says: /anthropic/i,
  },
  content_filtered: {
    provoke: refused(400, said('Blocked: violence', { code: 'content_filter' })),
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
  provider_overloaded: { provoke: refused(503, said('Server 7 is overloaded')), says: 'Server 7' },
};
