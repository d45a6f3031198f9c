// The agent that LangGraph's server serves.
import { createReactAgent } from '@langchain/langgraph/prebuilt';
import { ChatOpenAI } from '@langchain/openai';

const llm = new ChatOpenAI({
  model: 'example',
  apiKey: 'none',
  configuration: { baseURL: process.env.MILLRACE_BENCH_PROVIDER },
});
export const graph = createReactAgent({ llm, tools: [] });
