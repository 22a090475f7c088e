import type { InstanceFilter } from './compute.ts'
import { chunks } from './compute-wrappers/batched-compute.ts'
import { CloudError } from './errors.ts'

/** Matches any of the values. */
export interface AwsFilter {
  readonly name: string
  readonly values: readonly string[]
}

/** EC2 accepts no more values in one request. */
const VALUES_MAX = 200

/**
 * Translates a filter of the port into the filters of one or more EC2 requests. Rejects an empty filter, which would
 * match every machine of the account.
 */
export function awsFilters(filter: InstanceFilter): readonly (readonly AwsFilter[])[] {
  const requests = requestsOf(filter).map(filters => filters.filter(({ values }) => values.length > 0))
  if (requests.some(filters => filters.length > 0))
    return requests.map(filters => filters.map(({ name, values }) => ({ name, values: values.map(literally) })))
  throw new CloudError('invalid', {
    code: 'MissingParameter',
    action: 'DescribeInstances',
    message: 'a list needs a filter, or it would show foreign machines',
  })
}

function requestsOf(filter: InstanceFilter): readonly (readonly AwsFilter[])[] {
  if ('tag_keys' in filter) return anyOf('tag-key', filter.tag_keys)
  if ('image_ids' in filter) return anyOf('image-id', filter.image_ids)
  const tags = 'tags' in filter ? Object.entries(filter.tags) : []
  const token = filter.client_token === undefined ? [] : [filter.client_token]
  return [
    [...tags.map(([key, value]) => ({ name: `tag:${key}`, values: [value] })), { name: 'client-token', values: token }],
  ]
}

const anyOf = (name: string, values: readonly string[]): readonly (readonly AwsFilter[])[] =>
  chunks(values, VALUES_MAX).map(some => [{ name, values: some }])

/** EC2 treats `*` and `?` in filter values as wildcards. */
const literally = (value: string) => value.replaceAll(/[\\*?]/g, '\\$&')
