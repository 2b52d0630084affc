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
