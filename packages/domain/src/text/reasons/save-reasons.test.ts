import { reason } from '../../reason.ts'
import { SAVE_REASONS } from './save-reasons.ts'
import { checkMessages, type MessageRow } from './testing/check-messages.ts'

const MIB = 1024 * 1024

const ROWS: readonly MessageRow[] = [
  [reason('lab_saved', { skipped: 0 }), 'the lab was saved'],
  [reason('lab_saved', { skipped: 1 }), 'the lab was saved without the latest changes of 1 node'],
  [reason('lab_saved', { skipped: 3 }), 'the lab was saved without the latest changes of 3 nodes'],
  [reason('save_unchanged'), 'nothing has changed since the last save'],
  [
    reason('save_too_large', { size_bytes: 4 * MIB + 1, limit_bytes: 4 * MIB }),
    'the lab is too large to be saved: compressed it has 4.1 MiB, and a save may have 4 MiB',
  ],
  [
    reason('save_too_large', { size_bytes: null, limit_bytes: 16 * MIB }),
    'the lab is too large to be saved: its topology may have 16 MiB',
  ],
]

checkMessages(SAVE_REASONS, ROWS)
