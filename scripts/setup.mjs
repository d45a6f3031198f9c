// Makes this checkout ready to run:
//   node scripts/setup.mjs start | test | ci
//   start  compiler and libraries, npm packages, the release addon, dist/
//   test   the same, plus GoogleTest and the engine tests
//   ci     as start, plus GoogleTest, clang, clang-tidy, clang-format and libFuzzer
// Every part looks first and does nothing when it has nothing to do. Downloads come from apt and npm alone.
//
// This file, help.mjs and setup/node-version.mjs keep to the syntax of Node 12: an old Node must get as far as to say
// that it is old. The rest is loaded behind that.
import './help.mjs';

import { isTooOld, tooOldText } from './setup/node-version.mjs';

if (isTooOld(process.versions.node)) {
  process.stderr.write(
    '\nmillrace: set-up stopped. ' + tooOldText(process.versions.node, process.env) + '\n',
  );
  process.exitCode = 1;
} else {
  import('./setup/main.mjs').then((setup) => setup.main(process.argv[2] || 'start'));
}
