// Written by scripts/generate-errors.mjs from lib/base/errors.def. Do not edit.

/** Every error code and the HTTP status that our own server gives it. Codes never change. */
export interface ErrorStatuses {
  /** An argument has the wrong type or value. HTTP 400; fails again. */
  invalid_argument: 400;
  /** An option has the wrong type or value. HTTP 400; fails again. */
  invalid_option: 400;
  /** The URL cannot be used. HTTP 400; fails again. */
  invalid_url: 400;
  /** No adapter has this name. HTTP 400; fails again. */
  unknown_wire: 400;
  /** No message format has this name. HTTP 400; fails again. */
  unknown_format: 400;
  /** No model provider has this name. HTTP 400; fails again. */
  unknown_provider: 400;
  /** The messages do not have the shape of the format. HTTP 400; fails again. */
  invalid_messages: 400;
  /** The provider needs an API key. HTTP 401; fails again. */
  missing_api_key: 401;
  /** The response body is already read or locked. HTTP 400; fails again. */
  response_used: 400;
  /** The response has no body. HTTP 400; fails again. */
  response_empty: 400;
  /** The state holds something that JSON cannot carry. HTTP 400; fails again. */
  state_not_serializable: 400;
  /** The state of the run does not have the expected shape. HTTP 400; fails again. */
  invalid_state: 400;
  /** The agent answered with something that is no instruction. HTTP 400; fails again. */
  invalid_instruction: 400;
  /** No executor knows this instruction. HTTP 400; fails again. */
  unknown_instruction: 400;
  /** The approval is not for the call that was shown. HTTP 409; fails again. */
  approval_mismatch: 409;
  /** The question was already answered. HTTP 409; fails again. */
  approval_answered: 409;
  /** No tool has this name. HTTP 404; fails again. */
  tool_not_found: 404;
  /** The tool failed. HTTP 500; fails again. */
  tool_failed: 500;
  /** The tool did not answer within its limit. HTTP 504; fails again. */
  tool_timeout: 504;
  /** The program is none of those that may be run. HTTP 403; fails again. */
  program_not_allowed: 403;
  /** More work waits than there are places for. HTTP 503; may be sent again later. */
  too_much_work: 503;
  /** The run reached its limit of cost; `result` has the answer so far. HTTP 429; fails again. */
  cost_limit_exceeded: 429;
  /** The run reached its limit of tokens; `result` has the answer so far. HTTP 429; fails again. */
  token_limit_exceeded: 429;
  /** The run reached its limit of time; `result` has the answer so far. HTTP 504; fails again. */
  timeout: 504;
  /** The run waits for a person's answer. HTTP 409; fails again. */
  run_interrupted: 409;
  /** The agent has no model to call. HTTP 400; fails again. */
  model_runtime_missing: 400;
  /** The connection to the MCP server cannot be opened. HTTP 502; fails again. */
  mcp_connection_failed: 502;
  /** The connection to the MCP server ended while the call ran; whether it had an effect is not known. HTTP 502; fails again. */
  mcp_session_lost: 502;
  /** The MCP server answered with an error. HTTP 502; fails again. */
  mcp_error: 502;
  /** The MCP server does not speak the Model Context Protocol correctly. HTTP 502; fails again. */
  mcp_protocol_error: 502;
  /** The MCP server wants an authorization. HTTP 401; fails again. */
  mcp_unauthorized: 401;
  /** The program cannot be started. HTTP 500; fails again. */
  process_start_failed: 500;
  /** The text is not valid JSON. HTTP 400; fails again. */
  invalid_json: 400;
  /** The JSON Schema cannot be used. HTTP 400; fails again. */
  invalid_schema: 400;
  /** Checking a value against the schema costs more than the limit. HTTP 400; fails again. */
  schema_too_complex: 400;
  /** The JSON is nested deeper than the limit. HTTP 400; fails again. */
  json_too_deep: 400;
  /** A line of the stream is longer than the limit. HTTP 502; fails again. */
  line_too_long: 502;
  /** An event of the stream is larger than the limit. HTTP 502; fails again. */
  event_too_large: 502;
  /** The decoded response is larger than the limit. HTTP 502; fails again. */
  response_too_large: 502;
  /** The response headers are larger than the limit. HTTP 502; fails again. */
  headers_too_large: 502;
  /** The arguments of a tool call are larger than the limit. HTTP 502; fails again. */
  tool_arguments_too_large: 502;
  /** The answer has too many parts, or too many are open at a time. HTTP 502; fails again. */
  too_many_parts: 502;
  /** The compressed body cannot be decoded. HTTP 502; fails again. */
  decompression_failed: 502;
  /** The body has a content encoding that was not asked for. HTTP 502; fails again. */
  unsupported_encoding: 502;
  /** The stream ended before the answer was complete. HTTP 502; may be sent again. */
  stream_truncated: 502;
  /** The bytes of the stream are damaged. HTTP 502; may be sent again. */
  stream_corrupt: 502;
  /** The stream ended without an event. HTTP 502; may be sent again. */
  stream_empty: 502;
  /** The body is not a stream of this wire. HTTP 502; fails again. */
  not_a_stream: 502;
  /** A record of the stream could not be read and was skipped. HTTP 502; fails again. */
  record_skipped: 502;
  /** The address is none that the request may reach. HTTP 403; fails again. */
  address_blocked: 403;
  /** The host name cannot be resolved. HTTP 502; may be sent again. */
  name_resolution_failed: 502;
  /** The connection cannot be made. HTTP 502; may be sent again. */
  connect_failed: 502;
  /** The proxy cannot be reached or refuses the connection. HTTP 502; may be sent again. */
  proxy_failed: 502;
  /** The connection was not made within the limit. HTTP 504; may be sent again. */
  connect_timeout: 504;
  /** No answer began within the limit. HTTP 504; may be sent again. */
  first_byte_timeout: 504;
  /** The stream was silent for longer than the limit. HTTP 504; may be sent again. */
  idle_timeout: 504;
  /** The call took longer than the limit. HTTP 504; may be sent again. */
  total_timeout: 504;
  /** The TLS connection was refused or the certificate is not trusted. HTTP 502; fails again. */
  tls_failed: 502;
  /** The connection broke before the answer was complete. HTTP 502; may be sent again. */
  connection_lost: 502;
  /** The peer does not speak HTTP correctly. HTTP 502; fails again. */
  protocol_error: 502;
  /** The request was redirected too often. HTTP 502; fails again. */
  too_many_redirects: 502;
  /** The call was cancelled. HTTP 499; fails again. */
  cancelled: 499;
  /** The engine is closed. HTTP 503; fails again. */
  engine_closed: 503;
  /** The provider reported an error. HTTP 502; may be sent again. */
  provider_error: 502;
  /** The provider refused the request. HTTP 400; fails again. */
  provider_bad_request: 400;
  /** The provider refused the credentials. HTTP 401; fails again. */
  authentication_failed: 401;
  /** The credentials do not allow this call. HTTP 403; fails again. */
  permission_denied: 403;
  /** The provider does not know this model or address. HTTP 404; fails again. */
  model_not_found: 404;
  /** The provider's rate limit is reached. HTTP 429; may be sent again later. */
  rate_limited: 429;
  /** The account at the provider has no quota or credit left. HTTP 429; fails again. */
  insufficient_quota: 429;
  /** The account at the provider is deactivated. HTTP 403; fails again. */
  account_deactivated: 403;
  /** The provider does not serve this country or region. HTTP 403; fails again. */
  location_not_supported: 403;
  /** GitHub Models refused the token. HTTP 401; fails again. */
  invalid_github_token: 401;
  /** GitHub Copilot refused the token. HTTP 401; fails again. */
  invalid_copilot_token: 401;
  /** AWS refused the credentials. HTTP 401; fails again. */
  invalid_bedrock_credentials: 401;
  /** Google Cloud refused the credentials. HTTP 401; fails again. */
  invalid_vertex_credentials: 401;
  /** The gateway has no channel for this model. HTTP 503; fails again. */
  no_available_channel: 503;
  /** Ollama does not answer; start it or check the base URL. HTTP 503; fails again. */
  ollama_unavailable: 503;
  /** Ollama reported an error. HTTP 502; fails again. */
  ollama_error: 502;
  /** The conversation is longer than the model's context window. HTTP 400; fails again. */
  context_window_exceeded: 400;
  /** The tools are more or larger than the provider takes. HTTP 400; fails again. */
  tool_limit_exceeded: 400;
  /** The provider or model cannot do this. HTTP 400; fails again. */
  capability_not_supported: 400;
  /** The provider's safety filter stopped the answer. HTTP 451; fails again. */
  content_filtered: 451;
  /** The answer reached the limit of output tokens and is cut. HTTP 200; fails again. */
  output_limit_reached: 200;
  /** The answer does not follow the schema that was asked for. HTTP 502; fails again. */
  invalid_object: 502;
  /** The provider answered without an image. HTTP 502; fails again. */
  no_image_generated: 502;
  /** The provider failed too often in a short time and is not asked for a while. HTTP 503; may be sent again later. */
  circuit_open: 503;
  /** The run is too long to be read a second time. HTTP 400; fails again. */
  run_not_kept: 400;
  /** The provider is overloaded. HTTP 503; may be sent again later. */
  provider_overloaded: 503;
  /** The request is not valid HTTP. HTTP 400; fails again. */
  bad_request: 400;
  /** The request line is not valid HTTP/1.1. HTTP 400; fails again. */
  invalid_request_line: 400;
  /** A request header is not valid HTTP/1.1. HTTP 400; fails again. */
  invalid_header: 400;
  /** The request needs exactly one valid Host header. HTTP 400; fails again. */
  invalid_host: 400;
  /** The request does not say clearly how long its body is. HTTP 400; fails again. */
  invalid_body_length: 400;
  /** The chunked request body is malformed. HTTP 400; fails again. */
  invalid_chunk: 400;
  /** The request body does not have the expected shape. HTTP 400; fails again. */
  invalid_body: 400;
  /** The Host header is not in the allow list. HTTP 403; fails again. */
  host_not_allowed: 403;
  /** The Origin header is not in the allow list. HTTP 403; fails again. */
  origin_not_allowed: 403;
  /** There is no such route. HTTP 404; fails again. */
  route_not_found: 404;
  /** The route does not allow this method. HTTP 405; fails again. */
  method_not_allowed: 405;
  /** The request did not arrive within the limit. HTTP 408; may be sent again. */
  request_timeout: 408;
  /** The request needs a Content-Length or chunked body. HTTP 411; fails again. */
  length_required: 411;
  /** The request body is larger than the limit. HTTP 413; fails again. */
  body_too_large: 413;
  /** The request target is longer than the limit. HTTP 414; fails again. */
  target_too_long: 414;
  /** The request body must be application/json. HTTP 415; fails again. */
  unsupported_media_type: 415;
  /** The Expect header cannot be met. HTTP 417; fails again. */
  expectation_failed: 417;
  /** The request headers are larger than the limit. HTTP 431; fails again. */
  request_headers_too_large: 431;
  /** The HTTP version is not supported. HTTP 505; fails again. */
  http_version_not_supported: 505;
  /** The server has no room for another connection. HTTP 503; may be sent again later. */
  too_many_connections: 503;
  /** The address and port are already in use. HTTP 500; fails again. */
  address_in_use: 500;
  /** The server cannot listen on the address. HTTP 500; fails again. */
  listen_failed: 500;
  /** No native addon for this platform was found. HTTP 500; fails again. */
  addon_not_found: 500;
  /** The native addon was found but cannot be loaded. HTTP 500; fails again. */
  addon_load_failed: 500;
  /** An invariant of the engine was broken. HTTP 500; fails again. */
  internal: 500;
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
