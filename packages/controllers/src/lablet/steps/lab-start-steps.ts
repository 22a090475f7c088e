import type { CmlNode } from '@lcm/cloud/cml-labs'
import { bootSecondsOf } from '@lcm/domain/lab/topology'
import { type Reason, reason } from '@lcm/domain/reason'
import type { Access } from '@lcm/domain/session/lablet-session'
import { BOOT_SECONDS } from '@lcm/domain/session/pipeline'
import { type LabChanges, reportLab } from '../api-calls.ts'
import { isNotFound } from '../labs/fenced-labs.ts'
import { isIdleState } from '../labs/lab-teardown.ts'
import { hostOf } from '../observe.ts'
import { again, blockedUnlessLate, completed, failed, type StepContext, type StepResult, unlessLate } from './step.ts'
import { topologyOf } from './topology-to-import.ts'

const NODES_NAMED_MAX = 20

/** The record's lab and its id, or why there is none. */
async function withLab(
  context: StepContext,
  work: (lab: { recordId: string; labId: string }) => Promise<StepResult>,
): Promise<StepResult> {
  const record = await context.record()
  if (record?.lab_id == null) return failed('the lab record is gone', { definite: true })
  try {
    return await work({ recordId: record.id, labId: record.lab_id })
  } catch (error) {
    if (isNotFound(error)) return failed('the lab is gone from CML', { definite: true })
    throw error
  }
}

const report = (context: StepContext, recordId: string, changes: LabChanges, because: Reason) =>
  reportLab(context, recordId, { changes, action: context.plan.name, because })

export const startLab = (context: StepContext): Promise<StepResult> =>
  withLab(context, async ({ recordId, labId }) => {
    const lab = await context.labs.get(labId)
    if (lab === null) return failed('the lab is gone from CML', { definite: true })
    // Recorded first: a lab whose start response is lost may run, and would use capacity that counts as free.
    await report(context, recordId, { status: 'STARTING' }, reason('session_needs_lab'))
    if (isIdleState(lab.state)) await context.labs.start(labId)
    const topology = await topologyOf(await context.definition(), () => context.clock.sleep(0))
    return completed({ [BOOT_SECONDS]: bootSecondsOf(topology) })
  })

/** Waits until every node has booted. Progress has counts and the names of missing nodes. */
export const awaitLab = (context: StepContext): Promise<StepResult> =>
  withLab(context, async ({ recordId, labId }) => {
    const isConverged = await context.labs.isConverged(labId)
    const nodes = await context.labs.nodes(labId)
    const missing = nodes.filter(({ state }) => state !== 'BOOTED')
    const progress = { booted: nodes.length - missing.length, nodes: nodes.length, waits_for: named(missing) }
    if (missing.length === 0 && isConverged) {
      const states = nodes.map(({ label, node_definition, state }) => ({ label, node_definition, state }))
      await report(
        context,
        recordId,
        { status: 'BOOTED', raw_state: 'STARTED', nodes: states.slice(0, 300) },
        reason('lab_booted'),
      )
      return completed(progress)
    }
    if (isConverged) return failed(`nodes did not boot: ${named(missing)}`, { definite: true })
    const late = unlessLate(context, reason('nodes_not_booted', { nodes: named(missing) }))
    if (late.outcome.kind === 'failed') return late
    return { ...again(reason('nodes_booting', { booted: progress.booted, nodes: progress.nodes })), progress }
  })

const named = (nodes: readonly CmlNode[]): string => {
  const names = nodes.slice(0, NODES_NAMED_MAX).map(({ label, state }) => `${label} (${state})`)
  return [...names, ...(nodes.length > NODES_NAMED_MAX ? [`${nodes.length - NODES_NAMED_MAX} more`] : [])].join(', ')
}

/** Publishes the access of the session: the address of the worker and the allocated ports. */
export async function publishAccess(context: StepContext): Promise<StepResult> {
  const { port_template } = await context.definition()
  const given = context.session.pipeline?.steps.ports_alloc?.output ?? {}
  const host = hostOf(context.worker)
  if (host === null) return blockedUnlessLate(context, reason('worker_has_no_address'))
  const access = port_template.flatMap(({ name, node, protocol, inside: listens }): Access[] => {
    const port = given[name]
    const inside = protocol === 'serial' ? null : listens
    return typeof port === 'number' ? [{ name, node, protocol, inside, host, port }] : []
  })
  return { ...completed({ doors: access.length }), access }
}
