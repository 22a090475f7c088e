import type { Instant } from '@lcm/domain/instant'
import type { Person } from '@lcm/domain/person'

export const newPerson = (
  id: string,
  fields: Pick<Person, 'name' | 'email' | 'role' | 'groups' | 'source'>,
  now: Instant,
): Person => ({
  id,
  version: 1,
  created_at: now,
  updated_at: now,
  ...fields,
  signed_out_at: null,
  merging_into: null,
})
