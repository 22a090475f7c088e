/** A queue that one side pushes to and the other iterates once. */
export interface Pipe<T> extends AsyncIterable<T> {
  push(item: T): void
  /** Items pushed before are still delivered; then the iteration ends, or throws `error`. */
  end(error?: unknown): void
}

export interface PipeOptions {
  /** Ends the reading at once, even with items inside. */
  readonly signal: AbortSignal
  /** A reader this far behind fails with an error: reading again is better than filling the memory. */
  readonly itemsMax?: number
  /** Called once when the reading ends for any reason. */
  readonly onClose?: () => void
}

export const PIPE_ITEMS_MAX = 100_000

interface Inside<T> {
  items: T[]
  isEnded: boolean
  error: unknown
  wake: () => void
}

export function pipe<T>(options: PipeOptions): Pipe<T> {
  const inside: Inside<T> = { items: [], isEnded: false, error: undefined, wake: () => undefined }
  const end = (error?: unknown) => {
    if (inside.isEnded) return
    inside.isEnded = true
    inside.error = error
    inside.wake()
  }
  return {
    push(item) {
      if (inside.isEnded) return
      inside.items.push(item)
      inside.wake()
      if (inside.items.length > (options.itemsMax ?? PIPE_ITEMS_MAX)) end(new Error('the reader is too far behind'))
    },
    end,
    [Symbol.asyncIterator]: () => read(inside, options),
  }
}

async function* read<T>(inside: Inside<T>, { signal, onClose }: PipeOptions): AsyncGenerator<T, void, undefined> {
  const stop = () => inside.wake()
  signal.addEventListener('abort', stop)
  try {
    while (!signal.aborted) {
      const batch = inside.items
      inside.items = []
      for (const item of batch) {
        if (signal.aborted) return
        yield item
      }
      if (inside.items.length === 0 && inside.isEnded) return throwIfSet(inside.error)
      if (inside.items.length === 0) await news(inside, signal)
    }
  } finally {
    signal.removeEventListener('abort', stop)
    onClose?.()
  }
}

function throwIfSet(error: unknown): void {
  if (error !== undefined) throw error
}

/** Checks the signal after the wake-up is in place, so that no abort is missed. */
function news<T>(inside: Inside<T>, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    inside.wake = resolve
    if (signal.aborted) resolve()
  })
}
