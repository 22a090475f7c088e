import { CloudError } from '@lcm/cloud/errors'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import {
  canServeLabs,
  incompleteStart,
  type SessionDecision,
  type SessionFacts,
} from '@lcm/domain/session/decide-session'
import { isEndUnserved, isUp, type LabletSession } from '@lcm/domain/session/lablet-session'
import { recordedEndpoint } from '@lcm/domain/worker/cml-endpoint'
import type { Worker } from '@lcm/domain/worker/worker'
import { fetchLab, fetchWorker, labsOnRecord } from './api-calls.ts'
import type { LabletDependencies } from './dependencies.ts'
import type { FencedLabs } from './labs/fenced-labs.ts'
import { isIdleState } from './labs/lab-teardown.ts'
import { missingNodes, namesOf } from './labs/missing-nodes.ts'
import type { SessionReconcile } from './report.ts'

export interface SessionObservation extends SessionFacts {
  /** The state that CML reports for the lab of a session that is up; null when it is unknown. */
  readonly labState: string | null
  /** Whether CML serves, but does not show the lab of a session that is up; suspected after a lost answer. */
  readonly labUnseen: 'suspected' | 'known' | null
}

export interface ObservedDecision {
  readonly decision: SessionDecision
  readonly seen: SessionObservation
  readonly labs: FencedLabs | null
}

export const workerOf = async ({ client, session, signal }: SessionReconcile): Promise<Worker | null> =>
  session.worker_id === null ? null : fetchWorker(client, session.worker_id, signal)

/** The lab of this session on its present worker, also when only one of the two records names the other. */
export async function recordOf({ client, session, signal }: SessionReconcile): Promise<LabRecord | null> {
  const { id, worker_id, lab_record_id } = session
  if (worker_id === null) return null
  const isIts = (record: LabRecord | null): record is LabRecord =>
    record !== null && record.worker_id === worker_id && record.session_id === id && !isGoneStatus(record)
  const named = lab_record_id === null ? null : await fetchLab(client, lab_record_id, signal)
  if (isIts(named)) return named
  return (await labsOnRecord(client, { worker_id, session_id: id }, signal)).find(isIts) ?? null
}

const isGoneStatus = ({ status }: LabRecord): boolean => status === 'DELETED' || status === 'ORPHANED'

/** The lab that the session names, also when a scan has missed it since. */
export const namedLab = async ({
  client,
  session,
  signal,
}: Pick<SessionReconcile, 'client' | 'session' | 'signal'>): Promise<LabRecord | null> =>
  session.lab_record_id === null ? null : fetchLab(client, session.lab_record_id, signal)

export type LabObservation = Pick<
  SessionObservation,
  'isLabGone' | 'isLabStopped' | 'notBooted' | 'labState' | 'labUnseen'
>
/** Nothing is known of the lab. */
export const NOT_OBSERVED: LabObservation = {
  isLabGone: false,
  isLabStopped: false,
  notBooted: null,
  labState: null,
  labUnseen: null,
}

/** The lab of a session that is up, as CML reports it. A lab is gone only when a complete list lacks it too. */
export async function observeLab(
  lab_id: string,
  cmlLabs: FencedLabs,
  { isIncomplete }: { isIncomplete: boolean },
): Promise<LabObservation> {
  const lab = await cmlLabs.get(lab_id)
  if (lab !== null) {
    const isLabStopped = isIdleState(lab.state)
    const notBooted = isIncomplete && !isLabStopped ? namesOf(missingNodes(await cmlLabs.nodes(lab_id))) : null
    return { ...NOT_OBSERVED, labState: lab.state, isLabStopped, notBooted }
  }
  const isLabGone = !(await cmlLabs.list()).some(each => each.lab_id === lab_id)
  return { ...NOT_OBSERVED, isLabGone }
}

/** Access at the present address of the worker; null when the session has it already, or the address is unknown. */
export function accessAtWorker(
  { status, access }: LabletSession,
  worker: Worker | null,
): LabletSession['access'] | null {
  const host = hostOf(worker)
  if (!isUp(status) || host === null || access.every(line => line.host === host)) return null
  return access.map(line => ({ ...line, host }))
}

/** The own address of a worker; null while it has none. */
export function hostOf(worker: Worker | null): string | null {
  const url = worker && recordedEndpoint(worker)
  return url === null ? null : new URL(url).hostname
}

/** Reads the worker and the lab. A CML that does not answer leaves the lab unknown. */
export async function observe(
  parts: LabletDependencies,
  context: SessionReconcile,
  { worker, cmlLabs }: { worker: Worker | null; cmlLabs: FencedLabs | null },
): Promise<SessionObservation> {
  const { session } = context
  const { unseenLabs } = parts.memory.current()
  const isInUse = isUp(session.status) && !isEndUnserved(session.status, session.desired_status)
  const record = isInUse && canServeLabs(worker) ? await namedLab(context) : null
  const labId = record?.lab_id ?? null
  const isIncomplete = incompleteStart(session, parts.clock.now()) !== null
  const asked =
    labId === null || cmlLabs === null ? null : await unlessUnknown(parts, observeLab(labId, cmlLabs, { isIncomplete }))
  const isShown = asked === null || asked.labState !== null
  if (isShown) unseenLabs.forget(session.id)
  const lab = isShown ? asked : unseen(parts, session.id, asked)
  return { worker, nowMs: parts.clock.now(), ...(lab ?? NOT_OBSERVED) }
}

const UNSEEN_AFTER_MS = 20_000
/** A CML that has just started may not list its labs yet. */
export const GONE_AFTER_MS = 60_000

/** One lost answer proves nothing, and one list without the lab does not end its session. */
function unseen({ memory, clock }: LabletDependencies, id: string, lab: LabObservation): LabObservation {
  const { isLabGone: isGone } = lab
  const unseenMs = memory.current().unseenLabs.missed(id, { isGone, nowMs: clock.monotonic() })
  const labUnseen = isGone || unseenMs >= UNSEEN_AFTER_MS ? 'known' : 'suspected'
  return { ...lab, labUnseen, isLabGone: isGone && unseenMs >= GONE_AFTER_MS }
}

/** A CML that hangs must not keep its sessions from showing that it does. */
const OBSERVING_MS_MAX = 5_000

/** A CML that does not answer in time leaves the state of its labs unknown. */
async function unlessUnknown(
  { clock }: Pick<LabletDependencies, 'clock'>,
  observing: Promise<LabObservation>,
): Promise<LabObservation> {
  const done = new AbortController()
  const late = clock.sleep(OBSERVING_MS_MAX, done.signal).then(() => NOT_OBSERVED)
  const observed = observing.catch((error: unknown) => {
    if (error instanceof CloudError) return NOT_OBSERVED
    throw error
  })
  return Promise.race([observed, late]).finally(() => done.abort())
}
