/** What `work` comes to, or null when it takes longer than `limitMs`: it goes on, and nobody waits for it. */
export async function inTime<T>(work: Promise<T>, limitMs: number): Promise<T | null> {
  const { promise: late, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(() => resolve(null), limitMs);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** As `inTime`, for work that may come to null itself: throws when it takes longer. */
export async function withinLimit<T>(work: Promise<T>, limitMs: number): Promise<T> {
  const done = await inTime(
    work.then((value) => ({ value })),
    limitMs,
  );
  if (done === null) throw new Error(`no answer within ${limitMs} ms`);
  return done.value;
}
