import { describe, expect, it } from 'vitest'
import { SHORT_SESSION_RUN, sessionRun } from './session-random.ts'

const TINY_RUN = { ...SHORT_SESSION_RUN, sessions: 4, workers: 1, workersMax: 2, hours: 0.2 }

describe('learners, dying machines and changing leaders at random', () => {
  it('break nothing that must hold, and every session ends', { timeout: 90_000 }, async () => {
    const { ends, machines } = await sessionRun(2)
    expect(Object.values(ends).reduce((sum, each) => sum + each, 0)).toBe(SHORT_SESSION_RUN.sessions)
    expect(ends.ARCHIVED).toBeGreaterThan(SHORT_SESSION_RUN.sessions / 4)
    expect(machines).toBeGreaterThanOrEqual(SHORT_SESSION_RUN.workers)
  })

  it('are the same run for the same seed, and another for another', { timeout: 60_000 }, async () => {
    const { hash } = await sessionRun(51, TINY_RUN)
    expect((await sessionRun(51, TINY_RUN)).hash).toBe(hash)
    expect((await sessionRun(52, TINY_RUN)).hash).not.toBe(hash)
  })
})
