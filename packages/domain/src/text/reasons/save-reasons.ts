import { countText } from '../format-amounts.ts'

const MIB = 1024 * 1024
const mebibytes = (bytes: number): string => `${Math.ceil((bytes / MIB) * 10) / 10} MiB`

/** Outcomes of saving the work of a session. */
export const SAVE_REASONS = {
  lab_saved: ({ skipped }: { skipped: number }) =>
    `the lab was saved${skipped === 0 ? '' : ` without the latest changes of ${countText(skipped, 'node')}`}`,
  save_unchanged: () => 'nothing has changed since the last save',
  /** `size_bytes` is null when the topology is too large to be compressed. */
  save_too_large: ({ size_bytes, limit_bytes }: { size_bytes: number | null; limit_bytes: number }) =>
    size_bytes === null
      ? `the lab is too large to be saved: its topology may have ${mebibytes(limit_bytes)}`
      : `the lab is too large to be saved: compressed it has ${mebibytes(size_bytes)}, and a save may have ${mebibytes(limit_bytes)}`,
}
