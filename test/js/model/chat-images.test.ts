// Images that a model makes in a chat, by createImage().
import { createModelRuntime, openaiCompatibleFactory } from 'millrace';

import type { Provider } from '../../support/provider';
import { startProvider } from '../../support/provider';

let fake: Provider;
let message: object;
beforeEach(async () => {
  fake = await startProvider((response) => {
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    const usage = { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ id: 'a', model: 'm', choices, usage }));
  });
});
afterEach(() => fake.close());

const answerWith = (...urls: string[]): object => ({
  role: 'assistant',
  content: 'Here it is.',
  images: urls.map((url, index) => ({ type: 'image_url', index, image_url: { url } })),
});
const runtime = () =>
  createModelRuntime('openrouter', { apiKey: 'k', baseURL: fake.url, maxRetries: 0 });
const drawn = 'data:image/png;base64,iVBORw==';

describe('createImage() with a model named `...:image`', () => {
  it('asks the chat model for it', async () => {
    message = answerWith(drawn);
    const usages: unknown[] = [];
    const image = await runtime().createImage(
      {
        model: 'google/gemini-3-pro-image:image',
        params: { prompt: 'a hat', imageUrls: [drawn], aspectRatio: '16:9' },
      },
      { onUsage: (usage) => usages.push(usage), user: 'u' },
    );
    expect(image).toMatchObject({ imageUrl: drawn, modelUsage: { totalTokens: 8 } });
    expect(image.imageUrls).toBeUndefined();
    expect(usages).toMatchObject([{ totalTokens: 8 }]);
    const [call] = fake.calls;
    expect(call?.url).toBe('/chat/completions');
    expect(JSON.parse(call?.body ?? '')).toMatchObject({
      model: 'google/gemini-3-pro-image',
      stream: false,
      user: 'u',
      modalities: ['image', 'text'],
      image_config: { aspect_ratio: '16:9' },
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a hat' },
            { type: 'image_url', image_url: { url: drawn } },
          ],
        },
      ],
    });
  });

  it('gives all of them, by value and by address', async () => {
    message = answerWith(drawn, 'https://images.example/1.png');
    const Acme = openaiCompatibleFactory({ provider: 'acme', baseURL: fake.url, apiKey: 'k' });
    const params = { prompt: 'a hat', size: '1024x1024' };
    const image = await new Acme().createImage({ model: 'm:image', params });
    expect(image.notes?.[0]).toBe('`size`: A chat that makes images has no such setting.');
    expect(image.imageUrls).toEqual([drawn, 'https://images.example/1.png']);
  });

  it('says so when there is none, and when the call fails', async () => {
    message = { role: 'assistant', content: 'I cannot draw.' };
    const wanted = { model: 'm:image', params: { prompt: 'a hat' } };
    await expect(runtime().createImage(wanted)).rejects.toMatchObject({
      code: 'no_image_generated',
      detail: 'I cannot draw.',
    });
    fake.answer = (response) => {
      response.writeHead(401, { 'content-type': 'application/json' }).end('{}');
    };
    await expect(runtime().createImage(wanted)).rejects.toMatchObject({
      errorType: 'InvalidProviderAPIKey',
    });
    const open = { model: ':image', params: { prompt: 'a hat' } };
    await expect(runtime().createImage(open)).rejects.toMatchObject({
      code: 'capability_not_supported',
    });
  });
});
