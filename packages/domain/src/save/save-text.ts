import type { Instant } from '../instant.ts'
import type { SessionSave } from '../session/lablet-session.ts'
import { namesText } from '../text/format-amounts.ts'
import type { Save, SavedNode } from './save.ts'

const LABELS_MAX = 5

/** Such as `2 of 3 nodes; r3: its console is in use`. A lab of switches alone has no nodes to save. */
export function savedNodesText(nodes: readonly SavedNode[]): string {
  if (nodes.length === 0) return 'topology'
  const saved = nodes.filter(({ outcome }) => outcome === 'saved').length
  return [`${saved} of ${nodes.length} nodes`, ...skippedTexts(nodes)].join('; ')
}

const KIB = 1024
/** Compressed topologies are small, so KiB are exact enough. */
export const saveSizeText = ({ size_bytes }: Pick<Save, 'size_bytes'>): string => `${Math.ceil(size_bytes / KIB)} KiB`

/** One text per reason, with the nodes that were skipped for it. */
function skippedTexts(nodes: readonly SavedNode[]): string[] {
  const labels = new Map<string, string[]>()
  for (const { label, outcome, reason } of nodes) {
    const why = reason?.message ?? ''
    if (outcome === 'skipped') labels.set(why, [...(labels.get(why) ?? []), label])
  }
  return [...labels].map(([why, skipped]) => `${namesText(skipped, LABELS_MAX)}: ${why}`)
}

/** Whether the latest attempt has left the work of the session in a save. */
export const isSaved = ({ outcome }: SessionSave): boolean =>
  outcome?.code === 'lab_saved' || outcome?.code === 'save_unchanged'

/**
 * Such as `saved 4m ago, 2 of 3 nodes; r3: its console is in use`; null before the first attempt. `newest` is the newest save of
 * the session, and `ago` the distance of an instant from now.
 */
export function lastSaveText(
  state: SessionSave,
  newest: Pick<Save, 'nodes' | 'created_at'> | null,
  ago: (instant: Instant) => string,
): string | null {
  const { tried_at, outcome, requested_at } = state
  const savedAt = isSaved(state) ? tried_at : (newest?.created_at ?? null)
  const texts = [
    requested_at === null ? null : `save requested ${ago(requested_at)}`,
    tried_at === null || outcome === null || isSaved(state) ? null : `${outcome.message} (${ago(tried_at)})`,
    newest === null || savedAt === null ? null : `saved ${ago(savedAt)}, ${savedNodesText(newest.nodes)}`,
  ].filter(text => text !== null)
  return texts.length === 0 ? null : texts.join('; ')
}
