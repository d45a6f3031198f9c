/** A text in two pieces, as a stream has it; none of a text that is not there. */
export function halves(text = '') {
  const middle = text.length >> 1;
  return text === '' ? [] : [text.slice(0, middle), text.slice(middle)];
}
