// The environment of programs that tests start.
const needed = /^(PATH|LD_PRELOAD|FAKETIME.*|FAKE_UTIME)$/;

/**
 * What a program needs of this process's environment: no key and no setting of a user. A preloaded clock is kept, since
 * programs compare their times.
 */
export const bareEnvironment: Record<string, string> = Object.fromEntries(
  Object.entries(process.env).flatMap(([name, value]) =>
    needed.test(name) && value !== undefined ? [[name, value]] : [],
  ),
);
