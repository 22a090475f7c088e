import type { Client } from '@lcm/client/client'
import { SETTING_DEFAULTS, SettingValues } from '@lcm/domain/fleet/settings'
import type { Clock } from '@lcm/runtime/clock'

/** Maximum age of cached settings. */
const FRESH_MS = 10_000

/** Ignores settings that only a newer API knows. */
const KNOWN = SettingValues.strip()

export interface SettingsCache {
  /** Rejects when settings were never read; later the last known ones are used while the API is down. */
  read(signal: AbortSignal): Promise<SettingValues>
}

export function settingsCache({ client, clock }: { client: Client; clock: Clock }): SettingsCache {
  let known: { readonly atMs: number; readonly values: SettingValues } | null = null
  let asking: Promise<SettingValues> | null = null

  async function ask(signal: AbortSignal): Promise<SettingValues> {
    const values = await readSettings(client, signal)
    known = { atMs: clock.monotonic(), values }
    return values
  }

  return {
    async read(signal) {
      if (known !== null && clock.monotonic() - known.atMs < FRESH_MS) return known.values
      asking ??= ask(signal).finally(() => {
        asking = null
      })
      try {
        return await asking
      } catch (error) {
        if (known === null) throw error
        return known.values
      }
    },
  }
}

export async function readSettings(client: Client, signal: AbortSignal): Promise<SettingValues> {
  const { settings } = await client.call('getSettings', { signal })
  const given = Object.fromEntries(Object.entries(settings).map(([name, { value }]) => [name, value]))
  return KNOWN.parse({ ...SETTING_DEFAULTS, ...given })
}
