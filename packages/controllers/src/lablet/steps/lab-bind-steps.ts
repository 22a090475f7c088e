import { isProblem } from '@lcm/client/client'
import { assert } from '@lcm/domain/assert'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import { portsInTags } from '@lcm/domain/lab/ports'
import { reason } from '@lcm/domain/reason'
import { reusesLabs } from '@lcm/domain/save/restore'
import { fencedWrite } from '../../kit/fenced-write.ts'
import { fetchLab, labsOnRecord } from '../api-calls.ts'
import { isNotFound } from '../labs/fenced-labs.ts'
import { isIdleState } from '../labs/lab-teardown.ts'
import { labTitle } from '../labs/lab-titles.ts'
import { blockedUnlessLate, completed, failed, type StepContext, type StepResult, skipped } from './step.ts'

/** Chooses the lab: the one on record, a free one of the same definition, or a new one. */
export async function resolveLab(context: StepContext): Promise<StepResult> {
  const own = await context.record()
  if (own !== null)
    return own.pending_action === null
      ? completed({ record_id: own.id })
      : blockedUnlessLate(context, reason('earlier_lab_pending', { action: own.pending_action.action }))
  const left = reusesLabs(await context.definition(), context.session) ? await leftBehind(context) : null
  return completed({ record_id: left?.id ?? null })
}

/** A free lab of the same definition on the same worker, confirmed by CML. */
async function leftBehind({ client, session, labs: cmlLabs, signal }: StepContext): Promise<LabRecord | null> {
  const onRecord = await labsOnRecord(client, { worker_id: session.worker_id ?? '' }, signal)
  const free = onRecord.filter(
    record =>
      record.definition_id === session.definition.id && record.session_id === null && record.pending_action === null,
  )
  for (const status of ['WIPED', 'STOPPED'] as const)
    for (const record of free.filter(each => each.status === status && each.lab_id !== null)) {
      const lab = await cmlLabs.get(record.lab_id ?? '')
      if (lab !== null && isIdleState(lab.state)) return record
    }
  return null
}

/** Records the lab before it exists, so that an imported lab can always be found and deleted. */
export async function bindLab(context: StepContext): Promise<StepResult> {
  const own = await context.record()
  if (own !== null) return completed({ record_id: own.id })
  const chosen = context.session.pipeline?.steps.lab_resolve?.output.record_id
  const claimed = typeof chosen === 'string' ? await claim(context, chosen) : null
  const record = claimed ?? (await putOnRecord(context, null))
  assert(record.worker_id === context.session.worker_id, `${record.id} is on another worker than its session`)
  return completed({ record_id: record.id, reused: claimed !== null })
}

/** Null when another session claimed it first. */
async function claim(context: StepContext, record_id: string): Promise<LabRecord | null> {
  const { client, session, epoch, signal, election } = context
  const record = await fetchLab(client, record_id, signal)
  if (record === null) return null
  const body = { lab_id: record.lab_id, title: record.title, record_id }
  try {
    return await fencedWrite(election, () =>
      client.call('bindLab', { params: { id: session.id }, body, epoch, signal }),
    )
  } catch (error) {
    if (isProblem(error, 'lab_in_use', 'lab_gone')) return null
    throw error
  }
}

export async function putOnRecord(context: StepContext, lab_id: string | null): Promise<LabRecord> {
  const { client, session, epoch, signal, election } = context
  const body = { lab_id, title: labTitle(session, await context.definition()) }
  return fencedWrite(election, () => client.call('bindLab', { params: { id: session.id }, body, epoch, signal }))
}

/** The API alone allocates ports; this reports the ports that foreign labs use. */
export async function allocatePorts(context: StepContext): Promise<StepResult> {
  const { client, epoch, signal, election } = context
  const { port_template } = await context.definition()
  if (port_template.length === 0) return skipped('the definition has no ports')
  const record = await context.record()
  if (record === null) return failed('the lab record is gone', { definite: true })
  const body = { taken: await takenByOthers(context, record) }
  const call = { params: { id: record.id }, body, epoch, signal }
  try {
    return completed((await fencedWrite(election, () => client.call('allocatePorts', call))).ports)
  } catch (error) {
    if (isProblem(error, 'no_capacity', 'lab_gone')) return failed(error.message, { definite: false })
    throw error
  }
}

async function takenByOthers(
  { client, labs: cmlLabs, worker, signal }: StepContext,
  own: LabRecord,
): Promise<number[]> {
  assert(worker !== null, 'a step without a worker')
  const onRecord = await labsOnRecord(client, { worker_id: worker.id }, signal)
  const ours = new Set(
    onRecord.filter(({ id }) => id === own.id || worker.ports[id] !== undefined).map(({ lab_id }) => lab_id),
  )
  const taken = new Set<number>()
  for (const { lab_id } of await cmlLabs.list()) {
    if (ours.has(lab_id)) continue
    for (const { tags } of await nodesUnlessGone(cmlLabs, lab_id)) for (const port of portsInTags(tags)) taken.add(port)
  }
  return [...taken].filter(port => port >= 1 && port <= 65_535).sort((a, b) => a - b)
}

const nodesUnlessGone = (cmlLabs: StepContext['labs'], labId: string) =>
  cmlLabs.nodes(labId).catch((error: unknown) => {
    if (isNotFound(error)) return []
    throw error
  })
