import { virtualTime } from '@lcm/testkit/virtual-time'
import { expect, it } from 'vitest'
import { portCalls } from './port-calls.ts'

function twoLives() {
  const calls = portCalls(virtualTime(1))
  const made: string[] = []
  const isIncarnation = { ada: calls.incarnation(), bob: calls.incarnation() }
  const call = {
    ada: isIncarnation.ada.watch(
      () => 'call',
      async () => void made.push('ada'),
    ),
    bob: isIncarnation.bob.watch(
      () => 'call',
      async () => void made.push('bob'),
    ),
  }
  return { calls, isIncarnation, call, made }
}

it('hits only the incarnation that makes the call', async () => {
  const { calls, call, made } = twoLives()
  calls.crashAt(1, 'before', caller => caller.end())
  await call.ada()
  void call.bob()
  await call.ada()
  expect(made).toEqual(['ada', 'ada'])
})

it('keeps every planned fault until its call', async () => {
  const { calls, isIncarnation, call } = twoLives()
  const triggered: string[] = []
  const note = (what: string) => (caller: unknown) =>
    void triggered.push(`${what} ${caller === isIncarnation.ada ? 'ada' : 'bob'}`)
  calls.crashAt(2, 'after', note('after'))
  calls.crashAt(0, 'before', note('before'))
  await call.bob()
  await call.bob()
  await call.ada()
  expect(triggered).toEqual(['before bob', 'after ada'])
})
