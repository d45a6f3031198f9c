// Written by scripts/generate-errors.mjs from lib/base/errors.def. Do not edit.

/** Every error code and the HTTP status that our own server gives it. Codes never change. */
export interface ErrorStatuses {
  /** An argument has the wrong type or value. Pass the type and range that the message names. HTTP 400; fails again. */
  invalid_argument: 400;
  /** An option has the wrong type or value. Correct the option that the message names, or leave it out. HTTP 400; fails again. */
  invalid_option: 400;
  /** The URL is not valid. Give an absolute http or https URL without credentials. HTTP 400; fails again. */
  invalid_url: 400;
  /** No adapter has this name. Use one of the wires in docs/adapters.md, for example openai_chat or ag_ui. HTTP 400; fails again. */
  unknown_wire: 400;
  /** No message format has this name. Use one of the formats that the message lists. HTTP 400; fails again. */
  unknown_format: 400;
  /** No model provider has this name. Use a provider that `npx millrace providers` lists, and set its key. HTTP 400; fails again. */
  unknown_provider: 400;
  /** The messages do not have the shape of the format. Correct the message that the error names, or choose the format that the messages have. HTTP 400; fails again. */
  invalid_messages: 400;
  /** The provider needs an API key. Set the environment variable that the message names, or give `apiKey`. HTTP 401; fails again. */
  missing_api_key: 401;
  /** The response body was already read or is locked. Parse each Response once, or parse a `clone()` of it. HTTP 400; fails again. */
  response_used: 400;
  /** The state holds a value that JSON cannot represent. Keep only plain values in the state: text, numbers, booleans, null, lists and objects. HTTP 400; fails again. */
  state_not_serializable: 400;
  /** The state of the run does not have the expected shape. Pass the state of an earlier run unchanged. HTTP 400; fails again. */
  invalid_state: 400;
  /** The agent returned an invalid instruction. Return an object with a `type`, or a list of such objects. HTTP 400; fails again. */
  invalid_instruction: 400;
  /** No executor handles this instruction. Add an executor for its `type`, or return one of the built-in instructions. HTTP 400; fails again. */
  unknown_instruction: 400;
  /** The answer does not match a pending approval or interrupt. Answer with the ids and arguments of the pending interrupts. HTTP 409; fails again. */
  approval_mismatch: 409;
  /** The approval or interrupt was already answered or has expired. Answer each interrupt once, before it expires. HTTP 409; fails again. */
  approval_answered: 409;
  /** No tool has this name. Add the tool to the agent, or correct its name. HTTP 404; fails again. */
  tool_not_found: 404;
  /** The tool failed. Correct the cause that the message names in the tool, then call it again. HTTP 500; fails again. */
  tool_failed: 500;
  /** The tool did not answer within its time limit. Raise `timeoutMs` of the tool, or make it answer sooner. HTTP 504; fails again. */
  tool_timeout: 504;
  /** The program is not on the allow list. Add the program to `programs` of the tool, or have it use one that is listed. HTTP 403; fails again. */
  program_not_allowed: 403;
  /** The queue is full. Try again later, or send fewer requests at a time. HTTP 503; may be sent again later. */
  too_much_work: 503;
  /** The run reached its cost limit; `result` has the answer so far. Raise `limits.maxCost`, or use a cheaper model. HTTP 429; fails again. */
  cost_limit_exceeded: 429;
  /** The run reached its token limit; `result` has the answer so far. Raise `limits.maxTokens`, or send a shorter conversation. HTTP 429; fails again. */
  token_limit_exceeded: 429;
  /** The run reached its time limit; `result` has the answer so far. Raise `limits.maxDurationMs`, or give the run a smaller task. HTTP 504; fails again. */
  timeout: 504;
  /** The run is waiting for human approval or input. Read `interrupts` of `result` and continue with `resume()`. HTTP 409; fails again. */
  run_interrupted: 409;
  /** The agent has no model to call. Give the agent a `modelRuntime`. HTTP 400; fails again. */
  model_runtime_missing: 400;
  /** The connection to the MCP server could not be opened. Check the `url` or `command` of the MCP server, and that it runs. HTTP 502; fails again. */
  mcp_connection_failed: 502;
  /** The connection to the MCP server ended during the call, which may have had an effect. Check whether the call had an effect before you repeat it. HTTP 502; fails again. */
  mcp_session_lost: 502;
  /** The MCP server returned an error. Read the message of the server and correct the call. HTTP 502; fails again. */
  mcp_error: 502;
  /** The MCP server violates the Model Context Protocol. Update the MCP server, or report the error to its author. HTTP 502; fails again. */
  mcp_protocol_error: 502;
  /** The MCP server requires authorization. Give `auth` or `headers` with valid credentials for the MCP server. HTTP 401; fails again. */
  mcp_unauthorized: 401;
  /** The program could not be started. Check that the program is installed, executable and on the PATH. HTTP 500; fails again. */
  process_start_failed: 500;
  /** The text is not valid JSON. Correct the JSON at the position that the message names. HTTP 400; fails again. */
  invalid_json: 400;
  /** The JSON Schema is not valid or uses an unsupported feature. Correct the keyword that the message names. HTTP 400; fails again. */
  invalid_schema: 400;
  /** Validating the value against the schema costs more than the limit. Simplify the schema, above all `anyOf`, patterns and recursion, or send a smaller value. HTTP 400; fails again. */
  schema_too_complex: 400;
  /** The JSON is nested deeper than the limit. Send JSON with fewer nested levels. HTTP 400; fails again. */
  json_too_deep: 400;
  /** A line of the stream is longer than the limit. Raise `limits.lineBytes` of the adapter, or check that the address is a stream. HTTP 502; fails again. */
  line_too_long: 502;
  /** An event of the stream is larger than the limit. Raise `limits.eventBytes` of the adapter, or have the peer send smaller events. HTTP 502; fails again. */
  event_too_large: 502;
  /** The decoded response is larger than the limit. Raise the limit that the message names, or request less data. HTTP 502; fails again. */
  response_too_large: 502;
  /** The response headers are larger than the limit. Raise `limits.headerBytes`, or have the server send fewer headers. HTTP 502; fails again. */
  headers_too_large: 502;
  /** The arguments of a tool call are larger than the limit. Have the model pass large data by reference, for example as a URL or file name. HTTP 502; fails again. */
  tool_arguments_too_large: 502;
  /** The answer has too many parts, or too many are open at a time. Check the provider: no ordinary answer has this many parts. HTTP 502; fails again. */
  too_many_parts: 502;
  /** The compressed body could not be decoded. Check the proxy between you and the provider; it may damage the body. HTTP 502; fails again. */
  decompression_failed: 502;
  /** The body has a content encoding that was not requested. Have the server send gzip, deflate or no content encoding. HTTP 502; fails again. */
  unsupported_encoding: 502;
  /** The stream ended before the answer was complete. Send the request again; if it happens often, check timeouts of proxies on the way. HTTP 502; may be sent again. */
  stream_truncated: 502;
  /** The bytes of the stream are damaged. Send the request again; if it happens often, check proxies on the way. HTTP 502; may be sent again. */
  stream_corrupt: 502;
  /** The stream ended without an event. Send the request again; if it happens often, check the address and the adapter. HTTP 502; may be sent again. */
  stream_empty: 502;
  /** The body is not a stream of this wire. Choose the adapter that fits the provider, and check the address. HTTP 502; fails again. */
  not_a_stream: 502;
  /** A record of the stream could not be read and was skipped. Check the provider or the proxy that sent the record. HTTP 502; fails again. */
  record_skipped: 502;
  /** The address is not allowed. Add the host to `allow`, or use a public address. HTTP 403; fails again. */
  address_blocked: 403;
  /** The host name could not be resolved. Check the spelling of the host name and the DNS of this machine. HTTP 502; may be sent again. */
  name_resolution_failed: 502;
  /** The connection could not be made. Check that the server runs and that host and port are right. HTTP 502; may be sent again. */
  connect_failed: 502;
  /** The proxy could not be reached or rejected the connection. Check the address and the credentials of the proxy. HTTP 502; may be sent again. */
  proxy_failed: 502;
  /** The connection was not made within the time limit. Check the network, or raise `timeouts.connect`. HTTP 504; may be sent again. */
  connect_timeout: 504;
  /** No answer began within the time limit. Send the request again, or raise `timeouts.firstByte`. HTTP 504; may be sent again. */
  first_byte_timeout: 504;
  /** The stream was silent for longer than the time limit. Send the request again, or raise `timeouts.idle`. HTTP 504; may be sent again. */
  idle_timeout: 504;
  /** The call took longer than the time limit. Raise `timeouts.total`, or request a shorter answer. HTTP 504; may be sent again. */
  total_timeout: 504;
  /** The TLS connection was rejected or the certificate is not trusted. Check the certificate of the server, or give its authority as `ca`. HTTP 502; fails again. */
  tls_failed: 502;
  /** The connection broke before the answer was complete. Send the request again. HTTP 502; may be sent again. */
  connection_lost: 502;
  /** The peer violates HTTP. Check that the address is an HTTP server, and the proxies on the way. HTTP 502; fails again. */
  protocol_error: 502;
  /** The request was redirected too often. Use the final address. HTTP 502; fails again. */
  too_many_redirects: 502;
  /** The call was cancelled. Start the call again if the cancellation was not intended. HTTP 499; fails again. */
  cancelled: 499;
  /** The engine is closed. Make the call before the environment or worker ends. HTTP 503; fails again. */
  engine_closed: 503;
  /** The provider reported an error. Read the message of the provider, and send the request again later. HTTP 502; may be sent again. */
  provider_error: 502;
  /** The provider rejected the request. Correct the setting or message that the provider names. HTTP 400; fails again. */
  provider_bad_request: 400;
  /** The provider rejected the credentials. Check the API key: its value, its provider and that it is active. HTTP 401; fails again. */
  authentication_failed: 401;
  /** The credentials do not allow this call. Grant the key access to this model or feature at the provider. HTTP 403; fails again. */
  permission_denied: 403;
  /** The provider does not know this model or address. Check the model name and `baseURL`; `npx millrace models` lists models. HTTP 404; fails again. */
  model_not_found: 404;
  /** The provider's rate limit is reached. Wait as long as `retryAfterMs` tells, then send the request again, or send fewer requests. HTTP 429; may be sent again later. */
  rate_limited: 429;
  /** The account at the provider has no quota or credit left. Add credit at the provider, or use another key. HTTP 429; fails again. */
  insufficient_quota: 429;
  /** The account at the provider is deactivated. Contact the support of the provider, or use another key. HTTP 403; fails again. */
  account_deactivated: 403;
  /** The provider does not serve this country or region. Use a provider or region that serves your location. HTTP 403; fails again. */
  location_not_supported: 403;
  /** GitHub Models rejected the token. Create a GitHub token with access to models and give it as `apiKey`. HTTP 401; fails again. */
  invalid_github_token: 401;
  /** GitHub Copilot rejected the token. Sign in to GitHub Copilot again and give the new token as `apiKey`. HTTP 401; fails again. */
  invalid_copilot_token: 401;
  /** AWS rejected the credentials. Check the AWS keys, the session token and `region`. HTTP 401; fails again. */
  invalid_bedrock_credentials: 401;
  /** Google Cloud rejected the credentials. Give the JSON of a key file of a service account that may use Vertex AI. HTTP 401; fails again. */
  invalid_vertex_credentials: 401;
  /** The gateway has no channel for this model. Add a channel for the model at the gateway, or use another model. HTTP 503; fails again. */
  no_available_channel: 503;
  /** Ollama does not answer. Start Ollama (`ollama serve`), or correct `baseURL`. HTTP 503; fails again. */
  ollama_unavailable: 503;
  /** Ollama reported an error. Read the message of Ollama; `ollama ps` and its log tell more. HTTP 502; fails again. */
  ollama_error: 502;
  /** The conversation is longer than the model's context window. Shorten or compress the conversation, or use a model with a larger window. HTTP 400; fails again. */
  context_window_exceeded: 400;
  /** There are more tools, or larger ones, than the provider accepts. Offer fewer tools, or shorten their descriptions and schemas. HTTP 400; fails again. */
  tool_limit_exceeded: 400;
  /** The provider or model does not support this. Use a provider or model that supports it; docs/capabilities.md lists them. HTTP 400; fails again. */
  capability_not_supported: 400;
  /** The provider's safety filter stopped the answer. Rephrase the request. HTTP 451; fails again. */
  content_filtered: 451;
  /** The answer reached the limit of output tokens and is cut. Raise `max_tokens`, or request a shorter answer. HTTP 200; fails again. */
  output_limit_reached: 200;
  /** The answer does not follow the requested schema. Send the request again, simplify the schema, or use a more capable model. HTTP 502; fails again. */
  invalid_object: 502;
  /** The provider answered without an image. Rephrase the prompt, or use a model that generates images. HTTP 502; fails again. */
  no_image_generated: 502;
  /** The provider failed too often in a short time; calls to it are paused. Wait as long as `retryAfterMs` tells, or add a fallback. HTTP 503; may be sent again later. */
  circuit_open: 503;
  /** The run is longer than the replay buffer and cannot be read again. Begin to read before the run is long, or raise `replayBufferSize`. HTTP 400; fails again. */
  replay_unavailable: 400;
  /** The provider is overloaded. Send the request again later, or add a fallback. HTTP 503; may be sent again later. */
  provider_overloaded: 503;
  /** The request line is not valid HTTP/1.1. Send `METHOD /path HTTP/1.1`, ended by CR LF. HTTP 400; fails again. */
  invalid_request_line: 400;
  /** A request header is not valid HTTP/1.1. Correct or remove the header that the message names. HTTP 400; fails again. */
  invalid_header: 400;
  /** The request needs exactly one valid Host header. Send one Host header with the name and port of the server. HTTP 400; fails again. */
  invalid_host: 400;
  /** The length of the request body is missing or ambiguous. Send either one Content-Length or `Transfer-Encoding: chunked`. HTTP 400; fails again. */
  invalid_body_length: 400;
  /** The chunked request body is malformed. Send chunks as HTTP/1.1 defines them: size, CR LF, data, CR LF. HTTP 400; fails again. */
  invalid_chunk: 400;
  /** The request body does not have the expected shape. Correct the member that the message names. HTTP 400; fails again. */
  invalid_body: 400;
  /** The Host header is not on the allow list. Start the server with --allow-host and this name. HTTP 403; fails again. */
  host_not_allowed: 403;
  /** The Origin header is not on the allow list. Start the server with --allow-origin and this origin. HTTP 403; fails again. */
  origin_not_allowed: 403;
  /** There is no such route. Check the path: `millrace serve` prints its routes. HTTP 404; fails again. */
  route_not_found: 404;
  /** The route does not allow this method. Use a method that the Allow header lists. HTTP 405; fails again. */
  method_not_allowed: 405;
  /** The request did not arrive within the time limit. Send the whole request without pauses. HTTP 408; may be sent again. */
  request_timeout: 408;
  /** The request body is larger than the limit. Send a smaller body, for example a shorter conversation. HTTP 413; fails again. */
  body_too_large: 413;
  /** The request target is longer than the limit. Send data in the body instead of the query. HTTP 414; fails again. */
  target_too_long: 414;
  /** The request body must be application/json. Send `Content-Type: application/json` and no Content-Encoding. HTTP 415; fails again. */
  unsupported_media_type: 415;
  /** The Expect header cannot be met. Leave the Expect header out, or send `100-continue`. HTTP 417; fails again. */
  expectation_failed: 417;
  /** The request headers are larger than the limit. Send fewer or shorter headers and cookies. HTTP 431; fails again. */
  request_headers_too_large: 431;
  /** The HTTP version is not supported. Use HTTP/1.1. HTTP 505; fails again. */
  http_version_not_supported: 505;
  /** The server has no room for another connection. Try again later, or close idle connections. HTTP 503; may be sent again later. */
  too_many_connections: 503;
  /** The address and port are already in use. Stop the program that listens there, or choose another --port. HTTP 500; fails again. */
  address_in_use: 500;
  /** The server cannot listen on the address. Choose another --host or --port. HTTP 500; fails again. */
  listen_failed: 500;
  /** No native addon for this platform was found. Install the package again with optional dependencies, or build it with a compiler. HTTP 500; fails again. */
  addon_not_found: 500;
  /** The native addon was found but could not be loaded. Use a supported Node.js version and system, or install the package again. HTTP 500; fails again. */
  addon_load_failed: 500;
  /** An invariant of the engine was broken. Report this as a defect with the message and the version of millrace. HTTP 500; fails again. */
  internal: 500;
  /** Another process has the store open. Close the other process, open the store with `role: 'reader'`, or use a store that several processes share. HTTP 503; may be sent again later. */
  store_in_use: 503;
  /** The file is not a store of Millrace. Name another file; a new one is made when none is there. HTTP 400; fails again. */
  store_foreign: 400;
  /** A newer release of Millrace wrote the store. Install that release, or open a backup that this one wrote. HTTP 400; fails again. */
  store_newer: 400;
  /** The store is damaged. Run `millrace storage check`, and restore a backup where it finds more than one run. HTTP 500; fails again. */
  store_damaged: 500;
  /** The disk of the store is full. Free space on the disk; what waits is written then. HTTP 507; may be sent again later. */
  store_full: 507;
  /** The store could not be read or written. Check the disk and the permissions of the file and its folder. HTTP 500; fails again. */
  store_failed: 500;
  /** The file of the store was moved or replaced while it was open. Stop the program, put the file back, and start again. HTTP 500; fails again. */
  store_moved: 500;
  /** The store cannot be kept in this place. Put the store on a local disk, at a path of its own without links. HTTP 400; fails again. */
  store_unsupported: 400;
  /** There is no such run. Correct the id; finished runs are there until retention removes them. HTTP 404; fails again. */
  run_not_found: 404;
  /** Another run is in the way. Wait for the run that the message names, stop it, or use another thread or key. HTTP 409; fails again. */
  run_conflict: 409;
  /** The cursor is behind the last record of the run. Read the run from a number that it has given. HTTP 409; fails again. */
  cursor_ahead: 409;
  /** The run cannot go on after its process ended. Start the run again; `millrace runs show` prints how far it came. HTTP 500; fails again. */
  run_not_recoverable: 500;
  /** No agent of this name is registered in this process. Create the agent with this `name` on the same runtime; the run goes on then. HTTP 503; may be sent again later. */
  agent_not_registered: 503;
  /** The process of the run ended before the run did. Start the run again, or register its function with `onRestart: 'rerun'`. HTTP 500; may be sent again. */
  interrupted: 500;
  /** There is no such thread. Correct the id; a thread belongs to the principal that made it. HTTP 404; fails again. */
  thread_not_found: 404;
  /** There is no such artifact. Correct the id; an artifact belongs to the principal that made it. HTTP 404; fails again. */
  artifact_not_found: 404;
  /** There is no such attachment. Correct the id; an attachment belongs to the principal that uploaded it. HTTP 404; fails again. */
  attachment_not_found: 404;
  /** The request has no valid key. Send a key of this server in the header `X-Millrace-API-Key`. HTTP 401; fails again. */
  unauthorized: 401;
  /** The caller may not do this. Give the handler an `authorize` function that returns the caller's principal and scopes. HTTP 403; fails again. */
  not_authorized: 403;
  /** The file of the store is cut. Restore a backup; what is behind the cut is lost. HTTP 500; fails again. */
  store_truncated: 500;
  /** The thread has no such message. Correct the id; read the thread for the ids of its messages. HTTP 404; fails again. */
  message_not_found: 404;
}

