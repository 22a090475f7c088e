import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'
import { tokenKeeper, withoutToken } from './token.ts'

function aKeeper(fetchToken: (count: number) => Promise<string>) {
  const clock = manualClock()
  let fetched = 0
  const keeper = tokenKeeper(clock, () => {
    fetched += 1
    return fetchToken(fetched)
  })
  return { clock, keeper, fetched: () => fetched }
}

it('fetches a token once for all who ask', async () => {
  const { keeper, fetched } = aKeeper(async count => `t${count}`)
  expect(await Promise.all([keeper.current(), keeper.current()])).toEqual(['t1', 't1'])
  expect([await keeper.current(), fetched()]).toEqual(['t1', 1])
})

it('fetches another one when etcd has refused it', async () => {
  const { clock, keeper } = aKeeper(async count => `t${count}`)
  await keeper.current()
  await clock.advance(1_000)
  expect(keeper.drop('t1')).toBe(true)
  expect(await keeper.current()).toBe('t2')
})

it('drops it once, though many hear that it was refused', async () => {
  const { clock, keeper, fetched } = aKeeper(async count => `t${count}`)
  await keeper.current()
  await clock.advance(5_000)
  expect(keeper.drop('t1')).toBe(true)
  await keeper.current()
  expect(keeper.drop('t1')).toBe(true)
  expect([await keeper.current(), fetched()]).toEqual(['t2', 2])
})

it('does not ask again and again when a fresh token is refused too', async () => {
  const { clock, keeper } = aKeeper(async count => `t${count}`)
  await keeper.current()
  await clock.advance(999)
  expect(keeper.drop('t1')).toBe(false)
  expect(await keeper.current()).toBe('t1')
})

it('tries again after it could not be fetched', async () => {
  const { keeper } = aKeeper(async count => {
    if (count === 1) throw new Error('refused')
    return `t${count}`
  })
  await expect(keeper.current()).rejects.toThrow('refused')
  expect(await keeper.current()).toBe('t2')
})

it('needs none where no user is configured', async () => {
  expect([await withoutToken.current(), withoutToken.drop(undefined)]).toEqual([undefined, false])
})
