import type { CmlLab } from '@lcm/cloud/cml-labs'
import { toMs } from '@lcm/domain/instant'
import type { LabRecord, LabStatus } from '@lcm/domain/lab/lab-record'
import { type Reason, reason } from '@lcm/domain/reason'
import { endsWithSave } from '@lcm/domain/save/decide-save'
import { reusesLabs } from '@lcm/domain/save/restore'
import { canServeLabs } from '@lcm/domain/session/decide-session'
import { FINAL_SAVE_MS } from '@lcm/domain/session/pipeline'
import { workerLost } from '@lcm/domain/worker/worker-loss'
import { fencedWrite } from '../../kit/fenced-write.ts'
import { reportLab } from '../api-calls.ts'
import { type Depth, tearDownLab } from '../labs/lab-teardown.ts'
import { isOurs } from '../labs/lab-titles.ts'
import { GONE_AFTER_MS, namedLab } from '../observe.ts'
import {
  again,
  blockedUnlessLate,
  completed,
  failed,
  type RunStep,
  type StepContext,
  type StepResult,
  skipped,
  unlessLate,
} from './step.ts'

export const TEARDOWN: Readonly<Record<string, RunStep>> = {
  save: saveAtEnd,
  stop: takeLabDown('stop', 'STOPPED'),
  wipe: takeLabDown('wipe', 'WIPED'),
  delete: deleteLab,
  release,
  archive: async () => completed(),
}

/** Saves what the learner did last. The teardown goes on without a save that takes too long. */
async function saveAtEnd(context: StepContext): Promise<StepResult> {
  const { session, worker, saves, clock, step, epoch, leadership, asked } = context
  if (!endsWithSave(session)) return skipped('the lab was not up')
  if (!(await context.definition()).saves_enabled) return skipped('saves are off for this definition')
  if (worker === null || !canServeLabs(worker)) return skipped('CML is not available')
  const leftMs = toMs(step.started_at ?? session.updated_at) + FINAL_SAVE_MS - clock.now()
  if (leftMs <= 0) return skipped('the save took too long')
  if (!asked.has(SAVE)) {
    saves.request({ session, worker, cause: 'end', epoch, leadership, endsAtMs: clock.monotonic() + leftMs })
    asked.add(SAVE)
  }
  return saves.isBusy(session.id) ? again(reason('saving_lab')) : completed()
}
const SAVE = 'save'

/** The lab to tear down. One that the last scan missed may be there again. */
async function recordOfLab(context: StepContext): Promise<LabRecord | null> {
  const { worker, session } = context
  const record = await context.record()
  if (record !== null || !canServeLabs(worker)) return record
  const named = await namedLab(context)
  const isMissed = named?.status === 'ORPHANED' && named.worker_id === session.worker_id && named.lab_id !== null
  return isMissed && named.session_id === session.id ? named : null
}

/** A lab that is gone, or whose worker is gone, counts as torn down. */
function takeLabDown(depth: Depth, reached: LabStatus): RunStep {
  return async context => {
    const record = await recordOfLab(context)
    if (record === null) return skipped('the session has no lab')
    const { worker } = context
    if (worker === null || worker.status === 'TERMINATED') {
      await report(context, record, 'DELETED', reason('worker_gone'))
      return skipped('the worker is gone')
    }
    if (!canServeLabs(worker)) return notServing(context)
    const lab = record.lab_id === null ? null : await context.labs.get(record.lab_id)
    if (lab === null) return completed({ why: 'the lab is gone from CML' })
    const waitsFor = await tearDownLab(context.labs, lab, { depth, asked: context.asked })
    if (waitsFor !== null) return unlessLate(context, waitsFor)
    await report(context, record, reached, BECAUSE_OVER)
    return completed()
  }
}

function notServing(context: StepContext): StepResult {
  const lost = workerLost(context.worker, context.clock.now())
  return lost === null
    ? blockedUnlessLate(context, reason('worker_not_serving', { worker: context.worker?.name ?? null }))
    : failed(lost.message, { definite: true })
}

/** The recorded lab and all others imported for the session, such as after a lost response. */
async function labsOf({ labs: cmlLabs, session }: StepContext, record: LabRecord): Promise<readonly CmlLab[]> {
  const ourName = await cmlLabs.ownName()
  return (await cmlLabs.list()).filter(lab => lab.lab_id === record.lab_id || isOurs(lab, session, ourName))
}

/** With reuse the recorded lab stays, wiped, for the next session. A failed lab is deleted. */
async function deleteLab(context: StepContext): Promise<StepResult> {
  const { session, worker, labs: cmlLabs, clock, step } = context
  const record = await recordOfLab(context)
  if (record === null) return skipped('the session has no lab')
  if (worker === null || worker.status === 'TERMINATED') return skipped('the worker is gone')
  if (!canServeLabs(worker)) return notServing(context)
  const isKept = reusesLabs(await context.definition(), session) && session.last_error === null
  const labs = await labsOf(context, record)
  const { lab_id, status } = record
  const isUnproven = clock.now() - toMs(step.started_at ?? session.updated_at) < GONE_AFTER_MS
  if (labs.length === 0 && lab_id !== null && status !== 'DELETING' && isUnproven)
    return again(reason('lab_gone_from_cml', { lab_id }))
  const superfluous = labs.filter(lab => !(isKept && lab.lab_id === record.lab_id))
  // Otherwise a scan during this step would report the lab as lost.
  if (superfluous.some(({ lab_id }) => lab_id === record.lab_id))
    await report(context, record, 'DELETING', BECAUSE_OVER)
  const waitsFor: Reason[] = []
  for (const lab of superfluous) {
    const waits = await tearDownLab(cmlLabs, lab, { depth: 'delete', asked: context.asked })
    if (waits === null) context.counters.add('labs_deleted')
    waitsFor.push(waits ?? reason('lab_being_deleted', { lab: lab.title }))
  }
  if (waitsFor.length > 0) {
    context.labsChanged()
    // A deletion counts once CML shows it.
    return unlessLate(
      context,
      waitsFor.length === 1 && waitsFor[0] ? waitsFor[0] : reason('labs_in_teardown', { causes: waitsFor }),
    )
  }
  if (isKept && labs.length > 0) return skipped('the lab is kept for reuse')
  await report(context, record, 'DELETED', BECAUSE_OVER)
  return completed()
}

const BECAUSE_OVER = reason('session_over')

const report = (context: StepContext, record: LabRecord, status: LabStatus, because: Reason) =>
  reportLab(context, record.id, { changes: { status }, action: context.plan.name, because })

/** Releases capacity and ports once the lab is confirmed to be down. */
async function release({ client, election, session, epoch, signal }: StepContext): Promise<StepResult> {
  const body = { reason: 'the lab is torn down' }
  const call = { params: { id: session.id }, body, epoch, signal }
  const { version } = await fencedWrite(election, () => client.call('releaseSession', call))
  return { ...completed(), version }
}
