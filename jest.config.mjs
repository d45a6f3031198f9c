// Jest runs test/js against the built package: what is tested is what is shipped. Types are checked by
// `npm run lint`; here they are only stripped.
export default {
  rootDir: new URL('.', import.meta.url).pathname,
  roots: ['<rootDir>/test/js'],
  testMatch: ['**/*.test.ts'],
  testEnvironment: 'node',
  moduleNameMapper: { '^millrace$': '<rootDir>/dist/cjs/index.js' },
  modulePathIgnorePatterns: ['<rootDir>/build/', '<rootDir>/dist/.*/package.json'],
  transform: {
    '\\.ts$': [
      'ts-jest',
      {
        diagnostics: false,
        tsconfig: {
          module: 'CommonJS',
          moduleResolution: 'Node10',
          target: 'ES2022',
          esModuleInterop: true,
          isolatedModules: true,
        },
      },
    ],
  },
  cacheDirectory: '<rootDir>/build/cache/jest',
};
