import type { Election, Leadership } from '@lcm/runtime'
import { expect, it } from 'vitest'
import { type ElectionFixture, eventually, type Fixture, STEP_MS } from './fixture.ts'

interface Attempt {
  /** Undefined while it waits. */
  result: Leadership | null | undefined
  /** Whether the leadership was held when the campaign resolved. */
  wasAlive: boolean
  readonly stop: AbortController
}

function campaign(election: Election): Attempt {
  const attempt: Attempt = { result: undefined, wasAlive: false, stop: new AbortController() }
  void election.campaign(attempt.stop.signal).then(result => {
    attempt.result = result
    attempt.wasAlive = result !== null && !result.signal.aborted && result.isHeld()
  })
  return attempt
}

async function win(fixture: Fixture, election: Election): Promise<Leadership> {
  const attempt = campaign(election)
  await eventually(fixture, () => attempt.result !== undefined)
  if (!attempt.result) throw new Error(`${election.instanceId} did not win`)
  expect(attempt.wasAlive).toBe(true)
  return attempt.result
}

export function electionCases(fixture: () => ElectionFixture): void {
  winningAndWaiting(fixture)
  givingUpTheWait(fixture)
  resigning(fixture)
}

function winningAndWaiting(fixture: () => ElectionFixture): void {
  it('elects a single candidate', async () => {
    const { candidate: contender } = fixture()
    const leadership = await win(fixture(), contender('a'))
    expect([leadership.signal.aborted, leadership.isHeld()]).toEqual([false, true])
    expect(leadership.epoch).toBeGreaterThan(0)
  })

  it('keeps leadership for longer than a lease', async () => {
    const { candidate: contender, advance, leaseTtlMs } = fixture()
    const leadership = await win(fixture(), contender('a'))
    await advance(2 * leaseTtlMs)
    expect([leadership.signal.aborted, leadership.isHeld()]).toEqual([false, true])
  })

  it('has one leader at a time', async () => {
    const { candidate: contender, advance, leaseTtlMs } = fixture()
    await win(fixture(), contender('a'))
    const others = [campaign(contender('b')), campaign(contender('c'))]
    await advance(2 * leaseTtlMs)
    expect(others.map(attempt => attempt.result)).toEqual([undefined, undefined])
    for (const { stop } of others) stop.abort()
  })

  it('elects exactly one of many concurrent candidates', async () => {
    const { candidate: contender, advance } = fixture()
    const attempts = ['a', 'b', 'c', 'd'].map(id => campaign(contender(id)))
    await eventually(fixture(), () => attempts.some(attempt => attempt.result))
    await advance(STEP_MS)
    expect(attempts.filter(attempt => attempt.result)).toHaveLength(1)
    for (const { stop } of attempts) stop.abort()
  })

  it('shows leader and standby who leads', async () => {
    const { candidate: contender } = fixture()
    const [a, b] = [contender('a'), contender('b')]
    const { epoch } = await win(fixture(), a)
    const waiting = campaign(b)
    await eventually(fixture(), () => b.status().leader_id === 'a')
    expect(a.status()).toMatchObject({ state: 'LEADER', leader_id: 'a', term: epoch })
    expect(b.status()).toMatchObject({ leader_id: 'a' })
    expect(b.status().state).not.toBe('LEADER')
    expect(Date.parse(a.status().since ?? '')).not.toBeNaN()
    waiting.stop.abort()
  })

  it('keeps leadership after the signal of its campaign has aborted', async () => {
    const { candidate: contender, advance } = fixture()
    const attempt = campaign(contender('a'))
    await eventually(fixture(), () => attempt.result !== undefined)
    attempt.stop.abort()
    await advance(STEP_MS)
    expect(attempt.result?.isHeld()).toBe(true)
  })
}

function givingUpTheWait(fixture: () => ElectionFixture): void {
  it('resolves with null when it is aborted, or already was', async () => {
    const { candidate: contender } = fixture()
    await win(fixture(), contender('a'))
    const waiting = campaign(contender('b'))
    await fixture().advance(STEP_MS)
    waiting.stop.abort()
    await eventually(fixture(), () => waiting.result !== undefined)
    expect(waiting.result).toBeNull()
    expect(await contender('c').campaign(AbortSignal.abort())).toBeNull()
  })

  it('leaves nothing behind of an aborted campaign', async () => {
    const { candidate: contender } = fixture()
    const [a, b, c] = [contender('a'), contender('b'), contender('c')]
    await win(fixture(), a)
    const waiting = campaign(b)
    await fixture().advance(STEP_MS)
    waiting.stop.abort()
    await eventually(fixture(), () => waiting.result !== undefined)
    await a.resign({ forGood: true })
    const leadership = await win(fixture(), c)
    await fixture().advance(STEP_MS)
    expect([leadership.isHeld(), waiting.result, b.status().state]).toEqual([true, null, 'STANDBY'])
  })
}

function resigning(fixture: () => ElectionFixture): void {
  it('ends leadership at once, the flag first, and lets another lead', async () => {
    const { candidate: contender } = fixture()
    const [a, b] = [contender('a'), contender('b')]
    const first = await win(fixture(), a)
    const waiting = campaign(b)
    await fixture().advance(STEP_MS)
    let wasHeld: boolean | undefined
    first.signal.addEventListener('abort', () => {
      wasHeld = first.isHeld()
    })
    await a.resign()
    expect([first.signal.aborted, first.isHeld(), wasHeld]).toEqual([true, false, false])
    await eventually(fixture(), () => waiting.result !== undefined)
    expect([waiting.wasAlive, a.status().state, b.status().state]).toEqual([true, 'STANDBY', 'LEADER'])
  })

  it('raises the epoch with every term, whichever instance leads', async () => {
    const { candidate: contender } = fixture()
    const epochs: number[] = []
    for (const id of ['a', 'b', 'a', 'c']) {
      const election = contender(id)
      epochs.push((await win(fixture(), election)).epoch)
      await election.resign({ forGood: true })
    }
    expect(epochs).toEqual([...new Set(epochs)].sort((one, other) => one - other))
  })

  it('stays away for one lease afterward, even without other candidates', async () => {
    const { candidate: contender, advance, leaseTtlMs } = fixture()
    const a = contender('a')
    await win(fixture(), a)
    await a.resign()
    const again = campaign(a)
    await advance(0.8 * leaseTtlMs)
    expect(again.result).toBeUndefined()
    await advance(0.4 * leaseTtlMs)
    await eventually(fixture(), () => again.result !== undefined)
    expect(again.wasAlive).toBe(true)
  })

  it('lets another win although the one that resigned campaigned first', async () => {
    const { candidate: contender } = fixture()
    const [a, b] = [contender('a'), contender('b')]
    await win(fixture(), a)
    await a.resign()
    const again = campaign(a)
    await win(fixture(), b)
    expect(again.result).toBeUndefined()
    again.stop.abort()
  })

  it('does not stay away when it resigned for good and a new run starts', async () => {
    const a = fixture().candidate('a')
    await win(fixture(), a)
    await a.resign({ forGood: true })
    await win(fixture(), a)
  })

  it('changes nothing for a standby', async () => {
    const { candidate: contender } = fixture()
    const leadership = await win(fixture(), contender('a'))
    await contender('b').resign()
    await fixture().advance(STEP_MS)
    expect(leadership.isHeld()).toBe(true)
  })
}
