import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { unknownVariables, unreadSettings } from './unknown-variables.ts'

const PAGE = readFileSync(new URL('../../../../../docs/reference/config.md', import.meta.url), 'utf8')

it('names an unknown variable, and the one that was probably meant', () => {
  expect(unknownVariables({ LCM_STROE: 'x', LCM_FLEET: 'prod', HOME: '/root' })).toEqual([
    'LCM_STROE is set, but unknown. Did you mean LCM_STORE?',
  ])
  expect(unknownVariables({ LCM_OIDC_ISSUR: 'x', LCM_SOMETHING_ELSE: '' })).toEqual([
    'LCM_OIDC_ISSUR is set, but unknown. Did you mean LCM_OIDC_ISSUER?',
    'LCM_SOMETHING_ELSE is set, but unknown. See docs/reference/config.md',
  ])
})

it('knows every variable of the reference', () => {
  const documented = [...PAGE.matchAll(/^\| `(LCM_\w+)` \|/gm)].map(([, name = '']) => [name, 'x'] as const)
  expect(documented.length).toBeGreaterThan(20)
  expect(unknownVariables(Object.fromEntries(documented))).toEqual([])
})

it('names the service that reads a setting when a controller has it', () => {
  expect(unreadSettings('lablet-controller', { RECONCILE_INTERVAL: '30', MIN_WORKERS: '' })).toEqual([])
  expect(unreadSettings('lablet-controller', { IDLE_TIMEOUT_MINUTES: '30' })).toEqual([
    expect.stringMatching(/^lablet-controller does not read IDLE_TIMEOUT_MINUTES: control-plane-api does\. Set/),
  ])
})
