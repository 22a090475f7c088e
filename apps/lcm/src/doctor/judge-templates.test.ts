import { apiClient } from '@lcm/client/client'
import { aServingWorker } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { cliApi } from '../cli/testing/in-memory-api.ts'
import { aDefinition, aTemplate, START_MS } from '../cli/testing/resource-builders.ts'
import { judgeTemplates, readTemplates, type TemplateFacts } from './judge-templates.ts'

const brief = (facts: Partial<TemplateFacts>) =>
  judgeTemplates({ templates: [aTemplate()], workers: [], definitions: [], ...facts }, START_MS).map(
    ({ severity, message }) => `${severity}: ${message}`,
  )
const newer = aDefinition({ name: 'pyats', cml_version: { min: '2.10', max: null } })
const metal = aServingWorker({ template_name: aTemplate().name, created_at: aTemplate().updated_at })

it('finds nothing wrong with definitions that fit, and with prices near the list price', () => {
  expect(brief({ definitions: [aDefinition(), newer] })).toEqual([
    'ok: every ACTIVE definition fits a template or a worker',
  ])
})

it('lists definitions that neither a template nor a worker can run', () => {
  expect(brief({ definitions: [aDefinition(), newer], workers: [metal] })).toEqual([
    'warning: definition pyats 1.0.0: no template and no worker can run this lab now: no template fits: ' +
      'needs CML 2.10 or later; the worker has 2.9.0 (metal)',
  ])
})

it('hints at a price far from the list price, but not at a discount', () => {
  const priced = (cost_per_hour_usd: number) => brief({ templates: [aTemplate({ cost_per_hour_usd })] })
  expect(priced(0.4)).toEqual([
    'warning: template metal costs $0.40/h; the list price of m5zn.metal is $3.96/h (us-east-1, on demand, 2026-01-19)',
  ])
  expect(priced(9)).toHaveLength(1)
  expect(priced(9)[0]).toContain('costs $9.00/h')
  expect(priced(2.5)).toEqual(['ok: every ACTIVE definition fits a template or a worker'])
  expect(brief({ templates: [aTemplate({ cost_per_hour_usd: 0.1, enabled: false })] })[0]).toMatch(/^ok/)
  expect(brief({ templates: [aTemplate({ cost_per_hour_usd: 0.1, instance_types: ['q9.metal'] })] })[0]).toMatch(/^ok/)
})

it('reads them from the API', async () => {
  const api = cliApi()
  api.putTemplate(aTemplate({ cost_per_hour_usd: 0.1 }))
  api.put(metal)
  api.definitions.put(newer)
  api.definitions.put(aDefinition({ id: 'ld-old', name: 'old', status: 'DEPRECATED', cml_version: newer.cml_version }))
  const client = apiClient(api.dispatch, { token: 'secret' })
  expect(judgeTemplates(await readTemplates(client, new AbortController().signal), START_MS)).toHaveLength(2)
})
