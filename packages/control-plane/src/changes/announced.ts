import { CHANGE_KEYS } from '@lcm/contract/change-keys'
import type { ChangeHint } from '@lcm/coordination/change-keys'
import type { Collection, Document } from '@lcm/store/store'
import type { Api } from '../http/api.ts'

interface Resource extends Document {
  readonly updated_at: string
}

/** One kind whose changes are announced: below which prefix, and by what hint. */
export interface Announced {
  readonly kind: string
  readonly prefix: string
  get(id: string): Promise<ChangeHint | null>
  list(after: string, limit: number): Promise<readonly ChangeHint[]>
}

/** A hint is small and holds no secret: it says that something changed, and the reader fetches the rest. */
function announced<T extends Resource>(
  kind: string,
  prefix: string,
  collection: Collection<T>,
  more: (document: T) => Pick<ChangeHint, 'status' | 'desired_status'>,
): Announced {
  const hint = (document: T): ChangeHint => {
    const { id, version, updated_at } = document
    return { id, version, updated_at, ...more(document) }
  }
  return {
    kind,
    prefix,
    async get(id) {
      const document = await collection.get(id)
      return document && hint(document)
    },
    list: async (after, limit) => (await collection.list({ after, limit })).map(hint),
  }
}

export const announcedKinds = (api: Api): readonly Announced[] => [
  announced('worker', CHANGE_KEYS.workers, api.workers, ({ status, desired_status }) => ({ status, desired_status })),
  announced('template', CHANGE_KEYS.templates, api.templates, () => ({})),
  announced('settings', CHANGE_KEYS.settings, api.settings, () => ({})),
  announced('definition', CHANGE_KEYS.definitions, api.definitions, ({ status }) => ({ status })),
  announced('session', CHANGE_KEYS.sessions, api.sessions, ({ status, desired_status }) => ({
    status,
    desired_status,
  })),
  announced('lab_record', CHANGE_KEYS.labRecords, api.labs, ({ status }) => ({ status })),
  announced('service', CHANGE_KEYS.services, api.services, () => ({})),
]

const PREFIXES = {
  worker: CHANGE_KEYS.workers,
  template: CHANGE_KEYS.templates,
  settings: CHANGE_KEYS.settings,
  service: CHANGE_KEYS.services,
  definition: CHANGE_KEYS.definitions,
  session: CHANGE_KEYS.sessions,
  lab_record: CHANGE_KEYS.labRecords,
}

/** Which resource a change key stands for; null for keys of others. */
export function kindOfKey(key: string): { kind: string; id: string } | null {
  const found = Object.entries(PREFIXES).find(([, prefix]) => key.startsWith(prefix))
  if (found === undefined) return null
  const [kind, prefix] = found
  return { kind, id: key.slice(prefix.length) }
}
