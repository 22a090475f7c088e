import { virtualTime } from '@lcm/testkit/virtual-time'
import { expect, it } from 'vitest'
import { portCalls } from './port-calls.ts'

function twoLives() {
  const calls = portCalls(virtualTime(1))
  const asked: string[] = []
  const lives = { ada: calls.life(), bob: calls.life() }
  const call = {
    ada: lives.ada.watch(
      () => 'call',
      async () => void asked.push('ada'),
    ),
    bob: lives.bob.watch(
      () => 'call',
      async () => void asked.push('bob'),
    ),
  }
  return { calls, lives, call, asked }
}

it('strikes whoever makes the call, and nobody else', async () => {
  const { calls, call, asked } = twoLives()
  calls.crashAt(1, 'before', caller => caller.end())
  await call.ada()
  void call.bob()
  await call.ada()
  expect(asked).toEqual(['ada', 'ada'])
})

it('keeps every plan until its call comes', async () => {
  const { calls, lives, call } = twoLives()
  const struck: string[] = []
  const note = (what: string) => (caller: unknown) =>
    void struck.push(`${what} ${caller === lives.ada ? 'ada' : 'bob'}`)
  calls.crashAt(2, 'after', note('after'))
  calls.crashAt(0, 'before', note('before'))
  await call.bob()
  await call.bob()
  await call.ada()
  expect(struck).toEqual(['before bob', 'after ada'])
})
