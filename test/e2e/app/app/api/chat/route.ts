import { createModelRuntime } from 'millrace';

// The model's address is the test's: a server on this machine.
export async function POST(request: Request): Promise<Response> {
  const baseURL = new URL(request.url).searchParams.get('base') ?? '';
  const runtime = createModelRuntime('openai', { baseURL, apiKey: 'k' });
  return runtime.chat(await request.json(), { signal: request.signal });
}
