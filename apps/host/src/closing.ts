/** What a process says to whoever asks whether it can be counted on, once it was asked to end. */
export const ENDING = 'nothing: it was asked to end, and takes nothing new'

/** Runs the work, then closes in reverse order what it opened, also when it fails. */
export async function closingAfter(work: (onClose: (close: () => unknown) => void) => Promise<void>): Promise<void> {
  const closing: (() => unknown)[] = []
  try {
    await work(close => closing.unshift(close))
  } finally {
    for (const close of closing) await close()
  }
}
