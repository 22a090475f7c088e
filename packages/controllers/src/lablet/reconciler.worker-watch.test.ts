import { afterOutage } from '@lcm/cloud-sim/cml/labs/lab-element-states'
import { toInstant } from '@lcm/domain/instant'
import type { Worker } from '@lcm/domain/worker/worker'
import { expect, it } from 'vitest'
import { aController } from './testing/a-controller.ts'
import { labRig, MINUTE_MS } from './testing/lab-rig.ts'

it('sessions are reconciled at once when their worker stops running, and soon after it is back', async () => {
  const rig = await labRig()
  aController(rig, 'one')
  await rig.book('ls-1')
  await rig.clock.advance(2 * MINUTE_MS)
  const session = () => rig.session('ls-1')
  expect((await session()).status).toBe('RUNNING')

  async function becomes(status: Worker['status'], more: Partial<Worker>): Promise<void> {
    await rig.changeWorker({ status, ...more })
    await rig.clock.advance(1_000)
  }
  await becomes('STOPPED', { service_status: 'UNAVAILABLE' })
  await becomes('RUNNING', {
    service_status: 'AVAILABLE',
    https_endpoint: 'https://192.0.2.9:8443',
    public_ip: '192.0.2.9',
  })
  await rig.clock.advance(5_000)
  expect(new Set((await session()).access.map(({ host }) => host))).toEqual(new Set(['192.0.2.9']))
})

it('sessions are reconciled at once when a restart is found that their CML has recovered from', async () => {
  const rig = await labRig()
  aController(rig, 'one')
  await rig.book('ls-1')
  await rig.clock.advance(3 * MINUTE_MS)
  rig.model.cml.act(rig.instanceId, ({ labs }) => ({
    status: 204,
    change: { labs: labs.map(each => afterOutage(each, rig.clock.now())) },
  }))
  await rig.clock.advance(2 * MINUTE_MS)
  const { cml } = await rig.worker()
  const up_until = toInstant(rig.clock.now() - 2 * MINUTE_MS)
  await rig.changeWorker({ cml: { ...cml, up_until, restarted_at: toInstant(rig.clock.now()) } })
  await rig.clock.advance(5_000)
  expect(await rig.session()).toMatchObject({ status: 'RUNNING', pipeline: { attempt: 2 } })
  expect(await rig.labsThere()).toMatchObject([{ state: 'STARTED' }])
})

it('a worker that is unreadable is left to the poll', async () => {
  const rig = await labRig()
  aController(rig, 'one')
  await rig.book('ls-1')
  await rig.coordination.changeKeys.publish('/lcm/workers/w-none', {
    ...{ id: 'w-none', version: 1, updated_at: toInstant(rig.clock.now()), status: 'STOPPED' },
  })
  await rig.clock.advance(2 * MINUTE_MS)
  expect((await rig.session('ls-1')).status).toBe('RUNNING')
})
