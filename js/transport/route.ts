// How connections are made: proxies, certificates and HTTP/2.

/** The proxies of http: and https: addresses; the text of each may hold user and password. */
export interface ProxySettings {
  http?: string | undefined;
  https?: string | undefined;
  /** Hosts that are reached directly, as NO_PROXY lists them. */
  noProxy?: string | undefined;
}

export interface RouteOptions {
  /** One proxy for everything, or one a scheme; "" uses none. Default: what the environment says. */
  proxy?: string | ProxySettings | undefined;
  /** PEM text of the only authorities that are trusted; default: the system's and Node's extra ones. */
  ca?: string | readonly string[] | undefined;
  /** PEM text of a client certificate and its key. */
  cert?: string | undefined;
  key?: string | undefined;
  passphrase?: string | undefined;
  /** Offers HTTP/2; an answer that is not read may then hold 32 MB. Default false. */
  http2?: boolean | undefined;
}

const names = ['proxy', 'ca', 'cert', 'key', 'passphrase', 'http2'] as const;

/** The members of `options` that say how connections are made. */
export function routeOf(options: RouteOptions): RouteOptions {
  const given = names.filter((name) => options[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, options[name]]));
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxies that HTTPS_PROXY, http_proxy, ALL_PROXY and NO_PROXY name; this machine itself is
 * always reached directly. HTTP_PROXY in capitals is left out, as curl does: in a CGI program it is
 * a header of the request.
 */
export function proxyFromEnvironment(env: Environment = process.env): ProxySettings | undefined {
  const valueOf = (...variables: string[]): string | undefined =>
    variables.map((name) => env[name]?.trim()).find((value) => value);
  const http = valueOf('http_proxy', 'all_proxy', 'ALL_PROXY');
  const https = valueOf('https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY');
  if (http === undefined && https === undefined) return undefined;
  const direct = valueOf('no_proxy', 'NO_PROXY');
  const noProxy = direct === '*' ? '*' : ['localhost', '127.0.0.1', '::1', direct ?? []].flat();
  return { http, https, noProxy: Array.isArray(noProxy) ? noProxy.join(',') : noProxy };
}
