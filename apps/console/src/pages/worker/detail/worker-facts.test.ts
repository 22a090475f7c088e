import { expect, it } from 'vitest'
import { healthLines } from './worker-facts.tsx'

it('shows health checks of CML, failed ones first', () => {
  const lines = healthLines({ is_licensed: true, kvm_vmx_enabled: false, state: 'READY' })
  expect(lines).toEqual([
    { name: 'KVM enabled', isHealthy: false, text: 'no' },
    { name: 'licensed', isHealthy: true, text: 'yes' },
    { name: 'state', isHealthy: null, text: 'READY' },
  ])
})
