import type { ChangeHint } from '../../change-keys.ts'

/** Field by field, so that nothing goes into etcd that is no hint. */
export const hintToText = ({ id, version, updated_at, status, desired_status, deleted }: ChangeHint): string =>
  JSON.stringify({ id, status, desired_status, version, updated_at, deleted })

/** Undefined when the text is no hint. */
export function hintFromText(text: string): ChangeHint | undefined {
  const { id, version, updated_at, status, desired_status, deleted } = fieldsIn(text)
  if (typeof id !== 'string' || typeof version !== 'number' || typeof updated_at !== 'string') return undefined
  return {
    id,
    version,
    updated_at,
    ...(typeof status === 'string' ? { status } : {}),
    ...(typeof desired_status === 'string' ? { desired_status } : {}),
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

/** For a key whose value somebody else spoiled: it says only that something changed, and that any version is newer. */
export const hintOfKey = (key: string): ChangeHint => ({
  id: key.slice(key.lastIndexOf('/') + 1),
  version: 0,
  updated_at: '',
})
