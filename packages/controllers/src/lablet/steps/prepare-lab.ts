import type { CmlLab, CmlNode } from '@lcm/cloud/cml-labs'
import { CloudError } from '@lcm/cloud/errors'
import { toInstant } from '@lcm/domain/instant'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import { portsInTags } from '@lcm/domain/lab/ports'
import { type Reason, reason } from '@lcm/domain/reason'
import { isRestoreAnnounced, refusedSaves, saveThatFails, withRestore } from '@lcm/domain/save/restore'
import { reportLab } from '../api-calls.ts'
import { tearDownLab } from '../labs/lab-teardown.ts'
import { labTitle } from '../labs/lab-titles.ts'
import { putOnRecord } from './lab-bind-steps.ts'
import { type LabContent, labContent, withRefusal } from './lab-content.ts'
import { again, completed, failed, type StepContext, type StepResult, unlessLate } from './step.ts'

/** Ensures that the lab exists, is wiped, and has tags with the allocated ports. */
export async function prepareLab(context: StepContext): Promise<StepResult> {
  const record = await context.record()
  if (record === null) return failed('the lab record is gone', { definite: true })
  const lab = await ownLab(context, record)
  if (lab?.lab_id !== record.lab_id) await forgetLabId(context, record)
  if (lab === null) return importLab(context)
  if (lab.lab_id !== record.lab_id) await putOnRecord(context, lab.lab_id)
  // Another session, or an earlier attempt, may have used the lab.
  const waitsFor = await tearDownLab(context.labs, lab, { depth: 'wipe', asked: context.asked })
  if (waitsFor !== null) return unlessLate(context, waitsFor)
  const failing = saveThatFails(context.session)
  if (failing !== null) {
    await context.labs.delete(lab.lab_id)
    return passOver(context, failing, context.session.last_error ?? 'its lab does not start')
  }
  const isUsedAgain = lab.title !== labTitle(context.session, await context.definition())
  if (isUsedAgain && !leadsTo(await context.labs.nodes(lab.lab_id), portsOf(context))) {
    // Its tags name other ports, so the next reconcile imports a new lab in its place.
    await context.labs.delete(lab.lab_id)
    return unlessLate(context, reason('lab_ports_differ'))
  }
  return completed({ lab_id: lab.lab_id })
}

const portsOf = ({ session }: StepContext): Record<string, number> => {
  const given = Object.entries(session.pipeline?.steps.ports_alloc?.output ?? {})
  return Object.fromEntries(given.flatMap(([name, port]) => (typeof port === 'number' ? [[name, port]] : [])))
}

const leadsTo = (nodes: readonly CmlNode[], ports: Readonly<Record<string, number>>): boolean => {
  const there = portsInTags(nodes.flatMap(({ tags }) => tags))
  const wanted = Object.values(ports)
  return there.length === wanted.length && wanted.every(port => there.includes(port))
}

/** The lab with the recorded id, else with the title: an import whose response was lost is found by its title. */
async function ownLab(context: StepContext, { lab_id }: LabRecord): Promise<CmlLab | null> {
  const known = lab_id === null ? null : await context.labs.get(lab_id)
  if (known !== null) return known
  const title = labTitle(context.session, await context.definition())
  return (await context.labs.list()).find(lab => lab.title === title) ?? null
}

/** A record has one lab, so the record of a missing lab is closed before the next import. */
async function forgetLabId(context: StepContext, { id, lab_id }: LabRecord): Promise<void> {
  if (lab_id === null) return
  await reportLab(context, id, {
    changes: { lab_id: null },
    action: context.plan.name,
    because: reason('lab_gone_from_cml', { lab_id }),
  })
}

/** Imports the saved work of the session, or its definition. Which of them is announced first: the response may be lost. */
async function importLab(context: StepContext): Promise<StepResult> {
  const content = await labContent(context, portsOf(context))
  const { because } = content
  if (because !== null && !isRestoreAnnounced(context.session, because)) return announced(context, because)
  try {
    const title = labTitle(context.session, await context.definition())
    const { lab_id } = await context.labs.import({ title, topology: content.topology })
    context.counters.add('labs_imported')
    context.labsChanged()
    await putOnRecord(context, lab_id)
    return completed({ lab_id, ...(content.save === null ? {} : { save_id: content.save.id }) })
  } catch (error) {
    if (error instanceof CloudError && error.errorClass === 'invalid') return await notImported(context, content, error)
    throw error
  }
}

const announced = (context: StepContext, because: Reason): StepResult => ({
  ...again(because),
  conditions: withRestore(context.session, because, toInstant(context.clock.now())),
})

/** CML would refuse the same topology again. */
async function notImported(context: StepContext, { save }: LabContent, { message }: CloudError): Promise<StepResult> {
  return save === null ? failed(message, { definite: true }) : passOver(context, save.id, message)
}

/** An older save, or the definition, is better than no lab. */
async function passOver(context: StepContext, save: string, error: string): Promise<StepResult> {
  const refused = withRefusal(refusedSaves(context.session), save, error)
  const { because } = await labContent(context, portsOf(context), refused)
  return announced(context, because ?? reason('lab_not_restored', { refused: [...refused.values()] }))
}
