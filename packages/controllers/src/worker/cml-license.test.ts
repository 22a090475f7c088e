import { CloudError, NotLeadingError } from '@lcm/cloud/errors'
import { DEFAULT_CML_LOGIN } from '@lcm/cloud-sim/cml/server-state'
import type { Instance } from '@lcm/domain/worker/ec2-instance'
import { WORKER_POLICY } from '@lcm/domain/worker/observation'
import type { Worker } from '@lcm/domain/worker/worker'
import { NO_LICENSE } from '@lcm/domain/worker/worker-field-schemas'
import { onMachine } from '@lcm/testkit/observation-builders'
import { aWorker } from '@lcm/testkit/test-data-builders'
import { beforeEach, describe, expect, it } from 'vitest'
import { changeLicense, dependsOnLicense, type LicenseParts, readLicense } from './cml-license.ts'
import { cmlLogins } from './cml-logins.ts'
import { BOOTED_MS, never, type SimulatedFleet, simulatedFleet } from './testing/simulated-cloud-and-api.ts'

let fleet: SimulatedFleet
let parts: LicenseParts
let machine: Instance
let worker: Worker
let url: string

const change = (act: 'register_license' | 'deregister_license', permit = (): void => undefined) =>
  changeLicense(parts, worker, { act, url, permit }, never)

async function register(): Promise<void> {
  await fleet.recordWith(worker, { license: 'a-good-token' })
  await change('register_license')
  await fleet.clock.advance(5 * 60_000)
}

beforeEach(async () => {
  fleet = await simulatedFleet()
  parts = fleet
  machine = await fleet.launch()
  await fleet.clock.advance(BOOTED_MS)
  worker = await fleet.workerOn(machine, { license: { ...NO_LICENSE, product: 'CML_Enterprise' } })
  url = worker.https_endpoint ?? ''
  await fleet.record(worker)
})

describe('the license state of CML', () => {
  it('is read with the identity that the Smart Account shows', async () => {
    expect(await readLicense(parts, worker, url, never)).toEqual({
      kind: 'seen',
      registration: 'NOT_REGISTERED',
      authorization: 'INIT',
      failure: null,
      udi: expect.stringMatching(/^[0-9a-f-]{36}$/),
      hostname: expect.stringMatching(/./),
      product: 'CML_Enterprise',
    })
  })

  it("is unknown, with the reason, when CML can't be read", async () => {
    await fleet.compute.power('us-east-1', 'stop', [machine.instance_id], never)
    const seen = await readLicense(parts, worker, url, never)
    const text = expect.stringContaining('connection refused')
    expect(seen).toMatchObject({ kind: 'unknown', because: { code: 'text', params: { text } } })
  })

  it('is not read from a server whose certificate is not pinned', async () => {
    const asked: string[] = []
    const cml = {
      ...fleet.cml,
      licensing: async (): Promise<never> => {
        asked.push('licensing')
        throw new CloudError('transient', { code: 'Asked', action: 'GET', message: 'it was asked' })
      },
    }
    const stranger = { ...worker, cml: aWorker().cml }
    expect(await readLicense({ ...parts, cml }, stranger, url, never)).toMatchObject({
      kind: 'unknown',
      because: { code: 'text', params: { text: expect.stringContaining('NotPinned') } },
    })
    expect(asked).toEqual([])
  })

  it('is an error when the API returns no login', async () => {
    fleet.plane.fail({ effect: 'unreachable' })
    const own = { ...worker, secret_refs: { cml_login: 's-1' } }
    await expect(readLicense(parts, own, url, never)).rejects.toThrow('connection refused')
  })
})

