// Types of @openuidev/react-headless 0.9.13 and ours, where one is asked for and the other given. The
// compiler checks this file; running it only shows that both packages load together.
import * as openui from '@openuidev/react-headless';
import * as millrace from 'millrace';

// A function that takes a T: `accepts<T>()(value)` compiles when value is a T.
const accepts =
  <T>() =>
  (value: T): T =>
    value;

// Stands for a value of the type; never looked at.
const value = <T>(): T => undefined as T;

const url = 'http://127.0.0.1/';

describe('types', () => {
  it('of adapters fit both ways', () => {
    const theirs = accepts<openui.StreamProtocolAdapter>();
    theirs(millrace.agUIAdapter());
    theirs(millrace.openAIAdapter());
    theirs(millrace.openAIReadableStreamAdapter());
    theirs(millrace.openAIResponsesAdapter());
    theirs(millrace.langGraphAdapter({ onInterrupt: (interrupt) => void interrupt }));
    theirs(millrace.anthropicAdapter());
    accepts<millrace.StreamProtocolAdapter>()(openui.agUIAdapter());
    accepts<openui.LangGraphAdapterOptions>()(value<millrace.LangGraphAdapterOptions>());
    expect(typeof millrace.agUIAdapter).toBe(typeof openui.agUIAdapter);
  });

  it('of the model channel fit both ways', () => {
    const withOurs = millrace.fetchLLM({ url, streamAdapter: millrace.agUIAdapter() });
    const withTheirs = millrace.fetchLLM({ url, streamAdapter: openui.openAIAdapter() });
    accepts<openui.ChatLLM>()(withOurs);
    accepts<openui.ChatLLM>()(withTheirs);
    accepts<openui.ChatProviderProps>()({ llm: withOurs, children: null });
    const ourChannel = accepts<millrace.ChatLLM>();
    ourChannel(withOurs);
    ourChannel(openui.fetchLLM({ url, streamAdapter: openui.agUIAdapter() }));
    expect(withOurs.streamProtocol).not.toBe(withTheirs.streamProtocol);
  });

  it('of ours fit where values are declared with them and given to theirs', () => {
    const adapter: millrace.StreamProtocolAdapter = millrace.agUIAdapter();
    accepts<openui.StreamProtocolAdapter>()(adapter);
    const llm: millrace.ChatLLM = millrace.fetchLLM({ url, streamAdapter: adapter });
    accepts<openui.ChatLLM>()(llm);
    accepts<openui.ChatProviderProps>()({ llm, children: null });
    const own: millrace.StreamProtocolAdapter = {
      parse: async function* ({ url: messageId }) {
        yield { type: 'TEXT_MESSAGE_END', messageId };
      },
    };
    accepts<openui.StreamProtocolAdapter>()(own);
    expect(llm.streamProtocol).toBe(adapter);
  });

  it('of the options fit where the import is changed', () => {
    const options: openui.FetchLLMOptions = {
      url,
      streamAdapter: openui.agUIAdapter(),
      messageFormat: openui.openAIMessageFormat,
      headers: { a: 'b' },
      body: { model: 'm' },
      fetch,
    };
    accepts<millrace.FetchLLMOptions>()(options);
    const storage: openui.RestStorageOptions = { baseUrl: url, headers: {}, fetch };
    accepts<millrace.RestStorageOptions>()(storage);
    expect(millrace.fetchLLM(options).streamProtocol).toBe(options.streamAdapter);
  });

  it('of storage fit both ways', () => {
    accepts<openui.ChatStorage>()(millrace.restStorage({ baseUrl: url }));
    accepts<openui.ChatStorage>()(millrace.inMemoryStorage());
    accepts<openui.ArtifactStorage>()(millrace.inMemoryStorage().artifact);
    accepts<openui.ChatStorage>()(value<millrace.RuntimeStorage>());
    accepts<openui.ArtifactStorage>()(value<millrace.RuntimeArtifactStorage>());
    accepts<millrace.ChatStorage>()(openui.restStorage({ baseUrl: url }));
    accepts<openui.Artifact>()(value<millrace.Artifact>());
    accepts<millrace.Artifact>()(value<openui.Artifact>());
    accepts<openui.ArtifactListParams>()(value<millrace.ArtifactListParams>());
    accepts<millrace.ArtifactListParams>()(value<openui.ArtifactListParams>());
    accepts<openui.Thread>()(value<millrace.Thread>());
    accepts<millrace.Thread>()(value<openui.Thread>());
    const { thread, artifact } = millrace.inMemoryStorage();
    const nextCursor = value<string | undefined>();
    accepts<millrace.ChatStorage>()({
      thread: { ...thread, listThreads: async () => ({ threads: [], nextCursor }) },
      artifact: { ...artifact, list: async () => ({ artifacts: [], nextCursor }) },
    });
    expect(Object.keys(millrace.restStorage({ baseUrl: url }))).toEqual(['thread']);
  });

  it('of events are told apart by EventType, too', () => {
    const textOf = (event: millrace.AGUIEvent): string =>
      event.type === millrace.EventType.TEXT_MESSAGE_CONTENT ? event.delta : '';
    expect(textOf({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'x' })).toBe('x');
    expect(millrace.EventType).toMatchObject(openui.EventType);
    for (const [name, type] of Object.entries(millrace.EventType)) expect(type).toBe(name);
  });

  it('of messages and formats fit both ways', () => {
    accepts<openui.BinaryInputContent>()(value<millrace.BinaryInputContent>());
    accepts<openui.TextInputContent>()(value<millrace.TextInputContent>());
    accepts<openui.FunctionCall>()(value<millrace.FunctionCall>());
    accepts<openui.Message>()(value<millrace.Message>());
    accepts<millrace.Message>()(value<openui.Message>());
    accepts<openui.UserMessage>()(value<millrace.UserMessage>());
    accepts<millrace.UserMessage>()(value<openui.UserMessage>());
    const theirs = accepts<openui.MessageFormat>();
    theirs(millrace.identityMessageFormat);
    theirs(millrace.openAIMessageFormat);
    theirs(millrace.openAIConversationMessageFormat);
    theirs(millrace.langGraphMessageFormat);
    theirs(millrace.anthropicMessageFormat);
    accepts<millrace.MessageFormat>()(openui.openAIMessageFormat);
    expect(millrace.identityMessageFormat.toApi([])).toEqual([]);
  });

  it('of events narrow by their type', () => {
    const text = (event: millrace.AGUIEvent): string => {
      if (event.type === 'TEXT_MESSAGE_CONTENT') return event.delta;
      if (event.type === 'RUN_ERROR') return event.code ?? event.message;
      return event.type === 'CUSTOM' ? event.name : event.type;
    };
    accepts<millrace.AGUIEvent>()(value<openui.AGUIEvent>());
    expect(text({ type: 'RUN_ERROR', message: 'm' })).toBe('m');
  });

  it('hold no any where users read or write', () => {
    type IsAny<T> = 0 extends 1 & T ? true : false;
    const no = <T>(_value: IsAny<T> extends true ? never : 'typed'): void => undefined;
    no<millrace.AGUIEvent['type']>('typed');
    no<millrace.CustomEvent['value']>('typed');
    no<millrace.StateSnapshotEvent['snapshot']>('typed');
    no<ReturnType<millrace.MessageFormat['toApi']>>('typed');
    no<millrace.Artifact['content']>('typed');
    no<Awaited<ReturnType<typeof millrace.foldEvents>>>('typed');
    const read = async (adapter: millrace.StreamProtocolAdapter): Promise<void> => {
      for await (const event of adapter.parse(new Response())) {
        no<typeof event>('typed');
        void event;
      }
    };
    void read;
    expect.assertions(0);
  });
});
