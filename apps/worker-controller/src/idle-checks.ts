import type { Client } from '@lcm/client/client'
import type { CmlLogins } from '@lcm/cloud/cml-logins'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import { CloudError } from '@lcm/cloud/errors'
import { type ActivityEvidence, evidenceOf } from '@lcm/domain/fleet/activity'
import type { Worker } from '@lcm/domain/worker/worker'

/** When each worker's CML was last visited. Memory only: a new leader visits at once. */
export interface SurveyTimes {
  isDue(worker: Worker, nowMs: number): boolean
  asked(workerId: string, nowMs: number): void
  forget(workerId: string): void
  clear(): void
}

export function surveyTimes(everyMs: number): SurveyTimes {
  const lastMs = new Map<string, number>()
  return {
    isDue(worker, nowMs) {
      if (worker.status !== 'RUNNING' || worker.service_status !== 'AVAILABLE') return false
      return nowMs - (lastMs.get(worker.id) ?? Number.NEGATIVE_INFINITY) >= everyMs
    },
    asked: (workerId, nowMs) => void lastMs.set(workerId, nowMs),
    forget: workerId => void lastMs.delete(workerId),
    clear: () => lastMs.clear(),
  }
}

/** What people did on the worker; null when CML could not be asked, which is never taken for idleness. */
async function gatherEvidence(
  { cml, logins }: { cml: CmlSystem; logins: CmlLogins },
  worker: Worker,
  url: string,
  signal: AbortSignal,
): Promise<ActivityEvidence | null> {
  try {
    const login = await logins.of(worker, url, signal)
    const activity = await cml.activity(login, signal)
    const running = await cml.stats(login, signal).then(
      stats => stats.running_nodes,
      () => null,
    )
    return evidenceOf(activity, { runningNodes: running, worker })
  } catch (error) {
    if (error instanceof CloudError) return null
    throw error
  }
}

/** Sends the evidence to where idleness is judged. The answer is the verdict in words. */
export async function checkIdle(
  parts: { cml: CmlSystem; logins: CmlLogins; client: Client },
  worker: Worker,
  { url, epoch }: { url: string; epoch: number },
  signal: AbortSignal,
): Promise<{ verdict: string; because: string }> {
  const found = await gatherEvidence(parts, worker, url, signal)
  const evidence = found && { ...found, events: [...found.events], lab_events: [...found.lab_events] }
  const params = { id: worker.id }
  return parts.client.call('checkWorkerIdle', { params, body: { evidence }, epoch, signal })
}
