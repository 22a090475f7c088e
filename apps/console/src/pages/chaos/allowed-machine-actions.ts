import type { MachineAct, SimMachine } from '@lcm/client/sim-client'
import type { WorkerStatus } from '@lcm/domain/worker/worker'

/** Worker status with the same meaning as an EC2 state, for its badge. */
export const WORKER_STATUS_OF: Readonly<Record<SimMachine['state'], WorkerStatus>> = {
  pending: 'STARTING',
  running: 'RUNNING',
  stopping: 'STOPPING',
  stopped: 'STOPPED',
  'shutting-down': 'TERMINATING',
  terminated: 'TERMINATED',
}

/** Actions that EC2 allows in the current state. */
export function machineActions({ state }: SimMachine): MachineAct[] {
  if (state === 'running') return ['stop', 'reboot', 'terminate']
  if (state === 'stopped') return ['start', 'terminate']
  return state === 'pending' || state === 'stopping' ? ['terminate'] : []
}
