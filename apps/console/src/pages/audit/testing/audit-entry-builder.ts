import type { Entry } from '../audit-entries.ts'

/** The `n`th audit entry, one second after the one before. */
export const anEntry = (n: number, more: Partial<Entry> = {}): Entry => ({
  id: `e-${n}`,
  at: `2026-01-02T03:04:${String(n).padStart(2, '0')}.000Z`,
  actor: { id: 'admin', name: 'admin', role: 'admin' },
  action: 'stop',
  resource: 'worker:w-1',
  before: {},
  after: {},
  reason: '',
  ...more,
})
