import { beforeEach, describe, expect, it } from 'vitest'
import { aFleet, type Fleet } from '../../testing/a-fleet.ts'

let fleet: Fleet
beforeEach(() => {
  fleet = aFleet()
})

describe('repin', () => {
  it('removes the pinned certificate once', async () => {
    const { id, version } = await fleet.running()
    await fleet.report(id, version, { cml: { certificate_sha256: 'abc', version: '2.8' } })
    const repinned = await fleet.act(id, 'repin')
    expect(repinned).toMatchObject({ status: 202, json: { version: version + 2 } })
    expect(repinned.json.cml).toMatchObject({ certificate_sha256: null, version: '2.8' })
    expect((await fleet.act(id, 'repin')).json.version).toBe(version + 2)
    const [entry] = await fleet.journal('audit', `worker:${id}`)
    expect(entry?.body).toMatchObject({
      action: 'repin',
      before: { certificate_sha256: 'abc' },
      after: { certificate_sha256: null },
    })
  })
})
