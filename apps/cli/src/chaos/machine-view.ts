import type { Worker, WorkerStatus } from '@lcm/domain/worker/worker'
import type { Colors } from '../output.ts'
import { type Column, tableLines } from '../table.ts'
import { inkOf } from '../worker-view.ts'
import type { CmlFaults, FaultState, ScriptedFault, SimMachine } from './sim-client.ts'

/** A machine beside the worker that LCM takes it for. */
export interface Pair {
  readonly machine: SimMachine
  readonly worker: Worker | null
}

/** Those that are gone for good and that nobody waits for are left out. */
export function pairsOf(machines: readonly SimMachine[], workers: readonly Worker[]): Pair[] {
  const byInstance = new Map(workers.map(worker => [worker.ec2_instance_id, worker]))
  return machines
    .map(machine => ({ machine, worker: byInstance.get(machine.instance_id) ?? null }))
    .filter(
      ({ machine, worker }) => machine.state !== 'terminated' || (worker !== null && worker.status !== 'TERMINATED'),
    )
    .toSorted((a, b) => nameOf(a).localeCompare(nameOf(b)))
}

export const nameOf = ({ worker, machine }: Pair): string => worker?.name ?? machine.tags.Name ?? machine.instance_id

/** What EC2 may say of a machine while LCM says this of its worker. */
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

/** Whether what LCM records is what is; null where it has no record of the machine. */
export const agrees = ({ machine, worker }: Pair): boolean | null =>
  worker === null ? null : FITTING[worker.status].includes(machine.state)

/** What is wrong with its CML by request, in words. */
export function cmlTroubles({ fail_one_in = 0, network, session_lifetime_factor = 1 }: CmlFaults): string[] {
  return [
    ...(network === 'cut' ? ['network cut'] : []),
    ...(fail_one_in === 1 ? ['answers 500'] : fail_one_in > 1 ? [`1 answer in ${fail_one_in} is 500`] : []),
    ...(session_lifetime_factor < 1 ? ['tokens expire early'] : []),
  ]
}

const machineColumns = (colors: Colors): readonly Column<Pair>[] => [
  { title: 'NAME', text: nameOf },
  { title: 'INSTANCE', text: ({ machine }) => machine.instance_id },
  { title: 'REGION', text: ({ machine }) => machine.region },
  { title: 'IN TRUTH', text: ({ machine }) => machine.state },
  {
    title: 'LCM SAYS',
    text: pair => (pair.worker === null ? 'no worker' : `${pair.worker.status}${agrees(pair) ? '' : ', not yet seen'}`),
    paint: (text, { worker }) => (worker === null ? text : inkOf(worker.status, colors)(text)),
  },
  { title: 'CML', text: ({ machine }) => [machine.stage, ...cmlTroubles(machine.cml_faults)].join(', ') },
  { title: 'RETIRES', text: ({ machine }) => machine.retires_at ?? '' },
]

/** Every machine, and what the cloud does to those who ask it. */
export const chaosLines = (pairs: readonly Pair[], faults: FaultState, colors: Colors): string[] => [
  ...(pairs.length === 0 ? ['The simulated cloud has no machines.'] : tableLines(machineColumns(colors), pairs)),
  '',
  ...faultLines(faults),
]

/** How the cloud lies now: what the preset says, what was changed of it, and what waits for its calls. */
export function faultLines(faults: FaultState): string[] {
  const { preset, plan, scarce, scripted } = faults
  const named = Object.entries(plan).filter(([name, value]) => name.endsWith('_rate') && value !== 0)
  const isTrue = named.length === 0 && scarce.length === 0 && scripted.length === 0
  return [
    `The cloud is ${preset}${isTrue ? ': every call is answered, and truly.' : '.'}`,
    ...named.map(([name, value]) => `  ${name} ${value}`),
    ...scarce.map(({ availability_zone: zone, instance_type: type, room }) => `  room for ${room} ${type} in ${zone}`),
    ...scripted.map(fault => `  ${scriptText(fault)}`),
  ]
}

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
