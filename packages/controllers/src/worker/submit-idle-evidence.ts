import type { Client } from '@lcm/client/client'
import { refusedPart } from '@lcm/cloud/cml-access-tracker'
import type { CmlLoginResolver } from '@lcm/cloud/cml-login-resolver'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import { CloudError } from '@lcm/cloud/errors'
import { type ActivityEvidence, evidenceOf } from '@lcm/domain/fleet/activity-evidence'
import type { Unreadable } from '@lcm/domain/fleet/decide-idle'
import type { Reason } from '@lcm/domain/reason'
import type { Worker } from '@lcm/domain/worker/worker'

interface Gathered {
  /** Null when CML did not answer, which never counts as idle. */
  readonly evidence: ActivityEvidence | null
  /** The cause that only an operator can remove; null otherwise. */
  readonly unreadable: Unreadable | null
}

/** Reads the activity of users on the worker. */
async function gatherEvidence(
  { cml, logins }: { cml: CmlSystem; logins: CmlLoginResolver },
  worker: Worker,
  url: string,
  signal: AbortSignal,
): Promise<Gathered> {
  try {
    const login = await logins.resolve(worker, url, signal)
    const activity = await cml.activity(login, signal)
    const running = await cml.stats(login, signal).then(
      stats => stats.running_nodes,
      () => null,
    )
    const evidence = evidenceOf(activity, { runningNodes: running, worker })
    return { evidence, unreadable: evidence === null ? 'telemetry_off' : null }
  } catch (error) {
    if (error instanceof CloudError) return { evidence: null, unreadable: unreadableBy(error) }
    throw error
  }
}

function unreadableBy(error: CloudError): Unreadable | null {
  switch (refusedPart(error, 'telemetry')) {
    case null:
      return null
    case 'credentials':
      return 'no_credentials'
    case 'login':
      return 'login_refused'
    default:
      return 'telemetry_refused'
  }
}

/** Sends the evidence to the API, which decides whether the worker is idle. */
export async function checkIdle(
  parts: { cml: CmlSystem; logins: CmlLoginResolver; client: Client },
  worker: Worker,
  { url, epoch }: { url: string; epoch: number },
  signal: AbortSignal,
): Promise<{ verdict: string; because: Reason }> {
  const { evidence: found, unreadable } = await gatherEvidence(parts, worker, url, signal)
  const evidence = found && { ...found, events: [...found.events], lab_events: [...found.lab_events] }
  const params = { id: worker.id }
  return parts.client.call('checkWorkerIdle', { params, body: { evidence, unreadable }, epoch, signal })
}
