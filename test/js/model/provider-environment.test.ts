// Keys and addresses of providers in the environment: which count, and when.
import { configFromEnvironment, createAgent, createModelRuntime } from '../../../dist/cjs';
import type { ProviderSettings } from '../../../dist/cjs';
import { chooseModel } from '../../../dist/cjs/cli/model-choice';
import { startProvider, stream } from '../../support/provider';
import { sse } from '../support/responses';

const before = { ...process.env };

afterEach(() => {
  process.env = { ...before };
});

interface Requested {
  url: string;
  key: string | null;
}

/** Where a call of a runtime goes, and with which key. */
async function requested(provider: string, settings: ProviderSettings = {}): Promise<Requested> {
  let found: Requested | undefined;
  const runtime = createModelRuntime(provider, {
    ...settings,
    fetch: (input, init) => {
      const { url, headers } = new Request(input, init);
      found = { url, key: headers.get('authorization') };
      return Promise.resolve(new Response('{"error":{"message":"no"}}', { status: 400 }));
    },
  });
  const call = runtime.chat({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] });
  await expect(call).rejects.toThrow('400');
  if (found === undefined) throw new Error('Nothing was asked.');
  return found;
}

describe('an address in the environment', () => {
  it('goes with the key of the environment', async () => {
    process.env['OPENAI_API_KEY'] = 'gateway-key';
    process.env['OPENAI_BASE_URL'] = ' http://127.0.0.1:1/v1 ';
    expect(await requested('openai')).toEqual({
      url: 'http://127.0.0.1:1/v1/chat/completions',
      key: 'Bearer gateway-key',
    });
    expect(await requested('openai', { apiKey: undefined, baseURL: undefined })).toMatchObject({
      key: 'Bearer gateway-key',
      url: 'http://127.0.0.1:1/v1/chat/completions',
    });
  });

  it('leaves a key or an address that is given in code alone', async () => {
    process.env['OPENAI_API_KEY'] = 'gateway-key';
    process.env['OPENAI_BASE_URL'] = 'http://127.0.0.1:1/v1';
    expect(await requested('openai', { apiKey: 'my-own' })).toEqual({
      url: 'https://api.openai.com/v1/chat/completions',
      key: 'Bearer my-own',
    });
    expect(await requested('openai', { baseURL: 'http://127.0.0.1:2/v1' })).toEqual({
      url: 'http://127.0.0.1:2/v1/chat/completions',
      key: 'Bearer gateway-key',
    });
  });

  it.each([
    ['127.0.0.1:1', 'http://127.0.0.1:1'],
    ['box', 'http://box:11434'],
    ['0.0.0.0', 'http://127.0.0.1:11434'],
    [':1', 'http://127.0.0.1:1'],
    ['[::1]:5', 'http://[::1]:5'],
    ['https://box/ollama/', 'https://box/ollama'],
  ])('is read as Ollama reads OLLAMA_HOST: %s', async (host, base) => {
    process.env['OLLAMA_HOST'] = host;
    expect((await requested('ollama')).url).toBe(`${base}/api/chat`);
  });

  it('is refused by its name when it is none', () => {
    process.env['OPENAI_API_KEY'] = 'k';
    for (const wrong of ['localhost:8000', 'ftp://box/v1', 'not an address']) {
      process.env['OPENAI_BASE_URL'] = wrong;
      expect(() => createModelRuntime('openai')).toThrow(
        'The environment variable OPENAI_BASE_URL must be an http or https URL.',
      );
    }
  });

  it('is what an agent asks', async () => {
    const provider = await startProvider(
      stream([
        sse({ choices: [{ index: 0, delta: { content: 'Here.' }, finish_reason: 'stop' }] }),
      ]),
    );
    process.env['OPENAI_API_KEY'] = 'k';
    process.env['OPENAI_BASE_URL'] = `${provider.url}/v1`;
    const { text } = await createAgent({ model: 'openai:m' }).run('Hi').result;
    await provider.close();
    expect(text).toBe('Here.');
  });
});

describe('the settings that the environment holds', () => {
  it('name what a vendor calls its address', () => {
    const source = configFromEnvironment({
      AZURE_OPENAI_API_KEY: 'a',
      AZURE_OPENAI_ENDPOINT: 'https://mine.openai.azure.com',
      GROQ_API_KEY: 'g',
      GROQ_PROXY_URL: 'https://proxy.example/groq',
      OLLAMA_HOST: 'box',
    });
    expect(source.settingsOf('azure')).toEqual({
      apiKey: 'a',
      baseURL: 'https://mine.openai.azure.com',
    });
    expect(source.settingsOf('groq')).toEqual({
      apiKey: 'g',
      baseURL: 'https://proxy.example/groq',
    });
    expect(source.settingsOf('ollama')).toEqual({ baseURL: 'http://box:11434' });
  });

  it('leave a region alone that is given in code', async () => {
    process.env['AWS_ACCESS_KEY_ID'] = 'AKIDEXAMPLE';
    process.env['AWS_SECRET_ACCESS_KEY'] = 's';
    process.env['AWS_REGION'] = 'us-east-1';
    const there = await requested('bedrock', { region: 'eu-west-1' });
    expect(there.url).toContain('eu-west-1');
    expect((await requested('bedrock')).url).toContain('us-east-1');
  });

  it('decide the model of the command line', () => {
    const env = { OLLAMA_HOST: 'box', OLLAMA_MODEL: 'qwen3' };
    expect(chooseModel(undefined, undefined, env)).toEqual({
      model: 'ollama:qwen3',
      baseURL: 'http://box:11434',
      apiKey: '',
    });
    expect(chooseModel('ollama:x', 'http://127.0.0.1:1', env)).toMatchObject({
      model: 'ollama:x',
      baseURL: 'http://127.0.0.1:1',
    });
    expect(() => chooseModel(undefined, undefined, { OLLAMA_HOST: 'a b' })).toThrow('OLLAMA_HOST');
    const blank = { MILLRACE_MODEL: ' ', OPENAI_API_KEY: ' ', OLLAMA_MODEL: ' ' };
    expect(chooseModel(undefined, undefined, blank).model).toBe('demo:demo');
    expect(chooseModel(undefined, undefined, { ...blank, OLLAMA_HOST: 'box' }).model).toBe(
      'ollama:llama3.2',
    );
  });
});
