// The files of this repository that git knows or would add.
import { output } from './setup/report.mjs';

export function sources(root, suffixes) {
  const list = (...options) =>
    (output('git', ['-C', root, 'ls-files', ...options]) ?? '').split('\n');
  const deleted = new Set(list('--deleted'));
  const names = list('--cached', '--others', '--exclude-standard', '--deduplicate');
  return names.filter(
    (name) => !deleted.has(name) && suffixes.some((suffix) => name.endsWith(suffix)),
  );
}
