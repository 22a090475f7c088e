import { beforeEach, describe, expect, it } from 'vitest'
import { aFleet, type Fleet } from '../../testing/a-fleet.ts'

let fleet: Fleet
beforeEach(() => {
  fleet = aFleet()
})

describe('refresh', () => {
  it('requests an observation, at most every ten seconds', async () => {
    const { id } = await fleet.running()
    const first = (await fleet.act(id, 'refresh')).json
    expect(first.refresh_requested_at).toBe(first.updated_at)
    await fleet.clock.advance(9_000)
    expect((await fleet.act(id, 'refresh')).json.version).toBe(first.version)
    await fleet.clock.advance(1_000)
    expect((await fleet.act(id, 'refresh')).json.version).toBe(first.version + 1)
  })

  it('requests it also after the controller has cleared the request', async () => {
    const { id } = await fleet.running()
    const { version } = (await fleet.act(id, 'refresh')).json
    await fleet.report(id, version, { refresh_requested_at: null })
    await fleet.clock.advance(5_000)
    expect((await fleet.act(id, 'refresh')).json).toMatchObject({ version: version + 1, refresh_requested_at: null })
    await fleet.clock.advance(5_000)
    expect((await fleet.act(id, 'refresh')).json.refresh_requested_at).not.toBeNull()
  })

  it('keeps the desired status', async () => {
    const { id } = await fleet.running()
    await fleet.act(id, 'stop')
    expect((await fleet.act(id, 'refresh')).json.desired_status).toBe('STOPPED')
  })
})
