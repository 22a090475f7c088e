import { ProblemError } from '@lcm/contract/problems'
import { isReservedTag } from '@lcm/domain/worker/worker'

export function refuseReservedTags(tags: Record<string, string>): void {
  const errors = Object.keys(tags)
    .filter(isReservedTag)
    .map(key => ({ path: `tags.${key}`, message: 'names that begin with aws: or lcm: are reserved' }))
  if (errors.length > 0) throw new ProblemError('validation_failed', 'some tags are reserved', errors)
}
