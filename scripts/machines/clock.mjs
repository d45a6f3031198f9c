// The tests in other years: { name, title, suite, packages, run }, `run` being what bash does in a machine after the
// set-up. The wall clock alone is moved, by the same distance in every process, so that certificates made by one are valid
// in another, and so are the times of files; time-outs go by the monotonic clock.
const moments = [
  { name: '2038', date: '2038-01-20', why: 'a 32-bit clock has run over' },
  { name: '2100', date: '2100-03-01', why: 'a year by four without its leap day' },
];

const inAnotherYear = (date) => `
cd "$CLONE"
days=$((($(date --utc --date=${date} +%s) - $(date +%s)) / 86400 + 1))
export FAKE_UTIME=1
export LD_PRELOAD=$(dpkg --listfiles libfaketime | grep '/libfaketimeMT\\.so\\.1$')
export FAKETIME="+\${days}d" FAKETIME_DONT_FAKE_MONOTONIC=1
date --utc +"the tests run on %F"
node scripts/test.mjs
`;

export const rows = moments.map(({ name, date, why }) => ({
  name: `clock-${name}`,
  title: `Debian 13 after ${date}: ${why}`,
  suite: 'trixie',
  packages: ['faketime'],
  run: inAnotherYear(date),
}));
