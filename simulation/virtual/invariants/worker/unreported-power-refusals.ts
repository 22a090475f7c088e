import type { SimModel } from '@lcm/cloud-sim/sim-model'
import type { Worker } from '@lcm/domain/worker/worker'
import { nextOfWorker } from '@lcm/domain/worker/worker-next-step'

/** Every worker, with a violation if EC2 refuses to stop or terminate it while `why` shows only a wait for EC2. */
export const unreportedPowerRefusals = (
  cloud: Pick<SimModel, 'machine'>,
  workers: Iterable<Worker>,
  nowMs: number,
): [string, string | null][] =>
  [...workers].map(worker => {
    const machine = worker.ec2_instance_id === null ? undefined : cloud.machine(worker.ec2_instance_id)
    const { disable_api_stop, disable_api_termination } = machine?.instance ?? {}
    const isProtected = worker.status === 'STOPPING' ? disable_api_stop : (disable_api_termination ?? disable_api_stop)
    const isRefused = machine?.state === 'running' && isProtected === true
    const { blocked_by } = nextOfWorker({ worker, decisions: [], plan: null, controller: null, nowMs })
    const isUnreported = isRefused && ['InstanceStopping', 'InstanceTerminating'].includes(blocked_by?.code ?? '')
    return [
      worker.id,
      isUnreported
        ? `EC2 refuses to stop or terminate ${worker.name} (${worker.status}), and no condition reports it`
        : null,
    ]
  })
