import { toInstant } from '@lcm/domain/instant'
import type { Api, Request } from './api-context.ts'
import { auditEntry } from './resources/journal/entries.ts'

export type MakeBackup = (signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>

/** A backup holds every secret of the installation, so the audit entry is written before the first byte is sent. */
export async function createBackup(
  api: Api,
  { actor, signal }: Request<unknown, unknown, unknown>,
  make: MakeBackup,
): Promise<AsyncIterable<Uint8Array>> {
  const backup = await make(signal)
  const id = `store:backup:${Buffer.from(api.randomBytes(8)).toString('hex')}`
  const entry = auditEntry(actor, 'backup', toInstant(api.clock.now()))
  await api.store.journal.append([{ ...entry, id, subject: 'store:backup' }])
  return backup
}
