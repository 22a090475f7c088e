import { type LinkedAbort, linkedAbort } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'

/** Longest time that a stream stays open after its token was revoked. */
export const RECHECK_MS = 5_000

interface Caller {
  readonly clock: Clock
  /** Aborts when the caller disconnects. */
  readonly signal: AbortSignal
  /** Rejects when the caller has lost access. */
  check(): Promise<unknown>
}

/** Opens a stream that ends when its caller disconnects or loses access. The stream must end by the signal that it gets. */
export async function revocableStream(
  open: (signal: AbortSignal) => Promise<AsyncIterable<string>>,
  caller: Caller,
): Promise<AsyncIterable<string>> {
  const allowed = linkedAbort(caller.signal)
  try {
    return watched(await open(allowed.signal), allowed, caller)
  } catch (error) {
    allowed.unlink()
    throw error
  }
}

async function* watched(stream: AsyncIterable<string>, allowed: LinkedAbort, caller: Caller): AsyncGenerator<string> {
  void recheck(allowed, caller)
  try {
    for await (const part of stream) {
      if (allowed.signal.aborted) return
      yield part
    }
  } finally {
    allowed.abort()
    allowed.unlink()
  }
}

async function recheck({ signal, abort }: LinkedAbort, { clock, check }: Caller): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(RECHECK_MS, signal)
    if (!signal.aborted) await check().catch(abort)
  }
}
