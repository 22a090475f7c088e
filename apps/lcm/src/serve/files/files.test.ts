import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLogger } from '@lcm/runtime'
import { expect, it } from 'vitest'
import packageJson from '../../../package.json' with { type: 'json' }
import { VERSION } from '../version.ts'
import { assetFolder } from './asset-folder.ts'
import { readRegionsFile, regionsFrom } from './regions-file.ts'
import { readTemplateFiles } from './template-files.ts'

const scratch = (name: string, text: string) => {
  const folder = mkdtempSync(join(tmpdir(), 'lcm-files-'))
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

it('reads a regions file, also one that names a single subnet', () => {
  const file = scratch(
    'regions.yaml',
    'aws_region_configs:\n  us-east-1: { subnets: [subnet-a, subnet-b], key_name: k }\n  eu-west-1: { subnet_id: subnet-c }\n',
  )
  expect(readRegionsFile(file)).toEqual({
    'us-east-1': { security_group_ids: [], subnets: ['subnet-a', 'subnet-b'], key_name: 'k', default_tags: {} },
    'eu-west-1': { security_group_ids: [], subnets: ['subnet-c'], key_name: null, default_tags: {} },
  })
})

const tags = (count: number) => Array.from({ length: count }, (_, n) => `tag-${n}: a`).join(', ')

it('accepts as many tags as EC2 allows next to those of LCM and of a worker', () => {
  const file = scratch(
    'regions.yaml',
    `aws_region_configs: { us-east-1: { subnets: [a], default_tags: { ${tags(9)} } } }`,
  )
  expect(Object.keys(readRegionsFile(file)['us-east-1']?.default_tags ?? {})).toHaveLength(9)
})

it.each([
  ['', /aws_region_configs|expected/i],
  ['aws_region_configs: {}', /at least one region/],
  ['aws_region_configs: { us-east-1: { subnets: [] } }', /subnets/],
  ['aws_region_configs: { us-east-1: { subnets: [a], color: red } }', /color/],
  ['a: [unclosed', /line|flow/i],
  [`aws_region_configs: { us-east-1: { subnets: [a], default_tags: { ${tags(10)} } } }`, /at most 9.*remove/],
  [`aws_region_configs: { us-east-1: { subnets: [a], default_tags: { a: ${'x'.repeat(257)} } } }`, /256.*shorten/],
  [`aws_region_configs: { us-east-1: { subnets: [a], default_tags: { ${'x'.repeat(129)}: a } } }`, /128.*shorten/],
])('reports what is wrong with the regions file %j', (text, reason) => {
  const file = scratch('regions.yaml', text)
  expect(() => readRegionsFile(file)).toThrow(reason)
  expect(() => readRegionsFile(file)).toThrow(/AWS_REGIONS_CONFIG_PATH=/)
})

it('lists the default region first, and refuses a default region that is not configured', () => {
  const region = { security_group_ids: [], subnets: ['a'], key_name: null, default_tags: {} }
  const regions = { 'us-east-1': region, 'eu-west-1': region, 'us-west-2': region }
  expect(regionsFrom('eu-west-1', regions)).toEqual(['eu-west-1', 'us-east-1', 'us-west-2'])
  expect(() => regionsFrom('eu-west-9', regions)).toThrow(
    expect.objectContaining({
      message: expect.stringContaining('AWS_REGION=eu-west-9 '),
      advice: 'use one of us-east-1, eu-west-1, us-west-2',
    }),
  )
})

it('reports a missing regions file', () => {
  expect(() => readRegionsFile('/nowhere/regions.yaml')).toThrow(/no such file/)
})

it('ships templates that are valid', () => {
  const templates = readTemplateFiles(assetFolder('deploy', 'templates'), silentLogger)
  expect(templates.map(template => template.name)).toEqual(['metal', 'nested-large', 'nested'])
})

it('skips an invalid template file with a warning', () => {
  const folder = join(scratch('bad.yaml', 'name: [no'), '..')
  writeFileSync(join(folder, 'worse.yaml'), 'name: only-a-name')
  const warned: object[] = []
  expect(readTemplateFiles(folder, { ...silentLogger, warn: fields => void warned.push(fields) })).toEqual([])
  expect(warned).toMatchObject([{ file: 'bad.yaml' }, { file: 'worse.yaml' }])
})

it('finds no templates in a missing folder', () => {
  expect(assetFolder('deploy', 'no-such-folder')).toBeNull()
})

it('has one version', () => {
  expect(VERSION).toBe(packageJson.version)
})
