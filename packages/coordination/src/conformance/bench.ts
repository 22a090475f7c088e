import type { Clock, Election } from '@lcm/runtime'
import { afterEach, beforeEach } from 'vitest'
import type { ChangeKeys } from '../change-keys.ts'

/** What every suite needs to let time pass, simulated or real. */
export interface Bench {
  readonly clock: Pick<Clock, 'monotonic'>
  advance(ms: number): Promise<void>
  close(): Promise<void>
}

export interface ElectionBench extends Bench {
  /** One more contender for the same, still empty seat. */
  contender(instanceId: string): Election
  /** The lease, and so the cool-off, of every contender. */
  readonly leaseTtlMs: number
}

export interface ChangeKeysBench extends Bench {
  /** One more client of the same, still empty store. */
  connect(): ChangeKeys
  compact(): Promise<void>
}

/** Long enough for what needs no waiting to happen. */
export const STEP_MS = 20
const PATIENCE_MS = 10_000

/** Lets time pass until `condition` holds; fails the test when it does not. */
export async function eventually(bench: Bench, condition: () => boolean): Promise<void> {
  const deadline = bench.clock.monotonic() + PATIENCE_MS
  await bench.advance(0)
  while (!condition()) {
    if (bench.clock.monotonic() > deadline) throw new Error(`did not happen within ${PATIENCE_MS} ms`)
    await bench.advance(STEP_MS)
  }
}

/** Opens a fresh bench for each test and closes it after. */
export function freshBench<B extends Bench>(open: () => Promise<B>): () => B {
  let bench: B | undefined
  beforeEach(async () => {
    bench = await open()
  })
  afterEach(async () => {
    await bench?.close()
  })
  return () => {
    if (bench === undefined) throw new Error('no bench is open')
    return bench
  }
}
