/**
 * Figures of a lost machine: a class in use, its work saved, and the machine below it terminated outside LCM. Counts the sessions
 * that run elsewhere with the saved configurations, as their new CML shows them, on `lcm up` with its simulated cloud.
 */
import { cmlLabsClient } from '@lcm/cloud-aws/cml/cml-labs'
import { DEFAULT_CML_LOGIN } from '@lcm/cloud-sim/cml/server-state'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { systemClock } from '@lcm/runtime/clock'
import { licensed, runningLcm, until } from '../../product/lcm-up-process.ts'
import { atLeast, atMost, conclude, measured } from '../../report/figure-report.ts'

const SESSIONS = 20
/** The machines, labs and nodes of the simulated cloud boot as many times faster than real ones. */
const SPEED = 60
const BAR_LAST_S = 120
const NODE = 'r1'
const TOPOLOGY = `lab:
  version: 0.3.0
  title: One router
nodes:
  - id: n0
    label: ${NODE}
    node_definition: iol-xe
    x: 0
    y: 0
    interfaces: []
    configuration: hostname r1
links: []
`
/** A small lab, so that a licensed worker holds the whole class. */
const NEEDS = { cpu_cores: 0.5, memory_gb: 1, storage_gb: 1, node_count: 1 }

const lcm = await runningLcm(19_457, { args: ['--speed', String(SPEED)] })
const { client } = lcm
const session = (id: string) => client.call('getSession', { params: { id } })
const worker = (id: string) => client.call('getWorker', { params: { id } })
/** The client of CML has deadlines of its own. */
const { signal } = new AbortController()
const typed = (id: string) => `description work of ${id}`

/** Every session of the class, once all are as asked. */
async function all(
  ids: readonly string[],
  what: string,
  isSo: (session: LabletSession) => boolean,
): Promise<readonly LabletSession[]> {
  let last: readonly LabletSession[] = []
  const read = async () => {
    last = await Promise.all(ids.map(session))
    return last.every(isSo) ? last : null
  }
  return until(what, read, { everyMs: 200 }).catch(error => {
    for (const one of last.filter(each => !isSo(each)))
      console.log(`${one.id} ${one.status} ${one.waiting_reason?.message ?? one.health.reason?.message ?? ''}`)
    throw error
  })
}

async function labOf({ lab_record_id, worker_id }: LabletSession) {
  const { lab_id } = await client.call('getLab', { params: { id: lab_record_id ?? '' } })
  const { ec2_instance_id: machine, https_endpoint: url } = await worker(worker_id ?? '')
  return { lab_id: lab_id ?? '', machine: machine ?? '', login: { ...DEFAULT_CML_LOGIN, url: url ?? '' } }
}

async function type(one: LabletSession): Promise<void> {
  const { lab_id, machine } = await labOf(one)
  await lcm.sim.type(machine, { lab_id, node: NODE, line: typed(one.id) })
}

/** Whether the node runs with what its owner typed before the machine was lost. */
async function hasWork(one: LabletSession): Promise<boolean> {
  const { lab_id, login, machine } = await labOf(one)
  const { certificate_sha256 } = (await worker(one.worker_id ?? '')).cml
  const at = { ...login, certificate_sha256 }
  const node = (await labs.nodes(at, lab_id, signal)).find(({ label }) => label === NODE)
  if (node === undefined) throw new Error(`the lab ${lab_id} on ${machine} has no ${NODE}`)
  await labs.extractConfiguration(at, { lab_id, node_id: node.node_id }, signal)
  return (await labs.download(at, lab_id, signal)).includes(typed(one.id))
}

const labs = cmlLabsClient({ clock: systemClock })
const [first, second] = lcm.workers
if (first === undefined || second === undefined) throw new Error('the fleet has fewer than two workers')
await licensed(lcm, [first, second])
await client.call('createDefinition', {
  body: { name: 'one-router', topology: TOPOLOGY, needs: NEEDS, max_duration_minutes: 60 },
})
const ids: string[] = []
for (let n = 0; n < SESSIONS; n += 1) {
  const body = { definition: 'one-router', duration_minutes: 60 }
  ids.push((await client.call('createSession', { body })).id)
}
const isUp = ({ status, health }: LabletSession) => status === 'RUNNING' && health.status === 'OK'
const begun = await all(ids, 'a class in use', isUp)
for (const one of begun) await type(one)
for (const id of ids) await client.call('saveSession', { params: { id }, body: {} })
await all(ids, 'a save of every session', ({ save }) => save.save_id !== null && save.requested_at === null)

const lostId = begun[0]?.worker_id ?? ''
const lost = begun.filter(({ worker_id }) => worker_id === lostId).map(({ id }) => id)
const { ec2_instance_id: machine } = await worker(lostId)
const lostMs = systemClock.now()
await lcm.sim.act(machine ?? '', 'terminate')
await until('the first move', async () => ((await session(lost[0] ?? '')).worker_id === lostId ? null : true))
const noticedMs = systemClock.now() - lostMs
const again = await all(lost, 'the class elsewhere', one => isUp(one) && one.worker_id !== lostId)
const lastMs = systemClock.now() - lostMs
const work = await Promise.all(again.map(hasWork))
await labs.close()
await lcm.stop()

const restored = work.filter(Boolean).length
conclude({
  bench: 'lost-machine',
  figures: [
    atLeast(`sessions that run elsewhere with the same id, of ${lost.length} on the machine`, lost.length, {
      value: again.length,
    }),
    atLeast('of these, with the saved configuration on the node', lost.length, { value: restored }),
    measured('the end of the machine to the first move', `${(noticedMs / 1000).toFixed(1)} s`),
    atMost(`the end of the machine to the last session RUNNING, nodes boot ${SPEED} times as fast`, BAR_LAST_S, {
      value: Math.round(lastMs / 100) / 10,
      unit: 's',
    }),
  ],
  charts: [],
})
