import { setMaxListeners } from 'node:events'

export interface LinkedAbort {
  readonly signal: AbortSignal
  abort(reason?: unknown): void
  /** Removes the listeners from the parents. Call it when the work is over, or long-lived parents collect them. */
  unlink(): void
}

/** Aborts when `abort` is called or a parent aborts. Not `AbortSignal.any`: its composites leak (nodejs/node#55351). */
export function linkedAbort(...parents: readonly AbortSignal[]): LinkedAbort {
  const controller = new AbortController()
  // Many waits may share these signals; the default limit of ten would only print a false leak warning.
  setMaxListeners(0, controller.signal, ...parents)
  const follow = () => controller.abort(parents.find(parent => parent.aborted)?.reason)
  for (const parent of parents) parent.addEventListener('abort', follow)
  if (parents.some(parent => parent.aborted)) follow()
  return {
    signal: controller.signal,
    abort: reason => controller.abort(reason),
    unlink() {
      for (const parent of parents) parent.removeEventListener('abort', follow)
    },
  }
}

/** Resolves when `signal` aborts, at once if it already has. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) return resolve()
    signal.addEventListener('abort', () => resolve())
  })
}
