/** Works on all items, several at a time; rejects with the first error. */
export async function each(items, work, width = 12) {
  const left = [...items].reverse();
  const workers = Array.from({ length: width }, async () => {
    while (left.length > 0) await work(left.pop());
  });
  await Promise.all(workers);
}
