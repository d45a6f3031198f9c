// What failed, said once more at the end of a run, where a record of it that was cut still has it.
const lines = 20;

/** Prints problems ({ name, text }), each by a line 'failed: NAME' and the first words about it. */
export function reportProblems(problems) {
  for (const { name, text } of problems) {
    console.log(`failed: ${name}`);
    for (const line of text.split('\n').slice(0, lines)) console.log(`  ${line.slice(0, 400)}`);
  }
}
