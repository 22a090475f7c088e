/**
 * Who makes several requests for one call asks before each whether it may still be made. The question travels with the signal
 * of the call, since that is handed on by everybody between those who lead and those who send.
 */
const permits = new WeakMap<AbortSignal, () => void>()

/** A signal of its own that aborts with the given one. `permit` throws where nothing more may be sent. */
export function withPermit(signal: AbortSignal, permit: () => void) {
  const own = new AbortController()
  const abort = () => own.abort(signal.reason)
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort)
  permits.set(own.signal, permit)
  return { signal: own.signal, unlink: () => signal.removeEventListener('abort', abort) }
}

/** To be asked as the last thing before a request is sent. */
export const askPermit = (signal: AbortSignal): void => permits.get(signal)?.()
