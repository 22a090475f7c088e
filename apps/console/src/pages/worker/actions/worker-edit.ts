import type { BodyInput } from '@lcm/contract/routes'
import type { Worker } from '@lcm/domain/worker/worker'
import { labelsOf, labelsText } from './labels.ts'

/**
 * What the form says anew. The rest may have been changed by others since it was opened, and the name of a machine that was
 * found need not be one that could be given now.
 */
export const patchOf = (
  opened: Pick<Worker, 'name' | 'labels'>,
  name: string,
  labels: string,
): BodyInput<'patchWorker'> => ({
  ...(name.trim() === opened.name.trim() ? {} : { name: name.trim() }),
  ...(labels === labelsText(opened.labels) ? {} : { labels: labelsOf(labels).labels }),
})
