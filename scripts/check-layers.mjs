// Checks the rules that keep the house in shape, over lib/, native/ and js/:
//   - a room includes only what scripts/layers.json allows, and the engine never includes native/
//   - a third-party header stays in its room; where layers.json says "private", so do headers of ours that
//     include it, directly or not
//   - no brace inside an expression with co_await, unless it is a lambda's body: g++ 12 destroys such
//     temporaries twice
//   - no Function::New without guard<...>: a C++ exception that leaves a callback ends the process
//   - no function of C that asks the locale of the process, which is not ours to set
//   - locks of files, syncs and processes only in lib/os
//   - what Linux alone has only in lib/os/linux, and only lib/os asks which system it is
//   - a file of js/ imports only what scripts/layers.json allows, and no imports form a circle
//   node scripts/check-layers.mjs
// Prints one line a violation and exits with 1. Tests call violationsIn() with made-up files.
import './help.mjs';

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { jsViolations, reachable } from './lint/js-rooms.mjs';
import { sources } from './sources.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const layers = JSON.parse(readFileSync(join(root, 'scripts/layers.json'), 'utf8'));

// `files`: path from the root -> text. Gives sentences.
export function violationsIn(files) {
  const cpp = files.filter(([path]) => !path.startsWith('js/'));
  return [...cppViolations(cpp), ...jsViolations(files, layers.js)];
}

function cppViolations(files) {
  const found = [];
  const users = layers.third_party.map(() => new Set());
  for (const [path, text] of files) {
    const code = withoutCommentsAndStrings(text);
    found.push(...includeViolations(path, text, users), ...braceViolations(path, code));
    found.push(...localeViolations(path, code), ...systemViolations(path, code));
    found.push(...linuxViolations(path, code));
    found.push(...eventViolations(path, code));
    if (path.startsWith('native/')) found.push(...callbackViolations(path, code));
  }
  found.push(...leakViolations(files));
  layers.third_party.forEach((rule, index) => {
    const count = users[index].size;
    if (rule.at_most_files && count > rule.at_most_files) {
      found.push(
        `${rule.headers.join(', ')} is included by ${count} files; at most ${rule.at_most_files} may`,
      );
    }
  });
  return found;
}

// --- includes --------------------------------------------------------------------------------------

const roomOf = (path) => /^lib\/([^/]+)\//.exec(path)?.[1];

