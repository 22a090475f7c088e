import type { Worker } from '@lcm/domain/worker/worker'
import { systemClock } from '@lcm/runtime/clock'
import type { WorkerCluster } from './clusters/worker-controller-cluster.ts'
import { staleWritesAccepted, terms, termsOutOfOrder } from './fencing-checks.ts'
import type { ServiceProcess } from './processes/service-process.ts'

const WORKERS = 4
const TIMEOUT_MS = 60_000
const POLL_MS = 5
/** Rare enough to leave the CPU to the processes under test. */
const FLEET_POLL_MS = 25

/** Polls real processes until there is a result, up to a timeout. */
export async function eventually<T>(
  what: string,
  read: () => Promise<T | null> | T | null,
  everyMs = POLL_MS,
  timeoutMs = TIMEOUT_MS,
): Promise<T> {
  const deadline = systemClock.monotonic() + timeoutMs
  for (;;) {
    const found = await read()
    if (found !== null) return found
    if (systemClock.monotonic() > deadline) throw new Error(`${what} did not happen within ${timeoutMs} ms`)
    await systemClock.sleep(everyMs)
  }
}

/** A fleet under two controllers, with a user who keeps changing desired statuses. */
export interface FailoverRun {
  leader(): ServiceProcess
  changeDesiredStatus(): Promise<void>
  /** Ends the leader, and returns the time without a leader. A new standby is started. */
  kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<number>
  /** Freezes the leader past its lease, and returns the time without a leader. The leader then continues. */
  freeze(): Promise<number>
  verdict(): Promise<Verdict>
}

export interface Verdict {
  readonly staleWritesAccepted: number
  readonly termsOutOfOrder: number
  /** Machines without a worker, and workers without a machine. */
  readonly machinesAstray: number
  readonly terms: number
  readonly writes: number
}

export async function startFailoverRun(cluster: WorkerCluster): Promise<FailoverRun> {
  const processes = new Map<string, ServiceProcess>()
  let started = 0
  let changes = 0
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
    if (!found) throw new Error('no leader')
    return found
  }

  return {
    leader,
    async changeDesiredStatus() {
      const all = await workersOf(cluster)
      const worker = all[changes++ % all.length]
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
    FLEET_POLL_MS,
  )

/** Time at which another instance than `instance` was accepted as the leader, after `ms`. */
const nextTerm = (cluster: WorkerCluster, instance: string, ms: number) =>
  eventually(
    'a new term',
    () => {
      const next = terms(cluster.history).find(term => term.endedAt > ms && term.instance !== instance)
      return next?.endedAt ?? null
    },
    FLEET_POLL_MS,
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
