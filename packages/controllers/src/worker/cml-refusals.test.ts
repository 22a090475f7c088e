import type { Instance } from '@lcm/domain/worker/ec2-instance'
import type { Worker } from '@lcm/domain/worker/worker'
import { type RecordingLogger, recordingLogger } from '@lcm/testkit/recording-logger'
import { type RecordingMeter, recordingMeter } from '@lcm/testkit/recording-meter'
import { beforeEach, expect, it } from 'vitest'
import { cmlLogins } from './cml-logins.ts'
import { type CmlRefusals, cmlRefusals } from './cml-refusals.ts'
import { BOOTED_MS, never, type SimulatedFleet, simulatedFleet } from './testing/simulated-cloud-and-api.ts'

let fleet: SimulatedFleet
let machine: Instance
let worker: Worker
let logger: RecordingLogger
let meter: RecordingMeter
let woken: string[]
let access: CmlRefusals

const READS = ['stats', 'health', 'nodeDefinitions', 'licensing', 'activity'] as const
const refused = (what: string) => meter.value('worker_cml_refused', { what })
const refuse = (...refused_paths: readonly string[]) => fleet.setServer(machine, { faults: { refused_paths } })
const ask = async (read: (typeof READS)[number], of = worker): Promise<unknown> => {
  const login = await access.logins.resolve(of, of.https_endpoint ?? '', never)
  return access.cml[read](login, never)
}
const askAll = async () => {
  for (const read of READS) await ask(read).catch(() => undefined)
}

beforeEach(async () => {
  fleet = await simulatedFleet()
  machine = await fleet.launch()
  await fleet.clock.advance(BOOTED_MS)
  worker = await fleet.workerOn(machine)
  logger = recordingLogger()
  meter = recordingMeter()
  woken = []
  access = cmlRefusals({ ...fleet, logger, meter, onChange: id => void woken.push(id) })
})

it('counts nothing, logs nothing and wakes no worker while CML accepts everything', async () => {
  await askAll()
  expect([logger.lines, woken, access.problems()]).toEqual([[], [], []])
  expect(refused('login')).toBe(0)
})

it('a refused login is one warning, one count and one wake, and so is its end', async () => {
  meter = recordingMeter()
  const logins = cmlLogins(fleet.client, { username: 'admin', password: 'Not-This-One' })
  access = cmlRefusals({ ...fleet, logins, logger, meter, onChange: id => void woken.push(id) })
  for (let n = 0; n < 3; n += 1) await askAll()
  expect(logger.lines).toEqual([
    {
      level: 'warn',
      message: "CML refuses LCM's login",
      fields: { worker: worker.id, name: worker.name, what: 'login', error: 'Authentication failed!' },
    },
  ])
  expect([woken, refused('login')]).toEqual([[worker.id], 1])
  fleet.model.cml.act(machine.instance_id, ({ server }) => {
    const users = server.users.map(user => ({ ...user, password: 'Not-This-One' }))
    return { status: 204, change: { server: { ...server, users } } }
  })
  await askAll()
  expect(logger.messages('info')).toEqual(['CML no longer refuses what LCM needs'])
  expect([woken, refused('login')]).toEqual([[worker.id, worker.id], 0])
})

it.each<[string, string, (typeof READS)[number]]>([
  ['/telemetry', 'telemetry', 'activity'],
  ['/system_stats', 'system_stats', 'stats'],
  ['/system_health', 'system_health', 'health'],
  ['/simplified_node_definitions', 'node_definitions', 'nodeDefinitions'],
  ['/licensing', 'licensing', 'licensing'],
])('a refusal of %s is counted as %s alone', async (path, what, read) => {
  refuse(path)
  await askAll()
  await askAll()
  expect(logger.messages('warn')).toHaveLength(1)
  expect([refused(what), refused('login')]).toEqual([1, 0])
  expect(Object.keys(access.accessTo(worker))).toContain(what)
  refuse()
  await ask(read)
  expect([refused(what), access.problems()]).toEqual([0, []])
})

it('is forgotten with the worker and with the term', async () => {
  refuse('/telemetry')
  for (const forget of [() => access.forget(worker.id), access.clear]) {
    await askAll()
    expect(refused('telemetry')).toBe(1)
    forget()
    expect([refused('telemetry'), access.accessTo(worker)]).toEqual([0, {}])
  }
})
