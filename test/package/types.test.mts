// Every public name, as a strict TypeScript program sees it through import. Checked by the compiler; not run.
import {
  MillraceError,
  agUIAdapter,
  anthropicAdapter,
  anthropicMessageFormat,
  bedrockConverseAdapter,
  builtinTools,
  cohereAdapter,
  fetchLLM,
  foldEvents,
  geminiAdapter,
  geminiInteractionsAdapter,
  geminiMessageFormat,
  identityMessageFormat,
  imageTool,
  inMemoryStorage,
  langGraphAdapter,
  langGraphMessageFormat,
  mistralAdapter,
  ollamaAdapter,
  openAIAdapter,
  openAIConversationMessageFormat,
  openAIMessageFormat,
  openAIReadableStreamAdapter,
  openAIResponsesAdapter,
  openApiTools,
  pipeAGUI,
  pluginTools,
  restStorage,
  toAGUIResponse,
  tool,
  type AGUIEvent,
  type Artifact,
  type ArtifactListParams,
  type ArtifactStorage,
  type ArtifactSummary,
  type ChatLLM,
  type ChatStorage,
  type FetchLLMOptions,
  type ImageToolOptions,
  type LangGraphAdapterOptions,
  type MCPClient,
  type Message,
  type MessageFormat,
  type RestStorageOptions,
  type StreamProtocolAdapter,
  type Thread,
  type ThreadStorage,
  type UserMessage,
} from 'millrace';

const langGraphOptions: LangGraphAdapterOptions = { onInterrupt: () => undefined };
export const adapters: StreamProtocolAdapter[] = [
  agUIAdapter(),
  anthropicAdapter(),
  bedrockConverseAdapter(),
  cohereAdapter(),
  geminiAdapter(),
  geminiInteractionsAdapter(),
  langGraphAdapter(langGraphOptions),
  mistralAdapter(),
  ollamaAdapter(),
  openAIAdapter(),
  openAIReadableStreamAdapter(),
  openAIResponsesAdapter(),
];
export const formats: MessageFormat[] = [
  anthropicMessageFormat,
  geminiMessageFormat,
  identityMessageFormat,
  langGraphMessageFormat,
  openAIConversationMessageFormat,
  openAIMessageFormat,
];
const llmOptions: FetchLLMOptions = {
  url: 'http://127.0.0.1/agent',
  streamAdapter: agUIAdapter(),
  messageFormat: openAIMessageFormat,
};
export const llm: ChatLLM = fetchLLM(llmOptions);
const restOptions: RestStorageOptions = { baseUrl: 'http://127.0.0.1/threads' };
export const storages: ChatStorage[] = [restStorage(restOptions), inMemoryStorage()];
export const threads: ThreadStorage = inMemoryStorage().thread;
export const artifacts: ArtifactStorage | undefined = storages[1]?.artifact;

export async function use(events: AsyncIterable<AGUIEvent>): Promise<Message[]> {
  const question: UserMessage = { id: '1', role: 'user', content: 'Hi' };
  const thread: Thread = await threads.createThread(question);
  const params: ArtifactListParams = { name: thread.title, type: ['page'], limit: 3 };
  const listed: ArtifactSummary[] = (await artifacts?.list(params))?.artifacts ?? [];
  const whole: Artifact | undefined = listed[0] && (await artifacts?.get(listed[0].id));
  for await (const event of events) {
    // The union is discriminated: `delta` exists on this member alone.
    if (event.type === 'TEXT_MESSAGE_CONTENT') console.log(event.delta, whole?.content);
  }
  return foldEvents(events);
}

export const answer: Response = toAGUIResponse(use.length > 0 ? [] : [], {
  threadId: 't',
  runId: 'r',
});
export const pipe: typeof pipeAGUI = pipeAGUI;
export const isOurs = (error: unknown): boolean =>
  error instanceof MillraceError && error.code !== undefined;

export async function callTools(client: MCPClient, images: ImageToolOptions): Promise<unknown[]> {
  const results = [
    await builtinTools({ calculator: true })[0]?.run({ expression: '1' }),
    await pluginTools({ manifest: { identifier: 'p', api: [] } })[0]?.run({}),
    await openApiTools({ document: '{}' })[0]?.run({ id: 'rex' }),
  ].map((result) => result?.content);
  const own = tool({ name: 'own', run: () => 1 });
  return [
    results,
    (await client.tools())[0]?.run({}),
    imageTool(images).run({ prompt: 'x' }),
    own.run({}),
  ];
}