export type ErrorCode = keyof ErrorStatuses;

/** LobeHub's classes of errors and the HTTP status that its chat route gives them. */
export interface ErrorTypeStatuses {
  InvalidProviderAPIKey: 401;
  InvalidGithubToken: 401;
  InvalidGithubCopilotToken: 401;
  InvalidBedrockCredentials: 401;
  InvalidVertexCredentials: 401;
  PermissionDenied: 403;
  AccountDeactivated: 403;
  LocationNotSupportError: 403;
  InsufficientQuota: 429;
  RateLimitExceeded: 429;
  ProviderServiceUnavailable: 503;
  NoAvailableChannel: 503;
  OllamaServiceUnavailable: 472;
  ComfyUIServiceUnavailable: 472;
  ModelNotFound: 404;
  ExceededContextWindow: 400;
  ExceededToolLimit: 400;
  CapabilityNotSupported: 400;
  InvalidRequestFormat: 400;
  ContentModeration: 451;
  ProviderNetworkError: 504;
  StreamChunkError: 500;
  OperationInactivityTimeout: 504;
  ConversationParentMissing: 500;
  DatabasePersistError: 500;
  AgentRuntimeError: 470;
  ProviderBizError: 471;
  ProviderNoImageGenerated: 471;
  OllamaBizError: 472;
  ComfyUIBizError: 472;
  ComfyUIEmptyResult: 472;
  ComfyUIUploadFailed: 472;
  ComfyUIWorkflowError: 472;
  ComfyUIModelError: 472;
  InvalidOllamaArgs: 400;
  InvalidComfyUIArgs: 400;
  UserConfigError: 400;
  NoAvailableProvider: 400;
  ConnectionCheckFailed: 400;
  BadRequest: 400;
  Unauthorized: 401;
  InternalServerError: 500;
  UnknownChatFetchError: 500;
}

export type ErrorType = keyof ErrorTypeStatuses;
