// Jest runs test/js against the built package: what is tested is what is shipped. Types are checked by
// `npm run lint`; here they are only stripped.
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const typescript = {
  diagnostics: false,
  tsconfig: {
    module: 'CommonJS',
    moduleResolution: 'Node10',
    target: 'ES2022',
    esModuleInterop: true,
    isolatedModules: true,
    allowJs: true,
  },
};
// Packages without a CommonJS build.
const modulesOnly = '(arktype|arkregex|@ark)/';

export default {
  rootDir: dirname(fileURLToPath(import.meta.url)),
  roots: ['<rootDir>/test/js'],
  testMatch: ['**/*.test.ts'],
  testEnvironment: 'node',
  testSequencer: '<rootDir>/scripts/testing/sequencer.mjs',
  // Ends what hangs; how long something may take is measured by tests that run alone. Jest's own five seconds
  // measure how busy the machine is.
  testTimeout: 30_000,
  moduleNameMapper: { '^millrace$': '<rootDir>/dist/cjs/index.js' },
  modulePathIgnorePatterns: ['<rootDir>/build/', '<rootDir>/dist/.*/package.json'],
  transform: {
    '\\.ts$': ['ts-jest', typescript],
    [`node_modules/${modulesOnly}.+\\.js$`]: ['ts-jest', typescript],
  },
  transformIgnorePatterns: [`/node_modules/(?!${modulesOnly})`],
  cacheDirectory: '<rootDir>/build/cache/jest',
};
