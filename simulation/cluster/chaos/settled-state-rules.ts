import type { WorkerHistory, WorkerView } from '@lcm/contract/worker'
import type { DecisionRecord } from '@lcm/domain/journal-records'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import { illegalWorkerMoves } from '@lcm/testkit/transition-rules'
import type { z } from 'zod'
import type { SimulatedSeat } from '../clusters/controller-cluster.ts'

/** Moves of a worker, in any order. */
export type Moves = z.infer<typeof WorkerHistory>['items']

/** Licenses of the Smart Account without a worker that reports them, and reported licenses that the account does not have. */
export function orphanedLicenses(
  seats: readonly SimulatedSeat[],
  workers: readonly Pick<WorkerView, 'name' | 'status' | 'ec2_instance_id' | 'license'>[],
): string[] {
  const holders = workers.filter(({ status, license }) => status !== 'TERMINATED' && license.status === 'REGISTERED')
  const machines = holders.map(({ ec2_instance_id }) => ec2_instance_id)
  const taken = seats.map(({ instance_id }) => instance_id)
  return [
    ...seats.flatMap(({ instance_id, left_behind }, n) => [
      ...(machines.includes(instance_id) ? [] : [`the license of ${instance_id} has no worker`]),
      ...(left_behind ? [`the license of ${instance_id} was left behind`] : []),
      ...(taken.indexOf(instance_id) < n ? [`${instance_id} has two licenses`] : []),
    ]),
    ...holders.flatMap(({ name, ec2_instance_id }) =>
      taken.includes(ec2_instance_id ?? '') ? [] : [`${name} reports a license that is not registered`],
    ),
  ]
}

/** Capacity and ports that are reserved for ended sessions and deleted labs. */
export function wrongReservations(
  workers: readonly Pick<WorkerView, 'name' | 'status' | 'reservations' | 'ports'>[],
  sessions: readonly Pick<LabletSession, 'id' | 'status' | 'lab_record_id'>[],
): string[] {
  const live = sessions.filter(({ status }) => !isFinal(status))
  const [users, labs] = [live.map(({ id }) => id), live.map(({ lab_record_id }) => lab_record_id)]
  return workers
    .filter(({ status }) => status === 'RUNNING')
    .flatMap(({ name, reservations, ports }) => [
      ...Object.keys(reservations).flatMap(id => (users.includes(id) ? [] : [`${name} reserves capacity for ${id}`])),
      ...Object.keys(ports).flatMap(id => (labs.includes(id) ? [] : [`${name} keeps ports for ${id}`])),
    ])
}

const PLACE = /^worker:[^:]+:(\d+):/
/** The worker version of the entry: clocks may be set back, versions only grow. */
const versionOf = ({ id }: { readonly id: string }): number => Number(PLACE.exec(id)?.[1] ?? -1)

/** The journal must be one chain of legal moves from the first status to the last. */
export function brokenChain({ name, status }: Pick<WorkerView, 'name' | 'status'>, moves: Moves): string[] {
  const inOrder = moves.toSorted((a, b) => versionOf(a) - versionOf(b))
  const last = inOrder.at(-1)?.to
  return [
    ...(inOrder[0]?.from === null ? [] : [`${name} began as ${inOrder[0]?.from}`]),
    ...illegalWorkerMoves(name, inOrder),
    ...(last === status ? [] : [`${name} is ${status}, and its journal says ${last}`]),
  ]
}

/** Moves by a controller without a decision in the same write. */
export function undecidedMoves(
  { name }: Pick<WorkerView, 'name'>,
  moves: Moves,
  decisions: readonly Pick<DecisionRecord, 'id'>[],
): string[] {
  const decided = new Set(decisions.filter(({ id }) => PLACE.test(id)).map(versionOf))
  return moves
    .filter(move => move.from !== null && !decided.has(versionOf(move)))
    .map(({ from, to, by }) => `${name} moved from ${from} to ${to} by ${by} without a decision`)
}

/** EC2 states of a terminated machine. */
export const GONE: ReadonlySet<string> = new Set(['terminated', 'shutting-down'])

/** Launches and terminations without a move in the journal. */
export function unannouncedMachines(
  name: string,
  machines: readonly { readonly state: string }[],
  moves: Moves,
): string[] {
  const has = (status: string) => moves.some(({ to }) => to === status)
  return [
    ...(machines.length > 0 && !has('PROVISIONING') ? [`${name} was launched without a move`] : []),
    ...(machines.some(({ state }) => GONE.has(state)) && !has('TERMINATING')
      ? [`${name} was terminated without a move`]
      : []),
  ]
}
