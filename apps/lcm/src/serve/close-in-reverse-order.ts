/** Runs `work`, then runs its `onClose` callbacks in reverse order, even after errors. Rejects with the first error. */
export async function closingAfter(work: (onClose: (close: () => unknown) => void) => Promise<void>): Promise<void> {
  const closing: (() => unknown)[] = []
  const failures: unknown[] = []
  const attempt = async (step: () => unknown) => {
    try {
      await step()
    } catch (error) {
      failures.push(error)
    }
  }
  await attempt(() => work(close => closing.unshift(close)))
  for (const close of closing) await attempt(close)
  if (failures.length > 0) throw failures[0]
}
