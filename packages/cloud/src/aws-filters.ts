import type { InstanceFilter } from './compute.ts'
import { CloudError } from './errors.ts'

/** One of the values must hold. */
export interface AwsFilter {
  readonly name: string
  readonly values: readonly string[]
}

/** A filter of the port in EC2's terms. Refuses an empty one, which EC2 would take as "every machine of the account". */
export function awsFilters(filter: InstanceFilter): readonly AwsFilter[] {
  const filters = partsOf(filter).filter(({ values }) => values.length > 0)
  if (filters.length > 0) return filters.map(({ name, values }) => ({ name, values: values.map(literally) }))
  throw new CloudError('invalid', {
    code: 'MissingParameter',
    action: 'DescribeInstances',
    message: 'a listing needs a filter, or it would show foreign machines',
  })
}

function partsOf(filter: InstanceFilter): readonly AwsFilter[] {
  if ('tag_keys' in filter) return [{ name: 'tag-key', values: filter.tag_keys }]
  if ('image_ids' in filter) return [{ name: 'image-id', values: filter.image_ids }]
  const tags = 'tags' in filter ? Object.entries(filter.tags) : []
  const token = filter.client_token === undefined ? [] : [filter.client_token]
  return [
    ...tags.map(([key, value]) => ({ name: `tag:${key}`, values: [value] })),
    { name: 'client-token', values: token },
  ]
}

/** EC2 reads `*` and `?` in filter values as wildcards. */
const literally = (value: string) => value.replaceAll(/[\\*?]/g, '\\$&')
