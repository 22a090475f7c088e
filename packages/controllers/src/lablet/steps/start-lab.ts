import type { CmlNode } from '@lcm/cloud/cml-labs'
import { bootSecondsOf } from '@lcm/domain/lab/topology'
import type { Access } from '@lcm/domain/session/lablet-session'
import { BOOT_SECONDS } from '@lcm/domain/session/pipeline'
import { isNotFound } from '../labs/fenced-labs.ts'
import { type LabChanges, reportLab } from '../labs/lab-records.ts'
import { isIdleState } from '../labs/lab-teardown.ts'
import { hostOf } from '../observe.ts'
import { again, blockedUnlessLate, completed, failed, type StepContext, type StepResult, unlessLate } from './step.ts'
import { topologyOf } from './topology-import.ts'

const NODES_NAMED_MAX = 20

/** The record's lab and its id, or why there is none. */
async function withLab(
  scene: StepContext,
  work: (lab: { recordId: string; labId: string }) => Promise<StepResult>,
): Promise<StepResult> {
  const record = await scene.record()
  if (record?.lab_id == null) return failed('its lab is not on record any more', { definite: true })
  try {
    return await work({ recordId: record.id, labId: record.lab_id })
  } catch (error) {
    if (isNotFound(error)) return failed('its lab is gone', { definite: true })
    throw error
  }
}

const report = (scene: StepContext, recordId: string, changes: LabChanges, because: string) =>
  reportLab(scene, recordId, { changes, action: scene.plan.name, because })

export const startLab = (scene: StepContext): Promise<StepResult> =>
  withLab(scene, async ({ recordId, labId }) => {
    const lab = await scene.labs.get(labId)
    if (lab === null) return failed('its lab is gone', { definite: true })
    // On record first: a start whose answer is lost may run, and would use capacity that counts as free.
    await report(scene, recordId, { status: 'STARTING' }, 'its session needs it')
    if (isIdleState(lab.state)) await scene.labs.start(labId)
    const topology = await topologyOf(await scene.definition(), () => scene.clock.sleep(0))
    return completed({ [BOOT_SECONDS]: bootSecondsOf(topology) })
  })

/** Waits until every node has booted. Progress has counts and the names of missing nodes. */
export const awaitLab = (scene: StepContext): Promise<StepResult> =>
  withLab(scene, async ({ recordId, labId }) => {
    const isConverged = await scene.labs.isConverged(labId)
    const nodes = await scene.labs.nodes(labId)
    const missing = nodes.filter(({ state }) => state !== 'BOOTED')
    const progress = { booted: nodes.length - missing.length, nodes: nodes.length, waits_for: named(missing) }
    if (missing.length === 0 && isConverged) {
      const states = nodes.map(({ label, node_definition, state }) => ({ label, node_definition, state }))
      await report(scene, recordId, { status: 'BOOTED', raw_state: 'STARTED', nodes: states.slice(0, 300) }, 'it is up')
      return completed(progress)
    }
    if (isConverged) return failed(`these nodes never booted: ${named(missing)}`, { definite: true })
    const late = unlessLate(scene, `these nodes have not booted: ${named(missing)}`)
    if (late.outcome.kind === 'failed') return late
    return { ...again(`${progress.booted} of ${progress.nodes} nodes are up`), progress }
  })

const named = (nodes: readonly CmlNode[]): string => {
  const names = nodes.slice(0, NODES_NAMED_MAX).map(({ label, state }) => `${label} (${state})`)
  return [...names, ...(nodes.length > NODES_NAMED_MAX ? [`${nodes.length - NODES_NAMED_MAX} more`] : [])].join(', ')
}

/** Says where people get in: on the worker's own address, by the ports that were given out. */
export async function publishAccess(scene: StepContext): Promise<StepResult> {
  const { port_template } = await scene.definition()
  const given = scene.session.pipeline?.steps.ports_alloc?.output ?? {}
  const host = hostOf(scene.worker)
  if (host === null) return blockedUnlessLate(scene, 'its worker has no address')
  const access = port_template.flatMap(({ name, node, protocol, inside: listens }): Access[] => {
    const port = given[name]
    const inside = protocol === 'serial' ? null : listens
    return typeof port === 'number' ? [{ name, node, protocol, inside, host, port }] : []
  })
  return { ...completed({ doors: access.length }), access }
}
