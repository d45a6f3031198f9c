// What sends a request, in Node and in pages.

/** One request, as channels make them. */
export interface ChannelRequest {
  /** Absent means GET. */
  method?: string | undefined;
  headers: Record<string, string>;
  body?: string | undefined;
  signal?: AbortSignal | undefined;
}

export type Transport = (url: string, request: ChannelRequest) => Promise<Response>;
