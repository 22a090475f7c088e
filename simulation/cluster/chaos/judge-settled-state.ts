import type { Client } from '@lcm/client/client'
import { readList } from '@lcm/client/list-pages'
import type { WorkerView } from '@lcm/contract/worker'
import { TAG } from '@lcm/domain/worker/ec2-instance'
import { illegalMovesOfSession } from '@lcm/testkit/transition-rules'
import type { ControllerCluster } from '../clusters/controller-cluster.ts'
import { eventually } from '../failover-run.ts'
import {
  brokenChain,
  orphanedLicenses,
  unannouncedMachines,
  undecidedMoves,
  wrongReservations,
} from './settled-state-rules.ts'

const POLL_MS = 500
/** Time for work still in progress after all workers have reached their desired state. */
const SETTLE_MS_MAX = 60_000

export interface SettledState {
  readonly licenses: readonly string[]
  readonly books: readonly string[]
  readonly moves: readonly string[]
  readonly undecided: readonly string[]
}

/** Compares the API, the cloud and the Smart Account once every worker has its desired status. */
export async function judgeSettledState(cluster: ControllerCluster, client: Client): Promise<SettledState> {
  const workersNow = () =>
    readList(page => client.call('listWorkers', { query: { ...page, include_terminated: true } }))
  const sessionsNow = () =>
    readList(page => client.call('listSessions', { query: { ...page, include_finished: true } }))
  const licenses = await lasting(async () => orphanedLicenses(await cluster.seats(), (await workersNow()).items))
  const books = await lasting(async () => wrongReservations((await workersNow()).items, (await sessionsNow()).items))
  const judged = await Promise.all((await workersNow()).items.map(worker => judgedWorker(cluster, client, worker)))
  const ofSessions = (await sessionsNow()).items.flatMap(illegalMovesOfSession)
  return {
    licenses,
    books,
    moves: [...judged.flatMap(({ moves }) => moves), ...ofSessions],
    undecided: judged.flatMap(({ undecided }) => undecided),
  }
}

/** Violations that outlast work in progress. */
async function lasting(check: () => Promise<readonly string[]>): Promise<readonly string[]> {
  let wrong: readonly string[] = []
  const isRight = async () => {
    wrong = await check()
    return wrong.length === 0 ? true : null
  }
  await eventually('a state without violations', isRight, POLL_MS, SETTLE_MS_MAX).catch(() => undefined)
  return wrong
}

async function judgedWorker(cluster: ControllerCluster, client: Client, worker: WorkerView) {
  const params = { id: worker.id }
  const { items: moves } = await readList(query => client.call('getWorkerHistory', { params, query }))
  const { items: decisions } = await readList(query => client.call('getWorkerDecisions', { params, query }))
  const machines = (await cluster.machines()).filter(({ tags }) => tags[TAG.workerId] === worker.id)
  return {
    moves: brokenChain(worker, moves),
    undecided: [...undecidedMoves(worker, moves, decisions), ...unannouncedMachines(worker.name, machines, moves)],
  }
}
