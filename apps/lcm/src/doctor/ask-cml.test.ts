import { reason } from '@lcm/domain/reason'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { aServingWorker } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { type AskedCml, askCml } from './ask-cml.ts'

const { signal } = new AbortController()

/** Three workers, of which the worker-controller asks those that are named. */
async function asked(answers: Readonly<Record<string, string>>, as: 'operator' | 'user' = 'operator') {
  const plane = aControlPlane()
  const names = ['a', 'b', 'c']
  await plane.put(
    'workers',
    ...names.map(name => aServingWorker({ id: `w-${name}`, name })),
    aServingWorker({ id: 'w-stopped', name: 'stopped', status: 'STOPPED' }),
  )
  await plane.registerTerm('worker-controller', 1)
  const result: { value: AskedCml | null } = { value: null }
  const asking = askCml(plane.client(as), plane.clock, signal).then(value => {
    result.value = value
  })
  while (result.value === null) {
    for (const [id, cml] of Object.entries(answers)) await observe(plane, id, cml)
    await plane.clock.advance(500)
  }
  await asking
  return result.value
}

/** An observation of the worker-controller, if it is requested. */
async function observe(plane: ReturnType<typeof aControlPlane>, id: string, cml: string): Promise<void> {
  const { version, refresh_requested_at } = await plane.get('workers', id)
  if (refresh_requested_at === null) return
  const because = reason('refreshed', { cause: reason('terminated_is_final') })
  await plane.others('worker-controller').call('reportWorkerStatus', {
    params: { id },
    ifMatch: version,
    epoch: 1,
    body: { changes: { refresh_requested_at: null }, decision: { action: 'write', because, seen: { cml } } },
  })
}

it('learns from the worker-controller how far each CML answers', async () => {
  const { stages, unasked, workers } = await asked({ 'w-a': 'READY', 'w-b': 'NOTHING', 'w-c': 'READY' })
  expect(Object.fromEntries(stages)).toEqual({ 'w-a': 'READY', 'w-b': 'NOTHING', 'w-c': 'READY' })
  expect(unasked).toBeNull()
  expect(workers).toHaveLength(4)
})

it('says which CML it could not ask within ten seconds', async () => {
  const { stages, unasked } = await asked({ 'w-a': 'READY' })
  expect([...stages]).toEqual([['w-a', 'READY']])
  expect(unasked).toEqual({
    names: ['b', 'c'],
    because: 'worker-controller did not answer within 10 s',
    advice: 'check worker-controller with `lcm get services`',
  })
})

it('says that users may not ask', async () => {
  const { stages, unasked } = await asked({}, 'user')
  expect(stages.size).toBe(0)
  expect(unasked).toEqual({
    names: ['a', 'b', 'c'],
    because: 'only operators and admins can ask',
    advice: 'run doctor as an operator',
  })
})
