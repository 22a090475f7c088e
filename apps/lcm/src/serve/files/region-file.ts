import { RegionConfig } from '@lcm/domain/template/worker-template'
import { z } from 'zod'
import { StartupError } from '../startup-error.ts'
import { readYamlFile } from './yaml-file.ts'

export type Regions = Readonly<Record<string, RegionConfig>>

/** An entry as operators write it: it may repeat the name of its region, and name one subnet instead of a list. */
const Entry = z.preprocess(acceptOneSubnet, RegionConfig.extend({ region: z.string().optional() }))

const RegionFile = z.strictObject({
  aws_region_configs: z
    .record(z.string(), Entry)
    .refine(regions => Object.keys(regions).length > 0, 'name at least one region')
    .transform((entries, context): Regions => {
      const regions = Object.entries(entries).map(([name, { region, ...config }]) => {
        const message = `region is ${region}, but its entry is ${name}: use one name, or remove the line "region"`
        if (region !== undefined && region !== name)
          context.issues.push({ code: 'custom', input: region, path: [name, 'region'], message })
        return [name, config] as const
      })
      return Object.fromEntries(regions)
    }),
})

function acceptOneSubnet(value: unknown, context: z.RefinementCtx): unknown {
  if (typeof value !== 'object' || value === null || !('subnet_id' in value)) return value
  const { subnet_id, ...rest } = value
  if ('subnets' in rest) context.addIssue('subnet_id and subnets are both set: keep one of them')
  return { ...rest, subnets: [subnet_id] }
}

/** The operator's regions: root key `aws_region_configs`, by region. A bad file stops the start and says which line of it. */
export function readRegionFile(path: string): Regions {
  try {
    return RegionFile.parse(readYamlFile(path)).aws_region_configs
  } catch (cause) {
    const reason =
      cause instanceof z.ZodError ? z.prettifyError(cause) : cause instanceof Error ? cause.message : String(cause)
    throw new StartupError(`AWS_REGIONS_CONFIG_PATH=${path} is not a usable regions file: ${reason}`, {
      cause,
      exitCode: 2,
    })
  }
}

/** Every region, and first the one that a worker is given which names none. */
export function regionsFrom(first: string, regions: Regions): readonly [string, ...string[]] {
  const names = Object.keys(regions)
  if (names.includes(first)) return [first, ...names.filter(name => name !== first)]
  const why = `AWS_REGION=${first} is not set up, and workers that name no region would be put there`
  throw new StartupError(`${why}; use one of ${names.join(', ')}`, { exitCode: 2 })
}
