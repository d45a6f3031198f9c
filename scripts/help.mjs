// Imported first by each script with a command line: with --help or -h, it prints the comment at the top of the script
// and ends. In the syntax of Node 12, as set-up imports it.
import { readFileSync } from 'fs';

if (process.argv.includes('--help') || process.argv.includes('-h')) {
  const lines = readFileSync(process.argv[1], 'utf8').split('\n');
  const end = lines.findIndex((line) => !line.startsWith('//'));
  const text = lines.slice(0, end).map((line) => line.replace(/^\/\/ ?/, ''));
  process.stdout.write(text.join('\n') + '\n');
  process.exit(0);
}
