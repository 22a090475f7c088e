/** Runs the work, then closes in reverse order what it opened, also when it or a close fails. Rejects with what failed first. */
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
