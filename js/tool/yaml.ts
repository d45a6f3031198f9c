// YAML of front matter. The build puts the parser into this module (scripts/build-js.mjs), so the package depends on
// none.
import { parse } from 'yaml';

/** Plain data of YAML 1.2; throws an error whose message names the place. */
export function parseYaml(text: string): unknown {
  // Aliases could expand to more than a text has.
  return parse(text, { maxAliasCount: 0, prettyErrors: true, logLevel: 'error' });
}
