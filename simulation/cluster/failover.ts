import type { Worker } from '@lcm/domain/worker/worker'
import { systemClock } from '@lcm/runtime/clock'
import type { WorkerCluster } from './clusters/worker-cluster.ts'
import type { ServiceProcess } from './processes/service-process.ts'
import { staleWritesAccepted, terms, termsOutOfOrder } from './write-history.ts'

const WORKERS = 4
const PATIENCE_MS = 60_000
const LOOK_EVERY_MS = 5
/** Seldom enough to leave the cores to those that are looked at. */
const LOOK_AT_FLEET_EVERY_MS = 25

/** Real processes are waited for by looking, for a bounded time. */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | null> | T | null,
  everyMs = LOOK_EVERY_MS,
  patienceMs = PATIENCE_MS,
): Promise<T> {
  const deadline = systemClock.monotonic() + patienceMs
  for (;;) {
    const found = await look()
    if (found !== null) return found
    if (systemClock.monotonic() > deadline) throw new Error(`${what} did not happen within ${patienceMs} ms`)
    await systemClock.sleep(everyMs)
  }
}

/** A fleet under two controllers, with somebody who keeps changing their mind, so that there is something to get wrong. */
export interface FailoverRun {
  leader(): ServiceProcess
  changeAMind(): Promise<void>
  /** Kills the leader without a warning; answers how long nobody led. A fresh standby takes the empty place. */
  kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<number>
  /** Freezes the leader past its lease and lets it go on afterwards; answers how long nobody led. */
  freeze(): Promise<number>
  verdict(): Promise<Verdict>
}

export interface Verdict {
  readonly staleWritesAccepted: number
  readonly termsOutOfOrder: number
  /** Machines that no worker has, or workers without theirs. */
  readonly machinesAstray: number
  readonly terms: number
  readonly writes: number
}

export async function startFailoverRun(cluster: WorkerCluster): Promise<FailoverRun> {
  const processes = new Map<string, ServiceProcess>()
  let started = 0
  let minds = 0
  const startStandby = async () => {
    const name = `wc-${started++}`
    processes.set(name, await cluster.startController(name))
  }
  await startStandby()
  await startStandby()
  for (let i = 0; i < WORKERS; i++) {
    await cluster.client.call('createWorker', { body: { template_name: 'metal', name: `w${i}` } })
  }
  await converged(cluster)

  function leader(): ServiceProcess {
    const found = processes.get(terms(cluster.history).at(-1)?.instance ?? '')
    if (!found) throw new Error('nobody leads')
    return found
  }

  return {
    leader,
    async changeAMind() {
      const all = await workersOf(cluster)
      const worker = all[minds++ % all.length]
      if (!worker) return
      const verb = worker.desired_status === 'RUNNING' ? 'stopWorker' : 'startWorker'
      await cluster.client.call(verb, { params: { id: worker.id }, body: {} })
    },
    async kill(signal) {
      const dying = leader()
      const at = systemClock.monotonic()
      dying.signal(signal)
      const term = await nextTerm(cluster, dying.name, at)
      processes.delete(dying.name)
      await startStandby()
      return term - at
    },
    async freeze() {
      const frozen = leader()
      const at = systemClock.monotonic()
      frozen.signal('SIGSTOP')
      const term = await nextTerm(cluster, frozen.name, at)
      frozen.signal('SIGCONT')
      return term - at
    },
    verdict: () => judge(cluster),
  }
}

const workersOf = async (cluster: WorkerCluster): Promise<readonly Worker[]> =>
  (await cluster.client.call('listWorkers', { query: { limit: 100 } })).items

const converged = (cluster: WorkerCluster) =>
  eventually(
    'convergence',
    async () => {
      const all = await workersOf(cluster)
      return all.length === WORKERS && all.every(worker => worker.status === worker.desired_status) ? all : null
    },
    LOOK_AT_FLEET_EVERY_MS,
  )

/** When somebody other than `instance` was accepted as the leader, after `ms`. */
const nextTerm = (cluster: WorkerCluster, instance: string, ms: number) =>
  eventually(
    'a new term',
    () => {
      const next = terms(cluster.history).find(term => term.endedAt > ms && term.instance !== instance)
      return next?.endedAt ?? null
    },
    LOOK_AT_FLEET_EVERY_MS,
  )

async function judge(cluster: WorkerCluster): Promise<Verdict> {
  const all = await converged(cluster)
  const owned = new Set(all.map(worker => worker.ec2_instance_id))
  const live = cluster.cloud.machines().filter(machine => machine.state !== 'terminated')
  const known = live.filter(machine => owned.has(machine.instance.instance_id))
  return {
    staleWritesAccepted: staleWritesAccepted(cluster.history).length,
    termsOutOfOrder: termsOutOfOrder(cluster.history).length,
    machinesAstray: live.length - known.length + (owned.size - known.length),
    terms: terms(cluster.history).length,
    writes: cluster.history.filter(exchange => exchange.method === 'PATCH').length,
  }
}
