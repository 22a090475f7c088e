import type { ChangeHint } from '../../change-keys.ts'

/** Field by field, so that only hint fields are written to etcd. */
export function encodeHint(hint: ChangeHint): string {
  const { id, version, updated_at, status, desired_status, service_status, restarted_at, deleted } = hint
  return JSON.stringify({ id, status, desired_status, service_status, restarted_at, version, updated_at, deleted })
}

/** Returns undefined when the text is not a hint. */
export function decodeHint(text: string): ChangeHint | undefined {
  const { id, version, updated_at, status, desired_status, service_status, restarted_at, deleted } = fieldsIn(text)
  if (typeof id !== 'string' || typeof version !== 'number' || typeof updated_at !== 'string') return undefined
  return {
    id,
    version,
    updated_at,
    ...(typeof status === 'string' ? { status } : {}),
    ...(typeof desired_status === 'string' ? { desired_status } : {}),
    ...(typeof service_status === 'string' ? { service_status } : {}),
    ...(typeof restarted_at === 'string' ? { restarted_at } : {}),
    ...(deleted === true ? { deleted } : {}),
  }
}

function fieldsIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const json: unknown = JSON.parse(text)
    return typeof json === 'object' && json !== null ? { ...json } : {}
  } catch {
    return {}
  }
}

/** Stands in for an invalid value: reports only that the key changed, and any version is newer. */
export const placeholderHint = (key: string): ChangeHint => ({
  id: key.slice(key.lastIndexOf('/') + 1),
  version: 0,
  updated_at: '',
})
