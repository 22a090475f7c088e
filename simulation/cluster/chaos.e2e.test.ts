import { describe, expect, it } from 'vitest'
import { chaos } from './chaos/chaos.ts'
import { VIOLATIONS } from './chaos/fault-under-load.ts'

const LIMIT_MS = 300_000
const SOUND = Object.fromEntries(VIOLATIONS.map(kind => [kind, []]))

/** `npm run bench -- chaos` injects all faults, with more sessions each. */
const verdictOf = (fault: string) =>
  chaos({ rounds: 1, sessions: 2, leaseTtlSeconds: 2, only: [fault], print: () => undefined })

// Concurrent, because both mostly wait.
describe.concurrent('loses, duplicates and leaks nothing', () => {
  it('while EC2 and CML are unreachable', { timeout: LIMIT_MS }, async () => {
    const { verdicts } = await verdictOf('cloud-cuts')
    expect(verdicts.map(({ wrong }) => wrong)).toEqual([SOUND])
    expect(verdicts[0]?.writes).toBeGreaterThan(0)
  })

  it('when the disk of the store is full, if the machine allows a small disk', {
    timeout: LIMIT_MS,
  }, async () => {
    const { verdicts, leftOut } = await verdictOf('disk-full')
    expect(verdicts.map(({ wrong }) => wrong)).toEqual(leftOut.length > 0 ? [] : [SOUND])
    expect(verdicts.length + leftOut.length).toBe(1)
  })
})
