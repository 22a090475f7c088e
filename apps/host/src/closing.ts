/** Runs the work, then closes in reverse order what it opened, also when it fails. */
export async function closingAfter(work: (onClose: (close: () => unknown) => void) => Promise<void>): Promise<void> {
  const closing: (() => unknown)[] = []
  try {
    await work(close => closing.unshift(close))
  } finally {
    for (const close of closing) await close()
  }
}
