import type { SimModel } from '@lcm/cloud-sim/sim-model'
import { CONDITION, holds, type Worker } from '@lcm/domain/worker/worker'
import { CML_LOGIN } from '../../world/planted-secrets.ts'

/** Whether the CML of that worker refuses the only credentials that LCM has for it. */
export function refusesLogin({ cml }: Pick<SimModel, 'cml'>, { ec2_instance_id, secret_refs }: Worker): boolean {
  if (ec2_instance_id === null || secret_refs.cml_login !== undefined) return false
  const account = cml.contextOf(ec2_instance_id)?.server.users.find(({ username }) => username === CML_LOGIN.username)
  return account !== undefined && account.password !== CML_LOGIN.password
}

export const isReportedRefused = ({ conditions }: Worker): boolean => holds(conditions, CONDITION.cmlAccessRefused)

/** Every worker, with a violation if its CML refuses LCM and no condition reports it. */
export const unreportedRefusals = (
  cloud: Pick<SimModel, 'cml'>,
  workers: Iterable<Worker>,
): [string, string | null][] =>
  [...workers].map(worker => {
    const { id, name, status, service_status } = worker
    const isServing = status === 'RUNNING' && service_status === 'AVAILABLE'
    const isUnreported = isServing && refusesLogin(cloud, worker) && !isReportedRefused(worker)
    return [id, isUnreported ? `the CML of ${name} refuses LCM, and no condition reports it` : null]
  })
