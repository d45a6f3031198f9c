// What of an output of the engine is read again.
import { eventsIn } from '../../../dist/cjs/runs/engine-items';

const itemsOf = (output: string): ({ type: string } | string)[] => JSON.parse(output) as never;
const replayed = (output: string): string | undefined =>
  eventsIn(itemsOf(output) as never[], output);

const text = '{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"}';
const tool = '{"type":"@tool","id":1,"value":{"name":"noop","arguments":"{}"}}';

describe('the events in an output', () => {
  it('are all that is read again', () => {
    expect(replayed(`[${text},${tool},"b"]`)).toBe(`[${text},"b"]`);
    expect(replayed(`[${tool}]`)).toBeUndefined();
    expect(replayed('[]')).toBeUndefined();
  });

  it('stay as they came beside the number of a record', () => {
    const output = `[${text}, {"type":"@seq","seq":7}]`;
    expect(replayed(output)).toBe(output);
  });

  it('are also those in the short form, and halves of a pair stay', () => {
    const output = `["\\ud83d",{"type":"@usage","tokens":{}}]`;
    expect(replayed(output)).toBe(output);
    expect(replayed(`["\\ud83d",${tool}]`)).toBe('["\\ud83d"]');
  });
});
