import { aDefinition, aTemplate } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { licenseWarnings } from './license-warnings.ts'

const metal = (more: object = {}) =>
  aTemplate({
    name: 'metal',
    license_product: 'CML_Enterprise',
    capacity: { ...aTemplate().capacity, max_nodes: 200 },
    ...more,
  })
const lab = (node_count: number, more: object = {}) =>
  aDefinition({ id: 'ld-1', name: 'bgp', needs: { ...aDefinition().needs, node_count }, ...more })
const warnings = (templates = [metal()], definitions = [lab(1)]) => licenseWarnings({ templates, definitions })

describe('a template', () => {
  it('whose machines are too large for its license has a warning', () => {
    expect(warnings()).toMatchObject([
      {
        id: 'license:template:metal',
        kind: 'license',
        is_critical: false,
        reason: { code: 'template_beyond_license', params: { cause: { code: 'license_smaller_than_machine' } } },
        fix: { code: 'fix_template_license' },
      },
    ])
  })

  it('has none while it is disabled, with another product, or with small machines', () => {
    const small = { instance_types: ['m8i.4xlarge'], cost_per_hour_usd: 0.9 }
    for (const more of [{ enabled: false }, { license_product: 'CML_Site' }, { license_product: null }, small])
      expect(warnings([metal(more)])).toEqual([])
  })
})

describe('a definition', () => {
  it('that no license includes enough nodes for has a warning', () => {
    const templates = [metal({ license_product: 'CML_Personal40' }), metal({ name: 'other' })]
    const found = warnings(templates, [lab(41)]).filter(({ id }) => id.startsWith('license:definition'))
    expect(found).toMatchObject([
      {
        id: 'license:definition:ld-1',
        reason: { params: { definition: 'bgp', needed: 41, product: 'CML_Personal40', nodes: 40 } },
        fix: { code: 'fix_definition_license' },
      },
    ])
    expect(warnings(templates, [lab(40)])).toHaveLength(2)
  })

  it('has none where another template holds it, where no machine would, or once it is deprecated', () => {
    const site = metal({ name: 'site', license_product: 'CML_Site' })
    const ids = (definition: ReturnType<typeof lab>, templates = [metal()]) =>
      warnings(templates, [definition]).map(({ id }) => id)
    expect(ids(lab(41), [metal(), site])).toEqual(['license:template:metal'])
    expect(ids(lab(201))).toEqual(['license:template:metal'])
    expect(ids(lab(41, { status: 'DEPRECATED' }))).toEqual(['license:template:metal'])
  })
})
