import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'
import { authTokenCache, noAuthToken } from './auth-token-cache.ts'

function aKeeper(fetchToken: (count: number) => Promise<string>) {
  const clock = manualClock()
  let fetched = 0
  const keeper = authTokenCache(clock, () => {
    fetched += 1
    return fetchToken(fetched)
  })
  return { clock, keeper, fetched: () => fetched }
}

it('fetches a token once for concurrent callers', async () => {
  const { keeper, fetched } = aKeeper(async count => `t${count}`)
  expect(await Promise.all([keeper.current(), keeper.current()])).toEqual(['t1', 't1'])
  expect([await keeper.current(), fetched()]).toEqual(['t1', 1])
})

it('fetches another one when etcd has rejected it', async () => {
  const { clock, keeper } = aKeeper(async count => `t${count}`)
  await keeper.current()
  await clock.advance(1_000)
  expect(keeper.drop('t1')).toBe(true)
  expect(await keeper.current()).toBe('t2')
})

it('drops it once, though many callers report it as rejected', async () => {
  const { clock, keeper, fetched } = aKeeper(async count => `t${count}`)
  await keeper.current()
  await clock.advance(5_000)
  expect(keeper.drop('t1')).toBe(true)
  await keeper.current()
  expect(keeper.drop('t1')).toBe(true)
  expect([await keeper.current(), fetched()]).toEqual(['t2', 2])
})

it('does not fetch again and again when a fresh token is rejected too', async () => {
  const { clock, keeper } = aKeeper(async count => `t${count}`)
  await keeper.current()
  await clock.advance(999)
  expect(keeper.drop('t1')).toBe(false)
  expect(await keeper.current()).toBe('t1')
})

it('retries after a failed fetch', async () => {
  const { keeper } = aKeeper(async count => {
    if (count === 1) throw new Error('refused')
    return `t${count}`
  })
  await expect(keeper.current()).rejects.toThrow('refused')
  expect(await keeper.current()).toBe('t2')
})

it('needs none where no user is configured', async () => {
  expect([await noAuthToken.current(), noAuthToken.drop(undefined)]).toEqual([undefined, false])
})
