import { beforeEach, describe, expect, it } from 'vitest'
import { aFleet, type Fleet } from '../../testing/a-fleet.ts'

let fleet: Fleet
beforeEach(() => {
  fleet = aFleet()
})

describe('retry', () => {
  it('moves back to PENDING when nothing was launched', async () => {
    const { id } = await fleet.create()
    await fleet.moveTo(id, 'FAILED')
    const { status, json } = await fleet.act(id, 'retry', { reason: 'quota was raised' })
    expect(status).toBe(202)
    expect(json).toMatchObject({ status: 'PENDING', desired_status: 'RUNNING', desired_by: 'admin' })
    expect(json.state_history.at(-1)).toMatchObject({
      from: 'FAILED',
      because: { code: 'retry_requested_by', params: { by: 'admin' } },
    })
  })

  it('starts the machine when there is one', async () => {
    const { id } = await fleet.running()
    await fleet.moveTo(id, 'FAILED')
    expect((await fleet.act(id, 'retry')).json).toMatchObject({ status: 'STARTING', service_status: 'UNAVAILABLE' })
  })

  it('sets the desired status RUNNING, with its actor', async () => {
    const { id } = await fleet.running()
    await fleet.act(id, 'stop', { reason: 'broken' })
    await fleet.moveTo(id, 'FAILED')
    const retried = await fleet.send('POST', `workers/${id}/retry`, { as: 'operator', json: { reason: 'fixed' } })
    expect(retried.json).toMatchObject({
      desired_status: 'RUNNING',
      desired_by: 'operator',
      desired_reason: 'fixed',
      pause: { counts: { manual: 1, resumed: 1 } },
    })
    const [entry] = await fleet.journal('audit', `worker:${id}`)
    expect(entry?.body).toMatchObject({
      action: 'retry',
      before: { desired_status: 'STOPPED' },
      after: { desired_status: 'RUNNING' },
    })
  })

  it.each(['PENDING', 'PROVISIONING', 'STARTING', 'RUNNING', 'STOPPING', 'STOPPED'] as const)(
    'is refused when it is %s',
    async status => {
      const path = ['PENDING', 'PROVISIONING', 'STARTING', 'RUNNING', 'STOPPING', 'STOPPED'] as const
      const { id } = await fleet.create()
      await fleet.moveTo(id, ...path.slice(1, path.indexOf(status) + 1))
      expect(await fleet.act(id, 'retry')).toMatchObject({ status: 409, json: { code: 'worker_not_failed' } })
      expect((await fleet.get(id)).status).toBe(status)
    },
  )
})
