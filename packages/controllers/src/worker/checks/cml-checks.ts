import type { CmlEndpoint } from '@lcm/cloud/cml-login'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import { recordedEndpoint } from '@lcm/domain/worker/cml-endpoint'
import { needsApproval } from '@lcm/domain/worker/instance-trust'
import type { Worker } from '@lcm/domain/worker/worker'
import type { HostedService, Logger } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'

/** Concurrent checks: so many that hung servers, of which each takes 3 s, delay no other. */
const AT_ONCE = 200
/** The reconciler probes a CML again this long after a failed check. */
const CONFIRM_AFTER_MS = 1_000

export interface CmlChecksParts {
  readonly cml: Pick<CmlSystem, 'probe'>
  readonly clock: Clock
  readonly logger: Logger
  readonly intervalMs: number
  /** The check failed: CML is to be probed at once. */
  onSuspect(workerId: string): void
}

/** Checks at an interval that each serving CML still answers. It needs no login, and reads the address from the last reconcile. */
export interface CmlChecks extends HostedService {
  reconciled(worker: Worker): void
  forget(workerId: string): void
}

interface Check {
  readonly endpoint: CmlEndpoint
  readonly dueMs: number
}

export function cmlChecks({ cml, clock, logger, intervalMs, onSuspect }: CmlChecksParts): CmlChecks {
  /** In the order in which they are due: every check is due one interval after the one before it. */
  const checks = new Map<string, Check>()
  let inProgress = 0

  async function check(id: string, signal: AbortSignal): Promise<void> {
    const endpoint = checks.get(id)?.endpoint
    if (endpoint === undefined) return
    checks.delete(id)
    checks.set(id, { endpoint, dueMs: clock.monotonic() + intervalMs })
    // A stopped or moved worker is not judged by an answer of before.
    const isCurrent = () => !signal.aborted && checks.get(id)?.endpoint.url === endpoint.url
    const { stage } = await cml.probe(endpoint, signal)
    if (stage === 'READY' || !isCurrent()) return
    await clock.sleep(CONFIRM_AFTER_MS, signal)
    if (isCurrent()) onSuspect(id)
  }

  return {
    name: 'cml-checks',
    reconciled(worker) {
      const url = isServing(worker) ? recordedEndpoint(worker) : null
      const dueMs = checks.get(worker.id)?.dueMs ?? clock.monotonic() + intervalMs
      if (url === null) checks.delete(worker.id)
      // Setting a known key keeps its place in the order.
      else checks.set(worker.id, { endpoint: { url, certificate_sha256: worker.cml.certificate_sha256 }, dueMs })
    },
    forget: workerId => void checks.delete(workerId),
    async run(signal) {
      while (!signal.aborted) {
        const [first] = checks
        const waitMs = first === undefined ? intervalMs : first[1].dueMs - clock.monotonic()
        if (first === undefined || waitMs > 0 || inProgress >= AT_ONCE) {
          await clock.sleep(Math.max(waitMs, BUSY_MS), signal)
          continue
        }
        inProgress += 1
        void check(first[0], signal)
          .catch(err => logger.warn({ err, worker: first[0] }, 'could not check a worker'))
          .finally(() => {
            inProgress -= 1
          })
      }
      checks.clear()
    },
  }
}

/** Pause while all checks are in use, and the least between two rounds. */
const BUSY_MS = 100

const isServing = (worker: Worker): boolean =>
  (worker.status === 'RUNNING' || worker.status === 'DRAINING') &&
  worker.service_status === 'AVAILABLE' &&
  !needsApproval(worker)
