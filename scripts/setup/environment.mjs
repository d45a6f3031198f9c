// The environment that CMake, ninja, the compilers and npm run in: a user's own, without what belongs to other
// builds. What is changed is said once, in `notes`.
import { accessSync, constants, existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

// Flags for whatever is compiled in this shell. The addon is compiled with the project's own: -m32, -std or a
// library's folder among them would break it, and CMake would keep them from the first configuration on.
const flags = ['CFLAGS', 'CXXFLAGS', 'CPPFLAGS', 'LDFLAGS'];

/**
 * { env, notes } for the tools of the build. `facts` are { home, canWrite(folder), exists(path) }; caches go to
 * `root`/build/cache where the user's own cannot be written.
 */
export function toolEnvironment(given, root, facts = factsOf(given)) {
  const notes = [];
  const env = { ...given };
  const ignored = flags.filter((name) => env[name]?.trim());
  for (const name of flags) delete env[name];
  if (ignored.length > 0) {
    notes.push(
      `${ignored.join(', ')} of the environment: not used. ` +
        'After a build, `cmake --preset release -DCMAKE_CXX_FLAGS=...` sets flags that stay.',
    );
  }
  if (leaveConda(env)) {
    notes.push("conda is active: not used. The build takes the system's compiler and libraries.");
  }
  const moved = cachesToMove(env, facts);
  for (const [variable, name] of moved) env[variable] = join(root, 'build/cache', name);
  if (moved.length > 0) {
    notes.push(`caches are in build/cache: the home folder ${facts.home} cannot be written.`);
  }
  return { env, notes };
}

/** The compiler's command and words that belong to it: CXX may be "ccache g++". */
export function compilerOf(env) {
  const text = env.CXX?.trim() || 'c++';
  return existsSync(text) ? [text] : text.split(/\s+/);
}

// conda puts tools, headers and libraries of its own in front of the system's. They are built against other
// libraries than the Node that runs here, and CMake would take some from here and some from there.
function leaveConda(env) {
  const folders = [env.CONDA_PREFIX, env.CONDA_ROOT, env.MAMBA_ROOT_PREFIX]
    .concat(Object.keys(env).flatMap((name) => (/^CONDA_PREFIX_\d+$/.test(name) ? env[name] : [])))
    .concat(env.CONDA_EXE ? dirname(dirname(env.CONDA_EXE)) : [])
    .filter((folder) => folder && folder !== '/' && folder !== '/usr');
  if (folders.length === 0) return false;
  const isInside = (path) =>
    folders.some((folder) => path === folder || path.startsWith(`${folder}/`));
  let changed = false;
  for (const [name, value] of Object.entries(env)) {
    const parts = value.split(':');
    const retained = parts.filter((part) => !isInside(part));
    if (retained.length === parts.length) continue;
    changed ||= !/^(CONDA|MAMBA)/.test(name);
    if (retained.length === 0) delete env[name];
    else env[name] = retained.join(':');
  }
  return changed;
}

// [variable, folder's name] of each cache that has no place: in a container's home that is read-only or missing,
// ccache and npm would stop the build.
function cachesToMove(env, { home, canWrite, exists }) {
  const shared = env.XDG_CACHE_HOME || join(home, '.cache');
  const old = join(home, '.ccache');
  const caches = [
    ['CCACHE_DIR', 'ccache', env.CCACHE_DIR || (exists(old) ? old : join(shared, 'ccache'))],
    ['npm_config_cache', 'npm', env.npm_config_cache || join(home, '.npm')],
  ];
  return caches.filter(([, , folder]) => !canWrite(folder));
}

function factsOf(env) {
  return { home: env.HOME || homedir(), canWrite, exists: existsSync };
}

/** Whether a folder can be written, or made when it is not there yet. */
export function canWrite(folder) {
  if (!existsSync(folder)) return dirname(folder) !== folder && canWrite(dirname(folder));
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
