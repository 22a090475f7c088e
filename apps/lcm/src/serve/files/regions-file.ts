import { RegionConfig } from '@lcm/domain/template/worker-template'
import { z } from 'zod'
import { StartupError } from '../startup-error.ts'
import { readYamlFile } from './yaml-file.ts'

export type Regions = Readonly<Record<string, RegionConfig>>

/** One region of the file. It may repeat the name of its region, and have a single subnet_id instead of subnets. */
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

/** Reads the regions file (root key `aws_region_configs`). An invalid file is a StartupError that names the field. */
export function readRegionsFile(path: string): Regions {
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

/** All regions, starting with the default region of new workers. */
export function regionsFrom(first: string, regions: Regions): readonly [string, ...string[]] {
  const names = Object.keys(regions)
  if (names.includes(first)) return [first, ...names.filter(name => name !== first)]
  const why = `AWS_REGION=${first} is the default region of workers, but is not in the regions file`
  throw new StartupError(why, { advice: `use one of ${names.join(', ')}`, exitCode: 2 })
}
