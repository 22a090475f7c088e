import type { Worker, WorkerStatus } from '@lcm/domain/worker/worker'
import type { CmlFaults, ScriptedFault, SimMachine } from './sim-client.ts'

/** A machine and the worker that LCM records for it. */
export interface Pair {
  readonly machine: SimMachine
  readonly worker: Worker | null
}

/** Pairs each machine with its worker. Terminated machines without a pending worker are left out. */
export function pairsOf(machines: readonly SimMachine[], workers: Iterable<Worker>): Pair[] {
  const byInstance = new Map([...workers].map(worker => [worker.ec2_instance_id, worker]))
  return machines
    .map(machine => ({ machine, worker: byInstance.get(machine.instance_id) ?? null }))
    .filter(
      ({ machine, worker }) => machine.state !== 'terminated' || (worker !== null && worker.status !== 'TERMINATED'),
    )
    .toSorted((a, b) => nameOf(a).localeCompare(nameOf(b)))
}

export const nameOf = ({ worker, machine }: Pair): string => worker?.name ?? machine.tags.Name ?? machine.instance_id

/** EC2 states that match each status of a worker. */
const FITTING: Readonly<Record<WorkerStatus, readonly SimMachine['state'][]>> = {
  PENDING: ['pending', 'running'],
  PROVISIONING: ['pending', 'running'],
  STARTING: ['pending', 'running', 'stopped'],
  RUNNING: ['running'],
  DRAINING: ['running'],
  STOPPING: ['running', 'stopping', 'stopped'],
  STOPPED: ['stopped'],
  TERMINATING: ['running', 'stopped', 'stopping', 'shutting-down', 'terminated'],
  TERMINATED: ['terminated'],
  FAILED: ['pending', 'running', 'stopping', 'stopped', 'shutting-down', 'terminated'],
  UNKNOWN: ['pending', 'running', 'stopping', 'stopped', 'shutting-down', 'terminated'],
}

/** Whether LCM's record matches the machine; null without a record. */
export const agrees = ({ machine, worker }: Pair): boolean | null =>
  worker === null ? null : FITTING[worker.status].includes(machine.state)

/** Describes the faults that were injected into a CML server. */
export function cmlTroubles({ fail_one_in = 0, network, session_lifetime_factor = 1 }: CmlFaults): string[] {
  return [
    ...(network === 'cut' ? ['network cut'] : []),
    ...(fail_one_in === 1 ? ['answers 500'] : fail_one_in > 1 ? [`1 answer in ${fail_one_in} is 500`] : []),
    ...(session_lifetime_factor < 1 ? ['tokens expire early'] : []),
  ]
}

/** Describes the scripted faults of the next calls. */
export function scriptText({ action, times, fault }: ScriptedFault): string {
  const what = typeof fault === 'string' ? (FAULT_WORDS[fault] ?? fault) : `answer ${fault.status} ${fault.code}`
  return `next ${times === 1 ? '' : `${times} `}${action} ${what}`
}

const FAULT_WORDS: Readonly<Record<string, string>> = {
  lost_answer: 'lose their answer',
  lost_request: 'get lost before their effect',
  held: 'are answered late',
  empty: 'come back empty',
  truncated: 'break off',
  html: 'come back as a page',
}
