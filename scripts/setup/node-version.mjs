// Which Node is too old, and the line that installs a newer one. In the syntax of Node 12, and without an
// import: an old Node reads this file.
const floor = [20, 9];
const advised = 24;

export function isTooOld(version) {
  const parts = version.split('.').map(Number);
  return parts[0] < floor[0] || (parts[0] === floor[0] && parts[1] < floor[1]);
}

// What keeps several Nodes says so in the environment.
const managers = [
  { variable: 'NVM_DIR', line: 'nvm install ' + advised },
  { variable: 'FNM_DIR', line: 'fnm install ' + advised + ' && fnm use ' + advised },
  { variable: 'VOLTA_HOME', line: 'volta install node@' + advised },
  {
    variable: 'CONDA_PREFIX',
    line: 'conda install --channel conda-forge nodejs=' + advised,
  },
];
const anywhere = 'sudo npm install --global node@' + advised + ' && hash -r';

export function tooOldText(version, environment) {
  const lines = managers
    .filter((manager) => environment[manager.variable])
    .map((manager) => manager.line);
  lines.push(anywhere);
  const choice = lines.length > 1 ? 'One of these lines installs one' : 'This line installs one';
  const text =
    'Node ' +
    version +
    ' is too old: Node ' +
    advised +
    ' is best, ' +
    floor.join('.') +
    ' the oldest that works. ' +
    choice +
    '; then try again:\n  ' +
    lines.join('\n  ');
  if (!environment.SUDO_USER) return text;
  return (
    text +
    '\nsudo looks for node in folders of its own and may find an older one. Without sudo, set-up asks for ' +
    'administrator rights where it needs them.'
  );
}
