import type { Filter } from '../ec2/filters-and-paging.ts'
import { invalidValue } from '../ec2/refusal.ts'

/** The form body of an EC2 call. Lists are flattened and count from 1, as in `InstanceId.1`. */
export interface Ec2Query {
  readonly action: string
  text(name: string): string | null
  number(name: string): number | null
  flag(name: string): boolean
  list(name: string): readonly string[]
  /** Key-value pairs under a prefix, such as `Tag` or `TagSpecification.1.Tag`. A missing value is null. */
  pairs(prefix: string): readonly { readonly key: string; readonly value: string | null }[]
  filters(): readonly Filter[]
  /** All parameters that identify a launch. */
  canonical(): string
}

/** A retry may differ in these and is still the same request. */
const NOT_CANONICAL: readonly string[] = ['ClientToken', 'Version', 'DryRun']

export function parseEc2Query(body: string): Ec2Query {
  const form = new Map(new URLSearchParams(body))
  const text = (name: string) => form.get(name) ?? null
  const list = (name: string) => [...counted(n => text(`${name}.${n}`))]
  return {
    action: text('Action') ?? '',
    text,
    number: name => numberFrom(name, text(name)),
    flag: name => text(name) === 'true',
    list,
    pairs: prefix => [
      ...counted(n => {
        const key = text(`${prefix}.${n}.Key`)
        return key === null ? null : { key, value: text(`${prefix}.${n}.Value`) }
      }),
    ],
    filters: () => [
      ...counted(n => {
        const name = text(`Filter.${n}.Name`)
        return name === null ? null : { name, values: list(`Filter.${n}.Value`) }
      }),
    ],
    canonical: () => {
      const entries = [...form].filter(([name]) => !NOT_CANONICAL.includes(name))
      return JSON.stringify(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
    },
  }
}

function* counted<Item>(item: (n: number) => Item | null): Generator<Item> {
  for (let n = 1; ; n++) {
    const found = item(n)
    if (found === null) return
    yield found
  }
}

function numberFrom(name: string, text: string | null): number | null {
  if (text === null) return null
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw invalidValue(`Value (${text}) for parameter ${name} is invalid.`)
}
