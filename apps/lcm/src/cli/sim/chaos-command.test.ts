import { cmlControl } from '@lcm/cloud-sim/cml/cml-control-api'
import { simCompute } from '@lcm/cloud-sim/in-process/compute'
import { controlApi } from '@lcm/cloud-sim/server/control-api'
import { boundedRequestLog } from '@lcm/cloud-sim/server/request-log'
import { openSimModel } from '@lcm/cloud-sim/sim-model'
import { aControlPlane, type ControlPlaneSetting } from '@lcm/testkit/a-control-plane'
import { manualClock } from '@lcm/testkit/manual-clock'
import { someLaunchParameters } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { cliApi } from '../testing/in-memory-api.ts'
import { aRunningWorker, aWorker } from '../testing/resource-builders.ts'

const REGION = 'us-east-1'
/** Longer than any simulated machine boots. */
const BOOTED_MS = 40 * 60_000
const { signal } = new AbortController()

/** A simulated cloud with the machine of metal-1, one that is gone and one without a worker whose CML is broken. */
async function simulated(setting: (simulator: ProcessParts['simulator']) => ControlPlaneSetting = withSimulator) {
  const clock = manualClock()
  const model = openSimModel({ seed: 5, clock })
  const compute = simCompute(model)
  const image = await compute.newestImage(REGION, { name_pattern: 'cml-2.9.1-*', owner: 'self' }, signal)
  const place = { image_id: image?.image_id ?? '', subnet_id: 'subnet-use1a' }
  const launch = async (Name: string) => {
    const parameters = someLaunchParameters({ ...place, tags: { Name } })
    const made = await compute.launch(REGION, { client_token: Name, parameters, user_data: null }, signal)
    return made.instance_id
  }
  const [instance, gone, stranger] = [await launch('metal-1'), await launch('gone'), await launch('stranger')]
  await clock.advance(BOOTED_MS)
  await compute.power(REGION, 'terminate', [gone], signal)
  await clock.advance(BOOTED_MS)
  const journal = boundedRequestLog()
  const { handle } = controlApi({ model, journal, isServed: () => true, plugs: [cmlControl(model)] })
  const faults = { network: 'cut', fail_one_in: 3 }
  handle({ method: 'PATCH', url: `/sim/v1/instances/${stranger}/cml/faults`, body: JSON.stringify(faults) })
  const captured = capturedShell({ api: cliApi(aControlPlane(setting(handle))) })
  captured.api.put(aRunningWorker({ ec2_instance_id: instance }))
  captured.api.put(aWorker({ id: 'w-2', name: 'metal-2' }))
  return { ...captured, instance, stranger, lcm: (...args: string[]) => run(['chaos', ...args], captured.shell) }
}

type ProcessParts = NonNullable<ControlPlaneSetting['process']>

const PROCESS = { health: () => ({ status: 'healthy' }), waitsFor: () => null, metrics: async () => '' }
const withSimulator = (simulator: ProcessParts['simulator']): ControlPlaneSetting =>
  simulator === undefined ? {} : { process: { ...PROCESS, simulator } }

it('shows the machines next to the status in LCM, and the faults', async () => {
  const { lcm, instance, stranger, outLines } = await simulated()
  await lcm('stop', 'metal-1', '-q')
  await lcm('fault', 'lost_answer_rate=0.3', '-q')
  expect(await lcm('list')).toBe(0)
  expect(outLines()).toEqual([
    'NAME       INSTANCE              REGION      MACHINE    LCM STATUS              CML                                        RETIRES',
    `metal-1    ${instance}   us-east-1   stopping   RUNNING, not seen yet   NOTHING                                    -`,
    `stranger   ${stranger}   us-east-1   running    no worker               READY, network cut, 1 answer in 3 is 500   -`,
    '',
    'Preset: plain',
    '  lost_answer_rate 0.3',
  ])
})

it.each(['stop', 'terminate', 'start', 'reboot'])('can %s a machine by worker or by instance id', async act => {
  const { lcm, api, instance, out } = await simulated()
  expect(await lcm(act, 'metal-1')).toBe(0)
  expect(out()).toMatch(/^metal-1 \(i-[0-9a-f]{17}\) was \w+ outside LCM\n$/)
  expect(await lcm(act, instance)).toBe(0)
  expect(api.requests().filter(request => request === `POST /instances/${instance}/${act}`)).toHaveLength(2)
})

