import type { CmlLab, CmlNode } from '@lcm/cloud/cml-labs'
import { CloudError } from '@lcm/cloud/errors'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import { portsInTags } from '@lcm/domain/lab/ports'
import { reason } from '@lcm/domain/reason'
import { reportLab } from '../labs/lab-records.ts'
import { tearDownLab } from '../labs/lab-teardown.ts'
import { labTitle } from '../labs/lab-titles.ts'
import { putOnRecord } from './bind-lab.ts'
import { completed, failed, type StepContext, type StepResult, unlessLate } from './step.ts'
import { topologyToImport } from './topology-import.ts'

/** The lab is there, wiped, and its tags name the ports that were given out. */
export async function prepareLab(scene: StepContext): Promise<StepResult> {
  const record = await scene.record()
  if (record === null) return failed('the lab record is gone', { definite: true })
  const lab = await ownLab(scene, record)
  if (lab?.lab_id !== record.lab_id) await forgetLabId(scene, record)
  if (lab === null) return importLab(scene)
  if (lab.lab_id !== record.lab_id) await putOnRecord(scene, lab.lab_id)
  // Another session, or an earlier attempt, may have used the lab.
  const waitsFor = await tearDownLab(scene.labs, lab, { depth: 'wipe', asked: scene.asked })
  if (waitsFor !== null) return unlessLate(scene, waitsFor)
  const isUsedAgain = lab.title !== labTitle(scene.session, await scene.definition())
  if (isUsedAgain && !leadsTo(await scene.labs.nodes(lab.lab_id), portsOf(scene))) {
    // Its tags lead elsewhere, and a new lab is made in its place with the next look.
    await scene.labs.delete(lab.lab_id)
    return unlessLate(scene, reason('lab_ports_differ'))
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

/** By its id, else by its title: an import whose answer was lost is found by what it was called. */
async function ownLab(scene: StepContext, { lab_id }: LabRecord): Promise<CmlLab | null> {
  const known = lab_id === null ? null : await scene.labs.get(lab_id)
  if (known !== null) return known
  const title = labTitle(scene.session, await scene.definition())
  return (await scene.labs.list()).find(lab => lab.title === title) ?? null
}

/** A record has one lab: the one that is not there any more makes way for the next. */
async function forgetLabId(scene: StepContext, { id, lab_id }: LabRecord): Promise<void> {
  if (lab_id === null) return
  await reportLab(scene, id, {
    changes: { lab_id: null },
    action: scene.plan.name,
    because: reason('lab_gone_from_cml', { lab_id }),
  })
}

async function importLab(scene: StepContext): Promise<StepResult> {
  const definition = await scene.definition()
  const title = labTitle(scene.session, definition)
  try {
    const topology = await topologyToImport(definition, portsOf(scene), () => scene.clock.sleep(0))
    const { lab_id } = await scene.labs.import({ title, topology })
    scene.counters.add('labs_imported')
    scene.labsChanged()
    await putOnRecord(scene, lab_id)
    return completed({ lab_id })
  } catch (error) {
    // CML would refuse the same topology again.
    if (error instanceof CloudError && error.errorClass === 'invalid') return failed(error.message, { definite: true })
    throw error
  }
}
