// Loaded before a program of crashAfter(): has the engine end the process at the crash point of the environment.
import { engine } from '../transport/engine';

interface Point {
  kind: string;
  name: string;
  count: number;
}

const given = process.env['MILLRACE_CRASH_POINT'];
// Programs that it starts itself go on.
delete process.env['MILLRACE_CRASH_POINT'];
if (given !== undefined) {
  const { kind, name, count } = JSON.parse(given) as Point;
  engine().crashAfter(kind, name, count);
}
