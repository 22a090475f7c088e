import type { Election, Leadership } from '@lcm/runtime'
import { expect, it } from 'vitest'
import { type Bench, type ElectionBench, eventually, STEP_MS } from './bench.ts'

interface Attempt {
  /** Undefined while it waits. */
  result: Leadership | null | undefined
  /** Whether the leadership was alive when the campaign resolved with it. */
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

async function win(bench: Bench, election: Election): Promise<Leadership> {
  const attempt = campaign(election)
  await eventually(bench, () => attempt.result !== undefined)
  if (!attempt.result) throw new Error(`${election.instanceId} did not win`)
  expect(attempt.wasAlive).toBe(true)
  return attempt.result
}

export function electionCases(bench: () => ElectionBench): void {
  winningAndWaiting(bench)
  givingUpTheWait(bench)
  resigning(bench)
}

function winningAndWaiting(bench: () => ElectionBench): void {
  it('gives a free seat to whoever asks, alive', async () => {
    const { contender } = bench()
    const leadership = await win(bench(), contender('a'))
    expect([leadership.signal.aborted, leadership.isHeld()]).toEqual([false, true])
    expect(leadership.epoch).toBeGreaterThan(0)
  })

  it('keeps the seat for longer than a lease', async () => {
    const { contender, advance, leaseTtlMs } = bench()
    const leadership = await win(bench(), contender('a'))
    await advance(2 * leaseTtlMs)
    expect([leadership.signal.aborted, leadership.isHeld()]).toEqual([false, true])
  })

  it('has one leader at a time', async () => {
    const { contender, advance, leaseTtlMs } = bench()
    await win(bench(), contender('a'))
    const others = [campaign(contender('b')), campaign(contender('c'))]
    await advance(2 * leaseTtlMs)
    expect(others.map(attempt => attempt.result)).toEqual([undefined, undefined])
    for (const { stop } of others) stop.abort()
  })

  it('gives a seat that many want at once to one of them', async () => {
    const { contender, advance } = bench()
    const attempts = ['a', 'b', 'c', 'd'].map(id => campaign(contender(id)))
    await eventually(bench(), () => attempts.some(attempt => attempt.result))
    await advance(STEP_MS)
    expect(attempts.filter(attempt => attempt.result)).toHaveLength(1)
    for (const { stop } of attempts) stop.abort()
  })

  it('tells leader and standby who leads', async () => {
    const { contender } = bench()
    const [a, b] = [contender('a'), contender('b')]
    const { epoch } = await win(bench(), a)
    const waiting = campaign(b)
    await eventually(bench(), () => b.status().leader_id === 'a')
    expect(a.status()).toMatchObject({ state: 'LEADER', leader_id: 'a', term: epoch })
    expect(b.status()).toMatchObject({ leader_id: 'a' })
    expect(b.status().state).not.toBe('LEADER')
    expect(Date.parse(a.status().since ?? '')).not.toBeNaN()
    waiting.stop.abort()
  })

  it('lets the leader keep the seat after the signal of its campaign has aborted', async () => {
    const { contender, advance } = bench()
    const attempt = campaign(contender('a'))
    await eventually(bench(), () => attempt.result !== undefined)
    attempt.stop.abort()
    await advance(STEP_MS)
    expect(attempt.result?.isHeld()).toBe(true)
  })
}

function givingUpTheWait(bench: () => ElectionBench): void {
  it('resolves with nothing when it is aborted, or already was', async () => {
    const { contender } = bench()
    await win(bench(), contender('a'))
    const waiting = campaign(contender('b'))
    await bench().advance(STEP_MS)
    waiting.stop.abort()
    await eventually(bench(), () => waiting.result !== undefined)
    expect(waiting.result).toBeNull()
    expect(await contender('c').campaign(AbortSignal.abort())).toBeNull()
  })

  it('leaves nothing behind of a campaign that was aborted', async () => {
    const { contender } = bench()
    const [a, b, c] = [contender('a'), contender('b'), contender('c')]
    await win(bench(), a)
    const waiting = campaign(b)
    await bench().advance(STEP_MS)
    waiting.stop.abort()
    await eventually(bench(), () => waiting.result !== undefined)
    await a.resign({ forGood: true })
    const leadership = await win(bench(), c)
    await bench().advance(STEP_MS)
    expect([leadership.isHeld(), waiting.result, b.status().state]).toEqual([true, null, 'STANDBY'])
  })
}

function resigning(bench: () => ElectionBench): void {
  it('ends leadership at once, the flag first, and hands the seat over', async () => {
    const { contender } = bench()
    const [a, b] = [contender('a'), contender('b')]
    const first = await win(bench(), a)
    const waiting = campaign(b)
    await bench().advance(STEP_MS)
    let wasHeld: boolean | undefined
    first.signal.addEventListener('abort', () => {
      wasHeld = first.isHeld()
    })
    await a.resign()
    expect([first.signal.aborted, first.isHeld(), wasHeld]).toEqual([true, false, false])
    await eventually(bench(), () => waiting.result !== undefined)
    expect([waiting.wasAlive, a.status().state, b.status().state]).toEqual([true, 'STANDBY', 'LEADER'])
  })

  it('makes the epoch grow with every term, whoever leads', async () => {
    const { contender } = bench()
    const epochs: number[] = []
    for (const id of ['a', 'b', 'a', 'c']) {
      const election = contender(id)
      epochs.push((await win(bench(), election)).epoch)
      await election.resign({ forGood: true })
    }
    expect(epochs).toEqual([...new Set(epochs)].sort((one, other) => one - other))
  })

  it('stays away for one lease afterwards, even when nobody else wants the seat', async () => {
    const { contender, advance, leaseTtlMs } = bench()
    const a = contender('a')
    await win(bench(), a)
    await a.resign()
    const again = campaign(a)
    await advance(0.8 * leaseTtlMs)
    expect(again.result).toBeUndefined()
    await advance(0.4 * leaseTtlMs)
    await eventually(bench(), () => again.result !== undefined)
    expect(again.wasAlive).toBe(true)
  })

  it('lets another win although the one that resigned asked first', async () => {
    const { contender } = bench()
    const [a, b] = [contender('a'), contender('b')]
    await win(bench(), a)
    await a.resign()
    const again = campaign(a)
    await win(bench(), b)
    expect(again.result).toBeUndefined()
    again.stop.abort()
  })

  it('does not stay away when it was for good and a new run begins', async () => {
    const a = bench().contender('a')
    await win(bench(), a)
    await a.resign({ forGood: true })
    await win(bench(), a)
  })

  it('changes nothing for one that does not lead', async () => {
    const { contender } = bench()
    const leadership = await win(bench(), contender('a'))
    await contender('b').resign()
    await bench().advance(STEP_MS)
    expect(leadership.isHeld()).toBe(true)
  })
}
