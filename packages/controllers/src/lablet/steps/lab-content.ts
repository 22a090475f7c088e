import { isProblem, unlessMissing } from '@lcm/client/client'
import { pagesOf } from '@lcm/client/list-pages'
import { addedNodes } from '@lcm/domain/lab/ports'
import { type Reason, reason } from '@lcm/domain/reason'
import { type RefusedSaves, refusedSaves, restoreReason } from '@lcm/domain/save/restore'
import type { Save } from '@lcm/domain/save/save'
import { savedTopology } from './saved-topology.ts'
import type { StepContext } from './step.ts'
import { topologyOf, topologyToImport } from './topology-to-import.ts'

/** Older saves than these are not worth more attempts. */
const SAVES_TRIED_MAX = 5
const ERROR_CHARS_MAX = 200

/** What a lab is imported from. */
export interface LabContent {
  readonly topology: string
  /** Null for the topology of the definition. */
  readonly save: Save | null
  /** Null for a session without saves. */
  readonly because: Reason | null
}

/**
 * The newest save that can be read: of the session itself, which had a lab before, else the one that it was booked from. The
 * definition is the last resort, since a lab without the work is better than none.
 */
export async function labContent(
  context: StepContext,
  ports: Readonly<Record<string, number>>,
  refusedBefore: RefusedSaves = refusedSaves(context.session),
): Promise<LabContent> {
  let refused = refusedBefore
  const definition = await context.definition()
  const pause = () => context.clock.sleep(0)
  for (const { id, save } of await savesOf(context)) {
    if (refused.has(id)) continue
    const saved = save === null ? DELETED : await readSave(context, id)
    if ('topology' in saved) {
      const restored = await savedTopology(saved.topology, definition.port_template, ports, pause).catch(() => null)
      if (restored !== null) {
        const added = addedNodes(restored, await topologyOf(definition, pause))
        return { topology: restored.topology, save, because: restoreReason(save, refused, added) }
      }
    }
    refused = withRefusal(refused, id, 'error' in saved ? saved.error : 'it is not a topology that LCM can read')
  }
  const topology = await topologyToImport(definition, ports, pause)
  return { topology, save: null, because: restoreReason(null, refused) }
}

export const withRefusal = (refused: RefusedSaves, save: string, error: string): RefusedSaves =>
  new Map([...refused, [save, reason('save_refused', { save, error: error.slice(0, ERROR_CHARS_MAX) })]])

const DELETED = { error: 'it was deleted' }

async function savesOf({ client, session, signal }: StepContext): Promise<{ id: string; save: Save | null }[]> {
  const { restore_from: id } = session
  const own: Save[] = []
  const query = { session_id: session.id }
  for await (const page of pagesOf(at => client.call('listSaves', { query: { ...query, ...at }, signal })))
    own.push(...page)
  own.sort((a, b) => b.number - a.number)
  const booked =
    id === null ? [] : [{ id, save: await unlessMissing(client.call('getSave', { params: { id }, signal })) }]
  return [...own.slice(0, SAVES_TRIED_MAX).map(save => ({ id: save.id, save })), ...booked]
}

async function readSave(
  { client, signal }: StepContext,
  id: string,
): Promise<{ topology: string } | { error: string }> {
  try {
    return await client.call('getSaveTopology', { params: { id }, signal })
  } catch (error) {
    if (isProblem(error, 'not_found')) return DELETED
    if (isProblem(error, 'save_unreadable', 'secret_key_missing')) return { error: error.message }
    throw error
  }
}
