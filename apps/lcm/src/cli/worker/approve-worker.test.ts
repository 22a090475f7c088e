import { describe, expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aRunningWorker } from '../testing/resource-builders.ts'

const ID = 'w-0abcdefgh0001'
const [SHOWN, OTHER] = ['ab'.repeat(32), 'cd'.repeat(32)]
const REQUIRED = { state: 'required', by: null, at: null, fingerprint: null } as const
const { cml } = aRunningWorker()
const found = () =>
  aRunningWorker({ launch: null, approval: REQUIRED, cml: { ...cml, seen_certificate_sha256: SHOWN } })

describe('approve', () => {
  it('approves a machine, and says how its certificate is pinned', async () => {
    const { shell, api, outLines } = capturedShell()
    api.put(found())
    expect(await run(['approve', 'worker', 'metal-1', '--reason', 'lab 3'], shell)).toBe(0)
    expect(api.bodies()).toEqual([{ reason: 'lab 3' }])
    expect(await run(['approve', 'worker', 'metal-1'], shell)).toBe(0)
    expect(outLines()).toEqual([
      `metal-1 (${ID}) is approved. LCM pins the certificate that its CML shows next`,
      `metal-1 (${ID}) needs no approval`,
    ])
  })

  it('pins the given fingerprint', async () => {
    const { shell, api, out } = capturedShell()
    api.put(found())
    const fingerprint = SHOWN.toUpperCase().replaceAll(/..(?!$)/g, '$&:')
    expect(await run(['approve', 'worker', 'metal-1', '--fingerprint', fingerprint], shell)).toBe(0)
    expect(out()).toBe(`metal-1 (${ID}) is approved. LCM trusts its CML only with the certificate ${SHOWN}\n`)
  })
})

describe('repin', () => {
  const pinned = () => aRunningWorker({ cml: { ...cml, certificate_sha256: OTHER, seen_certificate_sha256: SHOWN } })

  it('pins the certificate that was seen', async () => {
    const { shell, api, out } = capturedShell()
    api.put(pinned())
    expect(await run(['repin', 'worker', 'metal-1', '--fingerprint', SHOWN], shell)).toBe(0)
    expect(out()).toBe(`LCM trusts the CML of metal-1 (${ID}) only with the certificate ${SHOWN}\n`)
  })

  it('fails with the certificate that was seen, or without a fingerprint', async () => {
    const { shell, api, err } = capturedShell()
    api.put(pinned())
    expect(await run(['repin', 'worker', 'metal-1', '--fingerprint', 'ef'.repeat(32)], shell)).toBe(4)
    expect(err()).toContain(`metal-1 showed the certificate ${SHOWN}`)
    expect(await run(['repin', 'worker', 'metal-1'], shell)).toBe(2)
  })
})