it("explains why it can't act on a machine", async () => {
  const { lcm, errLines } = await simulated()
  expect(await lcm('stop', 'metal-2')).toBe(4)
  expect(await lcm('stop', 'metal-9')).toBe(3)
  expect(await lcm('stop', 'i-0000')).toBe(3)
  expect(errLines()).toEqual([
    "error: no machine of metal-2 is known: it is PENDING, or your role can't see its machine: list machines with `lcm chaos list`",
    'error: worker metal-9 not found: list all with `lcm get workers --all`',
    'error: the simulated cloud refused: there is no instance i-0000; GET /sim/v1/instances lists those there are',
  ])
})

it('sets faults and clears one or all', async () => {
  const { lcm, api, outLines } = await simulated()
  expect(await lcm('fault', 'lost_answer_rate=0.3', 'server_error_rate=0.1', '--preset', 'hostile')).toBe(0)
  expect(api.bodies()).toEqual([{ preset: 'hostile', lost_answer_rate: 0.3, server_error_rate: 0.1 }])
  expect(await lcm('fault', 'lost_answer_rate=0.3', 'server_error_rate=0.1', '--preset', 'calm')).toBe(0)
  expect(await lcm('fault', '--clear', 'lost_answer_rate')).toBe(0)
  expect(outLines().slice(-2)).toEqual(['Preset: calm', '  server_error_rate 0.1'])
  expect(await lcm('fault', '--clear')).toBe(0)
  expect(outLines().at(-1)).toBe('Preset: calm, no faults')
})

it('makes the next calls fail', async () => {
  const { lcm, api, outLines } = await simulated()
  expect(await lcm('fault', '--next', 'RunInstances', '--meets', 'throttled', '--times', '2')).toBe(0)
  expect(await lcm('fault', '--next', 'StopInstances', '--meets', 'lost-answer')).toBe(0)
  expect(api.bodies().at(-1)).toEqual({ action: 'StopInstances', times: 1, fault: 'lost_answer' })
  expect(outLines().slice(-2)).toEqual([
    '  next 2 RunInstances answer 503 RequestLimitExceeded',
    '  next StopInstances lose their answer',
  ])
})

it('breaks a CML and repairs it', async () => {
  const { lcm, api, outLines } = await simulated()
  for (const way of ['cut', 'fail', 'expire', 'forget', 'heal']) expect(await lcm('cml', 'metal-1', way)).toBe(0)
  expect(api.bodies()).toEqual([{ network: 'cut' }, { fail_one_in: 1 }, { session_lifetime_factor: 0.0001 }])
  expect(outLines().at(-1)).toBe('the CML of metal-1 is healed')
})

it.each([
  [['fault'], 2],
  [['fault', 'lost_answer_rate'], 2],
  [['fault', 'nonsense=1'], 2],
  [['fault', '--clear', 'nonsense'], 3],
  [['fault', '--next', 'RunInstances'], 2],
  [['fault', '--clear', '--preset', 'calm'], 2],
  [['cml', 'metal-1', 'nonsense'], 2],
])('refuses %j with %i', async (args, code) => {
  const { lcm, err } = await simulated()
  expect(await lcm(...args)).toBe(code)
  expect(err()).not.toBe('')
})

it('refuses when the cloud is not simulated, not local, or the role does not allow it', async () => {
  const aws = { version: '0.0.0', profile: 'embedded', cloud: 'aws', regions: [REGION], settings: {} } as const
  const onAws = await simulated(() => ({ config: aws }))
  expect(await onAws.lcm('list')).toBe(2)
  const elsewhere = await simulated(() => ({}))
  expect(await elsewhere.lcm('stop', 'metal-1')).toBe(2)
  const user = await simulated()
  user.api.actAs({ id: 'bob', name: 'bob', role: 'user' })
  expect(await user.lcm('list')).toBe(5)
  expect([onAws, elsewhere, user].flatMap(({ errLines }) => errLines())).toEqual([
    'error: chaos needs a simulated cloud, and this LCM runs on AWS: try it with `lcm up --cloud sim`',
    'error: the simulated cloud runs in another process: use /sim/v1 of that `lcm sim`',
    'error: bob is user, which may not do this: ask an admin to do it, or to give you a role that allows it',
  ])
})

it('prints JSON for programs', async () => {
  const { lcm, instance, stranger, out } = await simulated()
  await lcm('list', '-o', 'json')
  expect(JSON.parse(out())).toMatchObject({
    items: [
      { instance_id: instance, worker_id: 'w-0abcdefgh0001' },
      { instance_id: stranger, worker_id: null },
    ],
    faults: { preset: 'plain' },
  })
})
