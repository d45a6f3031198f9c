// The same package as a strict TypeScript program sees it through require(). Checked by the compiler; not run.
import millrace = require('millrace');

export const llm: millrace.ChatLLM = millrace.fetchLLM({
  url: 'http://127.0.0.1/agent',
  streamAdapter: millrace.agUIAdapter(),
});