function includeViolations(path, text, users) {
  const found = [];
  const room = roomOf(path);
  if (path.startsWith('lib/') && !(room in layers.rooms))
    return [`${path}: the room '${room}' has no row in scripts/layers.json`];
  for (const [, quoted, name] of text.matchAll(/^\s*#\s*include\s*([<"])([^>"]+)[>"]/gm)) {
    if (quoted === '"') found.push(...ownInclude(path, room, name));
    found.push(...thirdPartyInclude(path, name, users));
  }
  return found;
}

function ownInclude(path, room, name) {
  const target = name.split('/')[0];
  if (!name.includes('/')) {
    return room ? [`${path}: includes "${name}"; write the path from lib/`] : [];
  }
  if (!room || target in layers.rooms === false)
    return room && target === 'native' ? [`${path}: the engine must not include native/`] : [];
  return reachable(room, layers.rooms).has(target)
    ? []
    : [`${path}: '${room}' must not include '${target}' ("${name}")`];
}

function thirdPartyInclude(path, name, users) {
  const found = [];
  layers.third_party.forEach((rule, index) => {
    const hit = rule.headers.some((header) =>
      header.endsWith('/') ? name.startsWith(header) : name === header,
    );
    if (!hit) return;
    users[index].add(path);
    if (!rule.only_in.some((prefix) => path.startsWith(prefix))) {
      found.push(`${path}: <${name}> belongs in ${rule.only_in.join(', ')}`);
    }
  });
  return found;
}

// Our headers through which a private third-party header would reach another room.
function leakViolations(files) {
  const texts = new Map(files);
  const isPrivate = (name) =>
    layers.third_party.some(
      (rule) => rule.private && rule.headers.some((header) => name.startsWith(header)),
    );
  const verdicts = new Map();
  const carries = (path) => {
    if (!verdicts.has(path)) {
      verdicts.set(path, false);
      const names = includesOf(texts.get(path) ?? '');
      verdicts.set(
        path,
        names.some((name) => isPrivate(name) || carries(`lib/${name}`)),
      );
    }
    return verdicts.get(path);
  };
  return files.flatMap(([path, text]) =>
    includesOf(text)
      .filter(
        (name) =>
          texts.has(`lib/${name}`) &&
          roomOf(`lib/${name}`) !== roomOf(path) &&
          carries(`lib/${name}`),
      )
      .map((name) => `${path}: "${name}" brings a third-party header of another room with it`),
  );
}

const includesOf = (text) =>
  [...text.matchAll(/^\s*#\s*include\s*[<"]([^>"]+)[>"]/gm)].map((match) => match[1]);

// --- co_await --------------------------------------------------------------------------------------

function braceViolations(path, code) {
  const found = [];
  for (const match of code.matchAll(/\bco_await\b/g)) {
    if (braceAfter(code, match.index) || braceBefore(code, match.index)) {
      const line = code.slice(0, match.index).split('\n').length;
      found.push(
        `${path}:${line}: a brace in an expression with co_await; name the value first and move it in`,
      );
    }
  }
  return found;
}

// From co_await to the end of its expression.
function braceAfter(code, start) {
  let depth = 0;
  for (let at = start; at < code.length; at++) {
    const c = code[at];
    if (c === '[' && isLambda(code, at)) at = endOfLambda(code, at);
    else if ('(['.includes(c)) depth++;
    else if (')]'.includes(c) && --depth < 0) return false;
    else if (c === ';' || c === '}') return false;
    else if (c === '{') return true;
  }
  return false;
}

// From the start of the statement to co_await: an open or finished braced value.
function braceBefore(code, start) {
  for (let at = start - 1; at >= 0; at--) {
    const c = code[at];
    if (c === ';') return false;
    if (c === '{') return opensValue(code, at);
    if (c === '}') return opensValue(code, matchBack(code, at));
  }
  return false;
}

// A brace after a name, a template's end, '=', '(' or ',' starts a value; after ')' or a keyword, a block.
function opensValue(code, at) {
  const before = code.slice(0, at).trimEnd();
  if (/\b(else|do|try|mutable|noexcept|const|override|final)$/.test(before)) return false;
  if (/\b(namespace|struct|class|enum|union)\s[^;{}()]*$/.test(before)) return false;
  if (/\)\s*->\s*[\w:<>,\s*&]+$/.test(before)) return false;
  return /[\w>=(,]$|\breturn$/.test(before);
}

function matchBack(code, at) {
  let depth = 0;
  for (; at >= 0; at--) {
    if (code[at] === '}') depth++;
    else if (code[at] === '{' && --depth === 0) return at;
  }
  return 0;
}

// '[' starts a lambda unless it follows a value (then it is an index) or another '[' (an attribute).
function isLambda(code, at) {
  return !/[\w)\]]$/.test(code.slice(0, at).trimEnd()) && code[at + 1] !== '[';
}

function endOfLambda(code, at) {
  let open = matchForward(code, at, '[', ']') + 1;
  while (open < code.length && code[open] !== '{' && code[open] !== ';') {
    open = code[open] === '(' ? matchForward(code, open, '(', ')') + 1 : open + 1;
  }
  return matchForward(code, open, '{', '}');
}

function matchForward(code, at, opening, closing) {
  let depth = 0;
  for (; at < code.length; at++) {
    if (code[at] === opening) depth++;
    else if (code[at] === closing && --depth === 0) return at;
  }
  return code.length;
}

// --- callbacks -------------------------------------------------------------------------------------

function callbackViolations(path, code) {
  return [...code.matchAll(/\bFunction::New\b[^;]*;/g)]
    .filter((match) => !/\bguard</.test(match[0]))
    .map((match) => {
      const line = code.slice(0, match.index).split('\n').length;
      return `${path}:${line}: Function::New without guard<...>; an exception would end the process`;
    });
}

// --- locales ---------------------------------------------------------------------------------------

function localeViolations(path, code) {
  const names =
    /\b(?:to(?:lower|upper)|is(?:alnum|alpha|digit|xdigit|space|punct|print|lower|upper)|strto(?:d|f|ld)|sto(?:d|f|ld)|atof|strcoll|setlocale)\s*\(/g;
  return [...code.matchAll(names)].map((match) => {
    const line = code.slice(0, match.index).split('\n').length;
    const name = match[0].replace(/\s*\($/, '');
    return `${path}:${line}: ${name} asks the locale; base/ascii.hpp and std::from_chars do not`;
  });
}

// --- the system ------------------------------------------------------------------------------------

// Names that methods of ours have, too, count behind `::` alone.
const systemCalls =
  /(?<![\w.>:])(?:::)?(?:fsync|fdatasync|sync_file_range|syncfs|flock|lockf|posix_spawnp?|uname|waitpid|waitid)\s*\(|(?<![\w>])::(?:fork|vfork|execve?p?|kill|killpg|sync)\s*\(|\bF_(?:OFD_)?SETLKW?\b|\bF_FULLFSYNC\b/g;

function systemViolations(path, code) {
  if (path.startsWith('lib/os/')) return [];
  return [...code.matchAll(systemCalls)].map((match) => {
    const line = code.slice(0, match.index).split('\n').length;
    const name = match[0].replace(/\s*\($/, '').replace('::', '');
    return `${path}:${line}: ${name} belongs in lib/os, which has locks, syncs, processes and the name of the system`;
  });
}

// Calls and flags that macOS or a BSD does not have, or has with other arguments.
const linuxNames =
  /(?<![\w.>])(?:accept4|copy_file_range|dup3|epoll_\w+|eventfd|fallocate|fanotify_\w+|getrandom|gettid|inotify_\w+|malloc_trim|mallinfo2?|memfd_create|mkostemps?|pidfd_\w+|pipe2|ppoll|prctl|prlimit|pthread_setname_np|renameat2|sendfile|sendmmsg|recvmmsg|signalfd|splice|statx|syscall|tee|timerfd_\w+|vmsplice)\s*\(|\b(?:EPOLL\w+|MFD_\w+|MSG_NOSIGNAL|O_PATH|O_TMPFILE|POLLRDHUP|PR_[GS]ET_\w+|SO_PEERCRED|SOCK_CLOEXEC|SOCK_NONBLOCK|SYS_\w+|TCP_(?:CORK|KEEPIDLE|QUICKACK|USER_TIMEOUT))\b/g;
// Outside lib/os, systemCalls has these.
const linuxSyncs = /\b(?:fdatasync|sync_file_range|syncfs)\s*\(|\bF_OFD_\w+/g;
const otherNames = /\bst_[amc]tim\b/g;
const systemQuestions =
  /^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b.*\b(?:__linux__|__gnu_linux__|linux|__APPLE__|__MACH__|TARGET_OS_\w+|__(?:Free|Net|Open)BSD__|__unix__|__GLIBC__|BOOST_OS_\w+|_WIN32)\b/gm;

const isLinux = (name) => `${name} is Linux's alone; it belongs in lib/os/linux`;

function linuxViolations(path, code) {
  const isInOs = path.startsWith('lib/os/');
  const sentences = (pattern, sentenceOf) =>
    [...code.matchAll(pattern)].map((match) => {
      const line = code.slice(0, match.index).split('\n').length;
      return `${path}:${line}: ${sentenceOf(match[0].replace(/\s*\($/, ''))}`;
    });
  if (path.startsWith('lib/os/linux/')) return [];
  const found = sentences(linuxNames, isLinux);
  if (isInOs) {
    found.push(...sentences(linuxSyncs, isLinux));
  } else {
    found.push(
      ...sentences(otherNames, (name) => `macOS has no ${name}; os/file_place.hpp reads it`),
    );
    found.push(...sentences(systemQuestions, () => 'only lib/os asks which system it is'));
  }
  return found;
}

// --- events ----------------------------------------------------------------------------------------

// What the engine itself tells has a type of its own, and whoever encodes it reads no JSON to learn
// what it is.
const eventRules = [
  {
    pattern: /\bForeign\s*\{/g,
    applies: (path) => path.startsWith('lib/') && !/^lib\/(adapter|event)\//.test(path),
    says: 'an event of our own is Foreign; give it an alternative of event::Body',
  },
  {
    pattern: /\b(?:Document|Tree::parse)\b/g,
    applies: (path) => /^lib\/encoder\/ag_ui\.(cpp|hpp)$/.test(path),
    says: 'the encoder parses JSON; the event must say it in a member',
  },
];

function eventViolations(path, code) {
  return eventRules
    .filter(({ applies }) => applies(path))
    .flatMap(({ pattern, says }) =>
      [...code.matchAll(pattern)].map((match) => {
        const line = code.slice(0, match.index).split('\n').length;
        return `${path}:${line}: ${says}`;
      }),
    );
}

// Blanks comments, strings and characters, keeping every line break.
function withoutCommentsAndStrings(text) {
  const pattern =
    /\/\/[^\n]*|\/\*[\s\S]*?\*\/|R"([^(\s]*)\([\s\S]*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![\w])'(?:\\.|[^'\\\n])+'/g;
  return text.replace(
    pattern,
    (match) => (match[0] === '/' ? '' : '""') + match.replace(/[^\n]/g, ''),
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const names = sources(root, ['.cpp', '.hpp', '.ts']).filter((name) =>
    /^(lib|native|js)\//.test(name),
  );
  const found = violationsIn(names.map((name) => [name, readFileSync(join(root, name), 'utf8')]));
  for (const line of found) console.error(line);
  console.log(`check-layers: ${names.length} files, ${found.length} violations`);
  process.exitCode = found.length > 0 || names.length === 0 ? 1 : 0;
}
