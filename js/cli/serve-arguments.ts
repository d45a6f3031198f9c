// The arguments of `millrace serve`, and what its help tells of them.

/** The help of `serve`. */
export const serveHelp = `Usage: millrace serve [options]

Serves an agent over HTTP: POST /agent (AG-UI event stream), GET /agent/capabilities, POST
/webapi/chat/<provider> (LobeHub chat stream of any provider whose key or address is in the environment)
GET /health and, with --storage, a page for chats at /.

Options:
  --config <file>         settings in TOML; default: millrace.toml of the working folder, where there is one; off reads
                          none. Options count more, then the environment, then the file. Read again when it changes,
                          and on SIGHUP; millrace config shows the result
  --port <n>              port to listen on; 0 selects a free one (default 8788)
  --host <address>        address to listen on (default 127.0.0.1)
  --model <provider:name> openai:..., anthropic:..., ollama:... or demo:demo
  --base-url <url>        address of the model provider
  --system <text>         system prompt
  --tools <names>         built-in tools of the agent, separated by commas
  --skills <folder>       folder of skills, each a folder with a SKILL.md, read again when it changes
  --mcp <file>            MCP servers whose tools the agent gets: {"mcpServers": {name: {"command", "args",
                          "env", "cwd"} or {"type", "url", "headers"}}}
  --authorize <how>       how to authorize MCP servers (OAuth): print the address (default), open a browser,
                          or never
  --tokens <folder>       folder of OAuth tokens; default ~/.local/state/millrace/mcp; off stores none
  --strict                exit if any MCP server fails to start; default: continue with the others
  --approval <policy>      which tool calls need approval: never, risky (default), always
  --max-steps <n>         model turns with tools before the last answer (default 32); 0 is no limit
  --max-output-tokens <n> output limit for providers that require one (default 4096)
  --allow-host <name>     also accept this Host header; may be repeated
  --allow-origin <origin> accept requests of pages from this origin; may be repeated
  --storage <file:path>   record runs in this SQLite file: a run goes on after a crash or a restart, and may be read
                          and stopped at /agent/runs; off (default): runs live as long as their readers
  --key-file <file>       keys that requests must be sent with, one a line (header X-Millrace-API-Key)
  --keys <file>           keys that millrace keys wrote, read again when they change (default: the path of the
                          store and .keys); where the file is there, requests need a key
  --access-log <file>     write a line of JSON for each request to this file; - is standard output
  --trusted-proxy <addr>  take X-Forwarded-For from this address or block; may be repeated
  --wait <seconds>        how long to wait for another process to close the store (default 2)
  --secret-key-file <file> the key of stored secrets (millrace secrets), in place of MILLRACE_SECRET_KEY
  --on-disconnect <what>  what a recorded run does when its last reader goes away: continue (default) or stop
  --approval-timeout <s>  how many seconds the user has for an answer to a recorded run (default 604800, 7 days)
  --keep-records <days>   how long the records of a run are kept behind its end (default 30), or forever
  --json                  print one line of JSON instead of text when the server is ready
  --help                  print this

Environment: MILLRACE_CONFIG, MILLRACE_MODEL, MILLRACE_STORAGE, MILLRACE_API_KEY (a key as --key-file has them) and
others that millrace config show names; OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL, ANTHROPIC_API_KEY,
ANTHROPIC_BASE_URL, ANTHROPIC_MODEL, OLLAMA_HOST, OLLAMA_MODEL, NODE_EXTRA_CA_CERTS, SSL_CERT_FILE.
Without --model and without any of these, a built-in demo model answers. Words in a message select what it does:
"reason" shows reasoning, "tool" calls a tool, "postcard" calls a tool that needs approval, "fail" breaks the
answer off, "refuse" gives an error status.
`;

/** The options that settings are taken from. */
export const serveOptions = {
  config: { type: 'string' },
  port: { type: 'string' },
  host: { type: 'string' },
  model: { type: 'string' },
  'base-url': { type: 'string' },
  system: { type: 'string' },
  tools: { type: 'string' },
  skills: { type: 'string' },
  mcp: { type: 'string' },
  authorize: { type: 'string' },
  tokens: { type: 'string' },
  strict: { type: 'boolean' },
  approval: { type: 'string' },
  'max-steps': { type: 'string' },
  'max-output-tokens': { type: 'string' },
  'allow-host': { type: 'string', multiple: true },
  'allow-origin': { type: 'string', multiple: true },
  storage: { type: 'string' },
  'key-file': { type: 'string' },
  keys: { type: 'string' },
  'access-log': { type: 'string' },
  'trusted-proxy': { type: 'string', multiple: true },
  wait: { type: 'string' },
  'on-disconnect': { type: 'string' },
  'keep-records': { type: 'string' },
  'approval-timeout': { type: 'string' },
  'secret-key-file': { type: 'string' },
} as const;
