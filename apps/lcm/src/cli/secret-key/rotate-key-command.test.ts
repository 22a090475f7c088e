import { aControlPlane, type ControlPlaneSetting } from '@lcm/testkit/a-control-plane'
import { describe, expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { cliApi } from '../testing/in-memory-api.ts'

/** Keys of a cluster. */
const given = (...bytes: number[]) => ({ all: () => bytes.map(byte => Buffer.alloc(32, byte)), file: null })

async function rotateKey(setting: ControlPlaneSetting = {}) {
  const plane = aControlPlane(setting)
  const { id } = await plane.create()
  await plane.send('PUT', `workers/${id}/credentials`, { json: { username: 'admin', password: 'x' } })
  plane.access.grant('secret', { id: 'admin', name: 'admin', role: 'admin', service: null })
  const { shell, out, err } = capturedShell({ api: { ...cliApi(), dispatch: plane.dispatch } })
  return { code: await run(['rotate-key'], shell), out: out(), err: err() }
}

describe('rotate-key', () => {
  it('rotates the key of a data folder', async () => {
    const { code, out, err } = await rotateKey()
    expect(code).toBe(0)
    expect(out).toMatch(/^secret key rotated to [0-9a-f]{8} \(secrets sealed again: 1\)\n$/)
    expect(err).toContain('Make a new backup, and delete the older ones: they contain the old key.')
  })

  it('rotates to the first key of a cluster, and says which keys to remove', async () => {
    const { code, err } = await rotateKey({ secretKeys: given(2, 1) })
    expect(code).toBe(0)
    expect(err).toMatch(/Remove [0-9a-f]{8} now: leave only the first key in LCM_SECRET_KEY of every API replica\./)
  })

  it('says what to do first in a cluster', async () => {
    const { code, err } = await rotateKey({ secretKeys: given(1) })
    expect(code).toBe(4)
    expect(err).toMatch(/LCM_SECRET_KEY has no new key in front of [0-9a-f]{8}\. Put one there/)
  })
})
