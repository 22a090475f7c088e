import { reason } from '../../reason.ts'
import { SAVE_REASONS } from './save-reasons.ts'
import { checkMessages, type MessageRow } from './testing/check-messages.ts'

const MIB = 1024 * 1024

const REFUSED = [reason('save_refused', { save: 'sv-2', error: 'it was deleted' })]
const SAVED = { save: 'sv-1', saved_at: '2026-01-02T10:20:00.000Z' }

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
  [reason('saving_lab'), 'the work in the lab is being saved'],
  [reason('save_failed', { error: 'no answer' }), 'the lab could not be saved: no answer'],
  [reason('node_not_booted', { state: 'STOPPED' }), 'the node is STOPPED'],
  [reason('console_in_use'), 'its console is in use'],
  [reason('extraction_failed', { error: 'no answer' }), 'CML could not extract its configuration: no answer'],
  [reason('save_out_of_time'), 'no time was left'],
  [reason('save_refused', { save: 'sv-2', error: 'it was deleted' }), "sv-2 can't be used: it was deleted"],
  [
    reason('lab_restored', { ...SAVED, refused: [], added: [] }),
    'the lab starts with the work saved at 2026-01-02 10:20 UTC',
  ],
  [
    reason('lab_restored', { ...SAVED, refused: [], added: ['R3', 'R4'] }),
    'the lab starts with the work saved at 2026-01-02 10:20 UTC; nodes that were added in the lab have no access entry: R3, R4',
  ],
  [
    reason('lab_restored', { ...SAVED, refused: REFUSED, added: [] }),
    "the lab starts with the work saved at 2026-01-02 10:20 UTC; sv-2 can't be used: it was deleted",
  ],
  [
    reason('lab_not_restored', { refused: REFUSED }),
    "the lab starts without the saved work: sv-2 can't be used: it was deleted",
  ],
]

checkMessages(SAVE_REASONS, ROWS)
