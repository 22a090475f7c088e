import { countText, momentText, namesText } from '../format-amounts.ts'
import type { NestedReason } from './nested-reason.ts'

const MIB = 1024 * 1024
const mebibytes = (bytes: number): string => `${Math.ceil((bytes / MIB) * 10) / 10} MiB`

const textOf = (refused: readonly NestedReason[]): string => refused.map(({ message }) => message).join(', ')

interface Restored {
  readonly save: string
  readonly saved_at: string
  readonly refused: readonly NestedReason[]
  /** Nodes that the definition lacks, so that it opens no port to them. */
  readonly added: readonly string[]
}

const NODES_NAMED_MAX = 10

/** Reasons about saved work: attempts, nodes that were skipped, and labs that start with it. */
export const SAVE_REASONS = {
  lab_saved: ({ skipped }: { skipped: number }) =>
    `the lab was saved${skipped === 0 ? '' : ` without the latest changes of ${countText(skipped, 'node')}`}`,
  save_unchanged: () => 'nothing has changed since the last save',
  /** `size_bytes` is null when the topology is too large to be compressed. */
  save_too_large: ({ size_bytes, limit_bytes }: { size_bytes: number | null; limit_bytes: number }) =>
    size_bytes === null
      ? `the lab is too large to be saved: its topology may have ${mebibytes(limit_bytes)}`
      : `the lab is too large to be saved: compressed it has ${mebibytes(size_bytes)}, and a save may have ${mebibytes(limit_bytes)}`,
  saving_lab: () => 'the work in the lab is being saved',
  save_failed: ({ error }: { error: string }) => `the lab could not be saved: ${error}`,
  node_not_booted: ({ state }: { state: string }) => `the node is ${state}`,
  console_in_use: () => 'its console is in use',
  extraction_failed: ({ error }: { error: string }) => `CML could not extract its configuration: ${error}`,
  save_out_of_time: () => 'no time was left',
  lab_restored: ({ saved_at, refused, added }: Restored) =>
    [
      `the lab starts with the work saved at ${momentText(saved_at)}`,
      ...(refused.length === 0 ? [] : [textOf(refused)]),
      ...(added.length === 0
        ? []
        : [`nodes that were added in the lab have no access entry: ${namesText(added, NODES_NAMED_MAX)}`]),
    ].join('; '),
  lab_not_restored: ({ refused }: { refused: readonly NestedReason[] }) =>
    `the lab starts without the saved work: ${textOf(refused)}`,
  save_refused: ({ save, error }: { save: string; error: string }) => `${save} can't be used: ${error}`,
}
