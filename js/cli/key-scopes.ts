/** What keys may be for: `key_scopes` of lib/api/api_options.hpp. */
export const keyScopes: readonly string[] = ['read', 'chat', 'tools', 'approve'];
