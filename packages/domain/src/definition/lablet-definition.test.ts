import { aDefinition } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import {
  DefinitionSource,
  DefinitionSpec,
  DefinitionVersion,
  LabletDefinition,
  nextPatch,
} from './lablet-definition.ts'

it('is accepted by its own schema', () => {
  expect(LabletDefinition.parse(aDefinition())).toEqual(aDefinition())
})

describe('the input of an author', () => {
  it('needs only a name; the rest follows from the topology', () => {
    expect(DefinitionSpec.parse({ name: 'two-routers' })).toEqual({
      name: 'two-routers',
      title: '',
      description: '',
      source: 'inline',
      needs: null,
      cml_version: { min: null, max: null },
      license_affinity: [],
      port_template: null,
      max_duration_minutes: 60,
      boot_lead_minutes: null,
      lab_reuse: false,
      saves_enabled: true,
    })
  })

  const port = { name: 'a', node: 'R1', protocol: 'vnc' }
  it.each<[string, object]>([
    ['a name with a space', { name: 'two routers' }],
    ['an unknown field', { name: 'x', nodes: 3 }],
    ['an invalid version', { name: 'x', cml_version: { min: 'latest', max: null } }],
    ['a duration of zero', { name: 'x', max_duration_minutes: 0 }],
    ['two ports of one name', { name: 'x', port_template: [port, port] }],
    ['a title that CML refuses', { name: 'x', title: 'x'.repeat(65) }],
  ])('may not have %s', (_, spec) => {
    expect(DefinitionSpec.safeParse(spec).success).toBe(false)
  })

  it.each([
    ['inline', true],
    ['file:labs/one.yaml', true],
    ['https://example.org/lab.zip', true],
    ['s3://bucket/lab.zip', true],
    ['http://example.org/lab.zip', false],
    ['/etc/passwd', false],
    ['javascript:alert(1)', false],
  ])('with the source %s is accepted: %s', (source, isTaken) => {
    expect(DefinitionSource.safeParse(source).success).toBe(isTaken)
  })
})

describe('versions', () => {
  it.each([
    ['1.0.0', '1.0.1'],
    ['1.2.9', '1.2.10'],
    ['0.0.99999', '0.0.100000'],
  ])('after %s comes %s', (version, next) => {
    expect(nextPatch(version)).toBe(next)
    expect(DefinitionVersion.safeParse(next).success).toBe(true)
  })

  it.each(['1.0', '1.0.0.0', 'v1.0.0', '01.0.0', '1.0.00', '1.0.x', ''])('%s is invalid', version => {
    expect(DefinitionVersion.safeParse(version).success).toBe(false)
  })
})
