import type { InstanceFilter } from './compute.ts'
import { CloudError } from './errors.ts'

export interface AwsFilter {
  readonly name: string
  readonly value: string
}

/** A filter of the port in EC2's terms. Refuses an empty one, which EC2 would take as "every machine of the account". */
export function awsFilters(filter: InstanceFilter): readonly AwsFilter[] {
  const tags = 'tags' in filter ? Object.entries(filter.tags) : []
  const filters = tags.map(([key, value]) => ({ name: `tag:${key}`, value: literally(value) }))
  if (filter.client_token !== undefined) filters.push({ name: 'client-token', value: literally(filter.client_token) })
  if (filters.length > 0) return filters
  throw new CloudError('invalid', {
    code: 'MissingParameter',
    action: 'DescribeInstances',
    message: 'a listing needs a filter, or it would show foreign machines',
  })
}

/** EC2 reads `*` and `?` in filter values as wildcards. */
const literally = (value: string) => value.replaceAll(/[\\*?]/g, '\\$&')
