import { manualClock } from '@lcm/testkit/manual-clock'
import { describe, expect, it } from 'vitest'
import { openSimModel } from '../../sim-model.ts'
import { bootedCml } from '../../testing/booted-cml.ts'

const TOKEN = { token: 'good' }

async function twoServers(licensesOwned?: number) {
  const clock = manualClock()
  const model = openSimModel({ seed: 11, clock, ...(licensesOwned === undefined ? {} : { licensesOwned }) })
  const advance = (ms: number) => clock.advance(ms)
  const [first, second] = [await bootedCml(model, advance), await bootedCml(model, advance)]
  for (const server of [first, second]) {
    server.again()
    expect(server.ask('POST', '/licensing/registration', TOKEN).status).toBe(204)
    await server.settle()
  }
  return { model, first, second }
}

const stateOf = ({ ask }: Awaited<ReturnType<typeof bootedCml>>) => {
  const { registration, authorization } = Object(ask('GET', '/licensing').body)
  return `${registration.status} ${authorization.status} ${Object(ask('GET', '/diagnostics/licensing').body).quota}`
}

describe('an account', () => {
  it('has unlimited licenses by default', async () => {
    const { model, first, second } = await twoServers()
    expect([stateOf(first), stateOf(second)]).toEqual(Array(2).fill('COMPLETED IN_COMPLIANCE 20'))
    expect(model.cml.smartAccount()).toHaveLength(2)
  })

  it('lists a server without a license as out of compliance', async () => {
    const { model, first, second } = await twoServers(1)
    expect([stateOf(first), stateOf(second)]).toEqual(['COMPLETED IN_COMPLIANCE 20', 'COMPLETED OUT_OF_COMPLIANCE 5'])
    expect(model.cml.smartAccount()).toMatchObject([{ instance_id: first.id }])
  })

  it('gives a returned license to a waiting server', async () => {
    const { model, first, second } = await twoServers(1)
    expect(first.ask('DELETE', '/licensing/deregistration').status).toBe(204)
    expect(stateOf(second)).toBe('COMPLETED IN_COMPLIANCE 20')
    expect(model.cml.smartAccount()).toMatchObject([{ instance_id: second.id }])
  })

  it('counts no license of a server that got none, and lets the holder register again', async () => {
    const { model, first, second } = await twoServers(1)
    expect(second.ask('DELETE', '/licensing/deregistration').status).toBe(204)
    expect(first.ask('POST', '/licensing/registration', { ...TOKEN, reregister: true }).status).toBe(204)
    await first.settle()
    expect(stateOf(first)).toBe('COMPLETED IN_COMPLIANCE 20')
    expect(model.cml.smartAccount()).toMatchObject([{ instance_id: first.id }])
  })
})
