import type { Clock, Election } from '@lcm/runtime'
import { afterEach, beforeEach } from 'vitest'
import type { ChangeKeys } from '../change-keys.ts'

/** Lets time pass, simulated or real. */
export interface Fixture {
  readonly clock: Pick<Clock, 'monotonic'>
  advance(ms: number): Promise<void>
  close(): Promise<void>
}

export interface ElectionFixture extends Fixture {
  /** One more candidate in the same election. */
  candidate(instanceId: string): Election
  /** Lease, and so the cool-off after a resignation, of every candidate. */
  readonly leaseTtlMs: number
}

export interface ChangeKeysFixture extends Fixture {
  /** One more client of the same store. */
  connect(): ChangeKeys
  compact(): Promise<void>
}

/** Long enough for everything that needs no timer. */
export const STEP_MS = 20
const TIMEOUT_MS = 10_000

/** Lets time pass until `condition` holds; fails the test on timeout. */
export async function eventually(fixture: Fixture, condition: () => boolean): Promise<void> {
  const deadline = fixture.clock.monotonic() + TIMEOUT_MS
  await fixture.advance(0)
  while (!condition()) {
    if (fixture.clock.monotonic() > deadline) throw new Error(`did not happen within ${TIMEOUT_MS} ms`)
    await fixture.advance(STEP_MS)
  }
}

/** Opens a fresh fixture for each test and closes it afterward. */
export function freshFixture<B extends Fixture>(open: () => Promise<B>): () => B {
  let fixture: B | undefined
  beforeEach(async () => {
    fixture = await open()
  })
  afterEach(async () => {
    await fixture?.close()
  })
  return () => {
    if (fixture === undefined) throw new Error('no fixture is open')
    return fixture
  }
}
