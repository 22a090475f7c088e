import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'

const COMPRESSED = fileURLToPath(new URL('cc731b3.sqlite.gz', import.meta.url))

/** Kinds of documents that 0.1.0 did not have. */
export const NEW_KINDS: ReadonlySet<string> = new Set([
  'browser_session',
  'calendar',
  'key_ring',
  'license_pool',
  'notification',
  'notification_target',
  'person',
  'plan',
  'quota',
  'save',
  'target_health',
  'timing',
])

/** A store that commit cc731b3 (0.1.0) wrote, as a new file. The README of this package says how it was made. */
export function oldStore() {
  const file = join(mkdtempSync(join(tmpdir(), 'lcm-old-')), 'lcm.sqlite')
  writeFileSync(file, gunzipSync(readFileSync(COMPRESSED)))
  return {
    file,
    secretKey: Buffer.alloc(32, 7),
    /** The secret of its token `ci`, an operator. */
    operatorToken: 'lcm_6ntrPw_21zaWOxTUQ_hh5yt0PKpHGXSIrOVoWT6eogc',
    /** The virtual time at which it was copied. */
    copiedAt: '2026-01-01T01:59:27.491Z',
  }
}
