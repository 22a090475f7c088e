import { expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aMachine } from '../testing/fake-fleet.ts'
import { aRunningWorker, aWorker } from '../testing/samples.ts'

const INSTANCE = 'i-0123456789abcdef0'

function simulated() {
  const captured = capturedShell()
  captured.api.put(aRunningWorker())
  captured.api.put(aWorker({ id: 'w-2', name: 'metal-2' }))
  captured.api.fleet.machines = [
    aMachine(),
    aMachine({ instance_id: 'i-0a', state: 'terminated' }),
    aMachine({ instance_id: 'i-0b', tags: { Name: 'stranger' }, cml_faults: { network: 'cut', fail_one_in: 3 } }),
  ]
  return { ...captured, lcm: (...args: string[]) => run(['chaos', ...args], captured.shell) }
}

it('shows what is in truth beside what LCM says, and the faults', async () => {
  const { lcm, api, outLines } = simulated()
  const [machine] = api.fleet.machines
  if (machine) api.fleet.machines[0] = { ...machine, state: 'stopped' }
  await lcm('fault', 'lost_answer_rate=0.3', '-q')
  expect(await lcm('list')).toBe(0)
  expect(outLines()).toEqual([
    'NAME       INSTANCE              REGION      MACHINE   LCM STATUS              CML                                        RETIRES',
    'metal-1    i-0123456789abcdef0   us-east-1   stopped   RUNNING, not seen yet   READY                                      -',
    'stranger   i-0b                  us-east-1   running   no worker               READY, network cut, 1 answer in 3 is 500   -',
    '',
    'Preset: calm',
    '  lost_answer_rate 0.3',
  ])
})

it.each(['stop', 'terminate', 'start', 'reboot'])('can %s a machine by worker or by instance id', async act => {
  const { lcm, api, out } = simulated()
  expect(await lcm(act, 'metal-1')).toBe(0)
  expect(out()).toMatch(/^metal-1 \(i-0123456789abcdef0\) was \w+ without LCM\n$/)
  expect(await lcm(act, INSTANCE)).toBe(0)
  expect(api.requests.filter(request => request === `POST /instances/${INSTANCE}/${act}`)).toHaveLength(2)
})

it('says of what it can not act on why', async () => {
  const { lcm, errLines } = simulated()
  expect(await lcm('stop', 'metal-2')).toBe(4)
  expect(await lcm('stop', 'metal-9')).toBe(3)
  expect(await lcm('stop', 'i-0000')).toBe(3)
  expect(errLines()).toEqual([
    'error: metal-2 has no machine because it is PENDING: list machines with `lcm chaos list`',
    'error: worker metal-9 not found: list all with `lcm get workers --all`',
    'error: the simulated cloud refused: there is no instance i-0000; others there are',
  ])
})

it('sets faults and takes them back, one or all', async () => {
  const { lcm, api, outLines } = simulated()
  expect(await lcm('fault', 'lost_answer_rate=0.3', 'server_error_rate=0.1', '--preset', 'hostile')).toBe(0)
  expect(api.bodies).toEqual([{ preset: 'hostile', lost_answer_rate: 0.3, server_error_rate: 0.1 }])
  api.fleet.faults = { ...api.fleet.faults, preset: 'calm' }
  expect(await lcm('fault', '--clear', 'lost_answer_rate')).toBe(0)
  expect(outLines().slice(-2)).toEqual(['Preset: calm', '  server_error_rate 0.1'])
  expect(await lcm('fault', '--clear')).toBe(0)
  expect(outLines().at(-1)).toBe('Preset: calm, no faults')
})

it('has the next calls go wrong', async () => {
  const { lcm, api, outLines } = simulated()
  expect(await lcm('fault', '--next', 'RunInstances', '--meets', 'throttled', '--times', '2')).toBe(0)
  expect(await lcm('fault', '--next', 'StopInstances', '--meets', 'lost-answer')).toBe(0)
  expect(api.bodies.at(-1)).toEqual({ action: 'StopInstances', times: 1, fault: 'lost_answer' })
  expect(outLines().slice(-2)).toEqual([
    '  next 2 RunInstances answer 503 RequestLimitExceeded',
    '  next StopInstances lose their answer',
  ])
})

it('breaks a CML and heals it', async () => {
  const { lcm, api, outLines } = simulated()
  for (const way of ['cut', 'fail', 'expire', 'forget', 'heal']) expect(await lcm('cml', 'metal-1', way)).toBe(0)
  expect(api.bodies).toEqual([{ network: 'cut' }, { fail_one_in: 1 }, { session_lifetime_factor: 0.0001 }])
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
  const { lcm, err } = simulated()
  expect(await lcm(...args)).toBe(code)
  expect(err()).not.toBe('')
})

it('says where the cloud is not simulated, or not here, or not theirs to harm', async () => {
  const { lcm, api, errLines } = simulated()
  const { info } = api.fleet
  api.fleet.info = { ...info, cloud: 'aws', sim_control: null }
  expect(await lcm('list')).toBe(2)
  api.fleet.info = { ...info, sim_control: null }
  expect(await lcm('stop', 'metal-1')).toBe(2)
  api.fleet.info = { ...info, actor: { ...info.actor, role: 'user' } }
  expect(await lcm('list')).toBe(5)
  expect(errLines()).toEqual([
    'error: chaos needs a simulated cloud, and this LCM runs on AWS: try it with `lcm up --cloud sim`',
    'error: the simulated cloud runs in another process: use /sim/v1 of that `lcm sim`',
    'error: bob is user, which may not do this: ask an admin to do it, or to give you a role that allows it',
  ])
})

it('tells programs', async () => {
  const { lcm, out } = simulated()
  await lcm('list', '-o', 'json')
  expect(JSON.parse(out())).toMatchObject({
    items: [
      { instance_id: INSTANCE, worker_id: 'w-0abcdefgh0001' },
      { instance_id: 'i-0b', worker_id: null },
    ],
    faults: { preset: 'calm' },
  })
})
