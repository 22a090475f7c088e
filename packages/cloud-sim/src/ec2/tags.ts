import { Ec2Refusal, invalidValue } from './refusal.ts'

export type Tags = Readonly<Record<string, string>>

const TAGS_MAX = 50
const KEY_CHARS_MAX = 128
const VALUE_CHARS_MAX = 256

export function checkTags(tags: Tags): void {
  for (const [key, value] of Object.entries(tags)) checkTag(key, value)
  if (Object.keys(tags).length > TAGS_MAX) {
    throw new Ec2Refusal('TagLimitExceeded', `The maximum number of tags for a resource is ${TAGS_MAX}.`)
  }
}

function checkTag(key: string, value: string): void {
  if (key.startsWith('aws:')) throw invalidValue(`Tag keys starting with 'aws:' are reserved for internal use`)
  if (key === '' || key.length > KEY_CHARS_MAX) {
    throw invalidValue(`Tag key exceeds the maximum length of ${KEY_CHARS_MAX} characters or is empty`)
  }
  if (value.length > VALUE_CHARS_MAX) {
    throw invalidValue(`Tag value exceeds the maximum length of ${VALUE_CHARS_MAX} characters`)
  }
}

/** Instance metadata serves each of them under a path. */
export function checkMetadataTags(tags: Tags): void {
  const wrong = Object.keys(tags).find(key => /[/\s]/.test(key))
  if (wrong === undefined) return
  throw invalidValue(`The tag key '${wrong}' is not valid for instance metadata: it has a slash or a blank`)
}

/** Tag to delete; with a value only if the resource has that value. */
export interface TagToDelete {
  readonly key: string
  readonly value: string | null
}

/** An empty list deletes all tags, as in EC2. */
export function withoutTags(tags: Tags, deleted: readonly TagToDelete[]): Tags {
  if (deleted.length === 0) return {}
  const kept = Object.entries(tags).filter(
    ([key, value]) => !deleted.some(tag => tag.key === key && (tag.value === null || tag.value === value)),
  )
  return Object.fromEntries(kept)
}
