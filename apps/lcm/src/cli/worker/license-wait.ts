import type { Worker } from '@lcm/domain/worker/worker'
import type { License } from '@lcm/domain/worker/worker-parts'
import { shellWord } from '../terminal/shell-word.ts'
import { printable } from '../terminal/table.ts'
import { impossible, reached, underWay, type Verdict } from '../wait.ts'
import type { Settling } from '../wait-until-settled.ts'
import { WORKER_SETTLING, waitedWorker } from './worker-wait.ts'

export type Operation = NonNullable<License['pending_operation']>

const GOALS: Readonly<Record<Operation, License['status']>> = { register: 'REGISTERED', deregister: 'UNREGISTERED' }

/** Whether the license operation is done, in progress or impossible. */
export function judgeLicense(worker: Worker, operation: Operation): Verdict {
  const { license, status, desired_status } = worker
  if (status === 'TERMINATED') return impossible('is TERMINATED')
  if (license.pending_operation === operation) {
    const isStopped = status === 'STOPPED' && desired_status === 'STOPPED'
    return isStopped
      ? impossible(
          `is STOPPED, and a license can only change on a RUNNING worker: run \`lcm start worker ${shellWord(worker.name)}\``,
        )
      : underWay
  }
  if (license.status === GOALS[operation]) return reached
  if (license.status === 'FAILED') return impossible(`could not ${operation} its license: ${errorOf(license)}`)
  return impossible(`did not ${operation} its license, which is ${license.status}: ${errorOf(license)}`)
}

const errorOf = ({ last_error }: License): string => last_error ?? 'no reason is recorded'

function progressText({ name, status, license }: Worker): string {
  if (status !== 'RUNNING') return `${name} is ${status}: its license changes when it is RUNNING`
  return `the license of ${name} is ${license.status}${license.last_error === null ? '' : `: ${license.last_error}`}`
}

export const licenseSettling = (operation: Operation): Settling<Worker> => ({
  ...WORKER_SETTLING,
  waited: start => ({
    ...waitedWorker(start),
    mayVanish: false,
    judge: worker => judgeLicense(worker, operation),
    progressText,
  }),
  outcome: ({ name, license }, elapsed) => ({
    sentence: printable(
      `the license of ${name} is ${license.status} after ${elapsed}${license.udi === null ? '' : `: ${license.udi}`}`,
    ),
    lines: license.last_error === null ? [] : [printable(`${license.last_error}; see \`lcm get leaks\``)],
  }),
})
