import type { CmlNode } from '@lcm/cloud/cml-labs'
import { portsInTags } from '@lcm/domain/lab/ports'
import { bootSecondsOf } from '@lcm/domain/lab/topology'
import { type Reason, reason } from '@lcm/domain/reason'
import type { Access } from '@lcm/domain/session/lablet-session'
import { BOOT_SECONDS } from '@lcm/domain/session/pipeline'
import { type LabChanges, reportLab } from '../api-calls.ts'
import { isNotFound } from '../labs/fenced-labs.ts'
import { isIdleState } from '../labs/lab-teardown.ts'
import { missingNodes, namesOf } from '../labs/missing-nodes.ts'
import { hostOf } from '../observe.ts'
import { again, blockedUnlessLate, completed, failed, type StepContext, type StepResult, unlessLate } from './step.ts'
import { topologyOf } from './topology-to-import.ts'

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
    const missing = missingNodes(nodes)
    const progress = { booted: nodes.length - missing.length, nodes: nodes.length, waits_for: namesOf(missing) }
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
    if (isConverged) return failed(`nodes did not boot: ${namesOf(missing)}`, { definite: true })
    const late = unlessLate(context, reason('nodes_not_booted', { nodes: namesOf(missing) }))
    if (late.outcome.kind === 'failed') return late
    return { ...again(reason('nodes_booting', { booted: progress.booted, nodes: progress.nodes })), progress }
  })

/** Publishes the access of the session: the address of the worker and the allocated ports. */
export async function publishAccess(context: StepContext): Promise<StepResult> {
  const { port_template } = await context.definition()
  const given = context.session.pipeline?.steps.ports_alloc?.output ?? {}
  const host = hostOf(context.worker)
  if (host === null) return blockedUnlessLate(context, reason('worker_has_no_address'))
  return withLab(context, async ({ labId }) => {
    const nodes = port_template.length === 0 ? [] : await context.labs.nodes(labId)
    const access = port_template.flatMap(({ name, node: label, protocol, inside: listens }): Access[] => {
      const port = given[name]
      const inside = protocol === 'serial' ? null : listens
      const node = typeof port === 'number' ? nodeWith(nodes, port, label) : null
      return typeof port === 'number' && node !== null ? [{ name, node, protocol, inside, host, port }] : []
    })
    return { ...completed({ access: access.length }), access }
  })
}

/** The node that the port leads to; saved work may have it under another label, or not at all. */
const nodeWith = (nodes: readonly CmlNode[], port: number, label: string): string | null =>
  (nodes.find(({ tags }) => portsInTags(tags).includes(port)) ?? nodes.find(node => node.label === label))?.label ??
  null
