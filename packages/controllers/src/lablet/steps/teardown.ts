import type { CmlLab } from '@lcm/cloud/cml-labs'
import type { LabRecord, LabStatus } from '@lcm/domain/lab/lab-record'
import { canServeLabs, workerLost } from '@lcm/domain/session/decide-session'
import { fencedWrite } from '../../kit/fenced-write.ts'
import { reportLab } from '../labs/lab-records.ts'
import { type Depth, tearDownLab } from '../labs/lab-teardown.ts'
import { isOurs } from '../labs/lab-titles.ts'
import {
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
  stop: takeLabDown('stop', 'STOPPED'),
  wipe: takeLabDown('wipe', 'WIPED'),
  delete: deleteLab,
  release,
  archive: async () => completed(),
}

/** A lab that is gone, or whose worker is, is as down as it can be. */
function takeLabDown(depth: Depth, reached: LabStatus): RunStep {
  return async scene => {
    const record = await scene.record()
    if (record === null) return skipped('it has no lab')
    const { worker } = scene
    if (worker === null || worker.status === 'TERMINATED') {
      await report(scene, record, 'DELETED', 'its worker is gone')
      return skipped('its worker is gone')
    }
    if (!canServeLabs(worker)) return notServing(scene)
    const lab = record.lab_id === null ? null : await scene.labs.get(record.lab_id)
    if (lab === null) return completed({ why: 'it is not there' })
    const waitsFor = await tearDownLab(scene.labs, lab, { depth, asked: scene.asked })
    if (waitsFor !== null) return unlessLate(scene, waitsFor)
    await report(scene, record, reached, BECAUSE_OVER)
    return completed()
  }
}

function notServing(scene: StepContext): StepResult {
  const lost = workerLost(scene.worker, scene.clock.now())
  return lost === null
    ? blockedUnlessLate(scene, `${scene.worker?.name ?? 'its worker'} does not serve`)
    : failed(lost, { definite: true })
}

/** The lab on record and whatever else was made for the session, such as what a lost answer left behind. */
async function labsOf({ labs: hands, session }: StepContext, record: LabRecord): Promise<readonly CmlLab[]> {
  const ourName = await hands.ownName()
  return (await hands.list()).filter(lab => lab.lab_id === record.lab_id || isOurs(lab, session, ourName))
}

/** With reuse the lab on record stays, wiped, for the next one; one that failed is of no use to anybody. */
async function deleteLab(scene: StepContext): Promise<StepResult> {
  const { session, worker, labs: hands } = scene
  const record = await scene.record()
  if (record === null) return skipped('it has no lab')
  if (worker === null || worker.status === 'TERMINATED') return skipped('its worker is gone')
  if (!canServeLabs(worker)) return notServing(scene)
  const isKept = (await scene.definition()).lab_reuse && session.last_error === null
  const labs = await labsOf(scene, record)
  const superfluous = labs.filter(lab => !(isKept && lab.lab_id === record.lab_id))
  // Else a scan that comes before the end of this step would take the lab for lost.
  if (superfluous.some(({ lab_id }) => lab_id === record.lab_id)) await report(scene, record, 'DELETING', BECAUSE_OVER)
  const waitsFor: string[] = []
  for (const lab of superfluous) {
    const waits = await tearDownLab(hands, lab, { depth: 'delete', asked: scene.asked })
    if (waits === null) scene.counters.add('labs_deleted')
    waitsFor.push(waits ?? `${lab.title} is removed`)
  }
  if (waitsFor.length > 0) {
    scene.labsChanged()
    // A deletion counts once CML shows it.
    return unlessLate(scene, waitsFor.join(', '))
  }
  if (isKept && labs.length > 0) return skipped('its lab is kept for the next one')
  await report(scene, record, 'DELETED', BECAUSE_OVER)
  return completed()
}

const BECAUSE_OVER = 'its session is over'

const report = (scene: StepContext, record: LabRecord, status: LabStatus, because: string) =>
  reportLab(scene, record.id, { changes: { status }, action: scene.plan.name, because })

/** Releases capacity and ports once the lab is confirmed to be down. */
async function release({ client, election, session, epoch, signal }: StepContext): Promise<StepResult> {
  const body = { reason: 'its lab is taken down' }
  const call = { params: { id: session.id }, body, epoch, signal }
  const { version } = await fencedWrite(election, () => client.call('releaseSession', call))
  return { ...completed(), version }
}
