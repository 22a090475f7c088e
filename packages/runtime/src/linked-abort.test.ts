import { getEventListeners } from 'node:events'
import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'
import { aborted, linkedAbort } from './linked-abort.ts'

it('aborts with any of its parents, with the same reason', () => {
  const [one, other] = [new AbortController(), new AbortController()]
  const linked = linkedAbort(one.signal, other.signal)
  other.abort('because')
  expect([linked.signal.aborted, linked.signal.reason]).toEqual([true, 'because'])
})

it('is aborted from the start under an aborted parent', () => {
  expect(linkedAbort(AbortSignal.abort('earlier')).signal.reason).toBe('earlier')
})

it('aborts on its own without aborting its parents', () => {
  const parent = new AbortController()
  const linked = linkedAbort(parent.signal)
  linked.abort('enough')
  expect([linked.signal.reason, parent.signal.aborted]).toEqual(['enough', false])
})

it('leaves no listener on its parents once unlinked', () => {
  const parent = new AbortController()
  const linked = linkedAbort(parent.signal)
  linked.unlink()
  parent.abort()
  expect(linked.signal.aborted).toBe(false)
  expect(getEventListeners(parent.signal, 'abort')).toEqual([])
})

it('accepts any number of listeners without a warning', async () => {
  const warnings: Error[] = []
  const note = (warning: Error) => warnings.push(warning)
  process.on('warning', note)
  const { signal } = linkedAbort()
  const parent = new AbortController()
  for (let count = 0; count < 50; count += 1) {
    signal.addEventListener('abort', () => undefined)
    linkedAbort(parent.signal)
  }
  await manualClock().advance(0)
  process.off('warning', note)
  expect(warnings).toEqual([])
})

it('resolves when a signal has aborted, even if it had before', async () => {
  const controller = new AbortController()
  const abort = aborted(controller.signal)
  controller.abort()
  await abort
  await aborted(controller.signal)
})