describe('a registration', () => {
  it('is sent with the sealed token, and accepted before it is complete', async () => {
    await fleet.recordWith(worker, { license: 'a-good-token' })
    expect(await change('register_license')).toEqual({ kind: 'taken' })
    expect(await readLicense(parts, worker, url, never)).not.toMatchObject({ registration: 'COMPLETED' })
    await fleet.clock.advance(5 * 60_000)
    expect(await readLicense(parts, worker, url, never)).toMatchObject({
      registration: 'COMPLETED',
      authorization: 'IN_COMPLIANCE',
    })
  })

  it('is refused permanently, with advice, when no token is stored', async () => {
    expect(await change('register_license')).toEqual({
      kind: 'refused',
      errorClass: 'invalid',
      message: expect.stringContaining('no license token is kept for metal-1; PUT its license again'),
    })
  })

  it('is refused for a machine that needs an approval, without reading any secret', async () => {
    const secrets = { license: 'a-good-token', login: DEFAULT_CML_LOGIN }
    const found = await fleet.recordWith({ ...worker, launch: null }, secrets)
    const asked = { act: 'register_license', url, permit: () => undefined } as const
    expect(await changeLicense(parts, found, asked, never)).toEqual({
      kind: 'refused',
      errorClass: 'auth',
      message: expect.stringContaining('LCM did not launch this machine'),
    })
    expect(fleet.plane.requestsOf('getWorkerSecrets')).toEqual([])
  })

  it('is refused without a request when no password is known', async () => {
    parts = { ...parts, logins: cmlLogins(fleet.client, null) }
    expect(await change('register_license')).toMatchObject({ kind: 'refused', errorClass: 'auth' })
    expect(fleet.plane.requests).toEqual([])
  })

  it('has no answer when CML is down', async () => {
    await fleet.recordWith(worker, { license: 'a-good-token' })
    await fleet.compute.power('us-east-1', 'stop', [machine.instance_id], never)
    expect(await change('register_license')).toMatchObject({ kind: 'refused', errorClass: 'transient' })
  })
})

describe('a deregistration', () => {
  it('returns the license, and finds none afterwards', async () => {
    await register()
    expect(await change('deregister_license')).toEqual({ kind: 'returned' })
    expect(await change('deregister_license')).toEqual({ kind: 'not_registered' })
  })

  it("leaves the license registered when the Smart Account can't be reached", async () => {
    await register()
    fleet.setServer(machine, { faults: { license_server: 'not_reached' } })
    expect(await change('deregister_license')).toEqual({ kind: 'left_behind' })
  })
})

describe('a controller that lost its leadership', () => {
  const refused = () => {
    throw new NotLeadingError('it leads no longer')
  }

  it('registers nothing, also when it lost leadership while it read the token', async () => {
    await fleet.recordWith(worker, { license: 'a-good-token' })
    let mayNot = false
    fleet.plane.beforeRequest(async ({ route }) => {
      mayNot = route === 'getWorkerSecrets'
    })
    const sent = change('register_license', () => {
      if (mayNot) refused()
    })
    await expect(sent).rejects.toBeInstanceOf(NotLeadingError)
    await fleet.clock.advance(5 * 60_000)
    expect(fleet.model.cml.smartAccount()).toEqual([])
  })

  it('returns no license', async () => {
    await register()
    await expect(change('deregister_license', refused)).rejects.toBeInstanceOf(NotLeadingError)
    expect(fleet.model.cml.smartAccount()).toHaveLength(1)
  })
})

describe('a decision depends on the license', () => {
  const held = { ...NO_LICENSE, status: 'REGISTERED' } as const
  it.each<[boolean, string, Partial<Worker>, 'keep' | 'release']>([
    [false, 'not at rest', { status: 'RUNNING', license: held }, 'keep'],
    [
      true,
      'while an operation is pending',
      { status: 'RUNNING', license: { ...held, pending_operation: 'deregister' } },
      'keep',
    ],
    [true, 'on a refresh request', { status: 'RUNNING', refresh_requested_at: aWorker().created_at }, 'keep'],
    [true, 'before it is terminated, whatever is recorded', { status: 'TERMINATING' }, 'keep'],
    [false, 'not before a stop', { status: 'STOPPING', license: held }, 'keep'],
    [true, 'before a stop that releases it', { status: 'STOPPING', license: held }, 'release'],
    [false, 'not before the stop of a found machine', { status: 'STOPPING', license: held, launch: null }, 'release'],
    [false, 'not before a stop with nothing to release', { status: 'STOPPING' }, 'release'],
  ])('%s: %s', (expected, _, more, licenseOnStop) => {
    expect(dependsOnLicense(onMachine(more), { ...WORKER_POLICY, licenseOnStop })).toBe(expected)
  })
})
