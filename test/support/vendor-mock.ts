// The independent fake of the vendors (npm @copilotkit/aimock), and how each of them is reached there.
import type { LLMock } from '@copilotkit/aimock';
import type { ModelRuntime, ModelRuntimeOptions } from 'millrace';
import { createModelRuntime } from 'millrace';

export const vendorKey = 'key-of-the-fake-0815';

/** One vendor's API as the fake speaks it. */
export interface Vendor {
  /** A row of the table of providers. */
  provider: string;
  model: string;
  /** Under the address of the fake. */
  path?: string;
  settings?: ModelRuntimeOptions;
  /** The fake reports no tokens for this API, but zeros. */
  countsNothing?: boolean;
  /** The fake has no place for thoughts there. */
  thinks?: false;
  /** How many texts the fake embeds at a time; 0: it has no such address. */
  embeds: 0 | 1 | 2;
  /** The fake lists models there. */
  lists?: boolean;
  /** What errors are called where this vendor, or the fake of it, says less or more. */
  codes?: Record<string, string>;
}

const bedrockKeys = { accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'a-secret-of-the-fake' };

export const vendors: Record<string, Vendor> = {
  'OpenAI chat': { provider: 'openai', model: 'gpt-4o', path: '/v1', embeds: 2, lists: true },
  'OpenAI Responses': {
    provider: 'openai',
    model: 'gpt-4o',
    path: '/v1',
    settings: { apiMode: 'responses' },
    countsNothing: true,
    embeds: 2,
    lists: true,
  },
  Claude: {
    provider: 'anthropic',
    model: 'claude-sonnet-4-5',
    countsNothing: true,
    embeds: 0,
    lists: true,
  },
  Gemini: { provider: 'google', model: 'gemini-2.5-flash', countsNothing: true, embeds: 0 },
  Bedrock: {
    provider: 'bedrock',
    model: 'anthropic.claude-3-5-sonnet-20241022-v2:0',
    settings: bedrockKeys,
    countsNothing: true,
    embeds: 0,
    codes: { authentication_failed: 'invalid_bedrock_credentials' },
  },
  Azure: {
    provider: 'azure',
    model: 'gpt-4o',
    settings: { deployment: 'my-gpt-4o' },
    embeds: 2,
  },
  Ollama: {
    provider: 'ollama',
    model: 'llama3.2',
    countsNothing: true,
    thinks: false,
    embeds: 1,
    lists: true,
    codes: { provider_bad_request: 'ollama_error' },
  },
  Cohere: {
    provider: 'cohere',
    model: 'command-r-plus',
    countsNothing: true,
    thinks: false,
    embeds: 2,
    lists: true,
  },
  OpenRouter: {
    provider: 'openrouter',
    model: 'openai/gpt-4o-mini',
    path: '/api/v1',
    embeds: 2,
    lists: true,
    codes: { insufficient_quota: 'rate_limited' },
  },
};

export function runtimeOf(
  mock: LLMock,
  vendor: Vendor,
  more: ModelRuntimeOptions = {},
): ModelRuntime {
  return createModelRuntime(vendor.provider, {
    baseURL: mock.url + (vendor.path ?? ''),
    maxRetries: 0,
    circuit: false,
    ...(vendor.provider === 'bedrock' ? {} : { apiKey: vendorKey }),
    ...vendor.settings,
    ...more,
  });
}

/** The fake knows keys but no signatures. */
export function checksKeys(vendor: Vendor): boolean {
  return vendor.provider !== 'bedrock';
}
