// What a system without apt has to have, by the names of its own packages. These systems are not tried: the line
// spares a search.
import { existsSync, readFileSync } from 'node:fs';

// `ids` are what /etc/os-release calls the system (ID, then each of ID_LIKE).
const systems = [
  {
    ids: ['alpine'],
    name: 'Alpine',
    line: 'apk add g++ cmake ninja-is-really-ninja linux-headers boost-dev curl-dev rapidjson-dev zlib-dev openssl-dev openssl gtest-dev',
  },
  {
    ids: ['fedora', 'rhel', 'centos'],
    name: 'Fedora',
    line: 'dnf install gcc-c++ cmake ninja-build boost-devel libcurl-devel rapidjson-devel zlib-devel openssl-devel openssl gtest-devel',
  },
  {
    ids: ['arch'],
    name: 'Arch',
    line: 'pacman -S --needed gcc cmake ninja boost curl rapidjson zlib openssl gtest',
  },
  {
    ids: ['suse', 'opensuse', 'opensuse-tumbleweed'],
    name: 'openSUSE',
    line: 'zypper install gcc-c++ cmake ninja libboost_headers-devel libcurl-devel rapidjson-devel zlib-devel libopenssl-devel openssl gtest',
  },
  {
    ids: ['darwin'],
    name: 'macOS',
    line: 'xcode-select --install; brew install cmake ninja boost curl rapidjson zlib openssl@3 googletest',
  },
];

/** One sentence for a system without apt; `missing` are the names of what is not there. */
export function withoutApt(missing, ids = systemIds()) {
  const system = systems.find((one) => ids.some((id) => one.ids.includes(id)));
  const needed = `Set-up installs through apt, which is not here. Needed: ${missing.join('; ')}.`;
  if (!system) return `${needed} Install these, then try again.`;
  const rights = system.name === 'macOS' ? '' : ' (as administrator)';
  return `${needed} On ${system.name}, which is not tried yet, this line${rights} has them; then try again:\n  ${system.line}`;
}

/** What to say on a system that set-up cannot work on at all; undefined elsewhere. */
export function unsupported(platform = process.platform) {
  if (platform !== 'win32') return undefined;
  return (
    'Windows itself is not supported: use WSL 2. `wsl --install -d Debian` installs it; ' +
    'in its terminal, install git and Node 24 and clone the repository there.'
  );
}

function systemIds() {
  if (process.platform === 'darwin') return ['darwin'];
  return existsSync('/etc/os-release') ? idsIn(readFileSync('/etc/os-release', 'utf8')) : [];
}

/** ID and ID_LIKE of the text of /etc/os-release. */
export function idsIn(text) {
  const value = (name) => new RegExp(`^${name}="?([^"\n]*)"?$`, 'm').exec(text)?.[1] ?? '';
  return `${value('ID')} ${value('ID_LIKE')}`.split(' ').filter(Boolean);
}
