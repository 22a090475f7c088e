import { getEventListeners } from 'node:events'
import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'
import { aborted, linkedAbort } from './linked-abort.ts'

it('aborts with any of its parents, for the same reason', () => {
  const [one, other] = [new AbortController(), new AbortController()]
  const linked = linkedAbort(one.signal, other.signal)
  other.abort('because')
  expect([linked.signal.aborted, linked.signal.reason]).toEqual([true, 'because'])
})

it('is born aborted under an aborted parent', () => {
  expect(linkedAbort(AbortSignal.abort('earlier')).signal.reason).toBe('earlier')
})

it('aborts on its own without touching its parents', () => {
  const parent = new AbortController()
  const linked = linkedAbort(parent.signal)
  linked.abort('enough')
  expect([linked.signal.reason, parent.signal.aborted]).toEqual(['enough', false])
})

it('leaves nothing on its parents once unlinked', () => {
  const parent = new AbortController()
  const linked = linkedAbort(parent.signal)
  linked.unlink()
  parent.abort()
  expect(linked.signal.aborted).toBe(false)
  expect(getEventListeners(parent.signal, 'abort')).toEqual([])
})

it('takes any number of listeners without a warning', async () => {
  const warnings: Error[] = []
  const note = (warning: Error) => warnings.push(warning)
  process.on('warning', note)
  const { signal } = linkedAbort()
  for (let count = 0; count < 50; count += 1) signal.addEventListener('abort', () => undefined)
  await manualClock().advance(0)
  process.off('warning', note)
  expect(warnings).toEqual([])
})

it('tells when a signal has aborted, also when it had before', async () => {
  const controller = new AbortController()
  const told = aborted(controller.signal)
  controller.abort()
  await told
  await aborted(controller.signal)
})
