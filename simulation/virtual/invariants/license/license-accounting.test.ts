import { openSimModel } from '@lcm/cloud-sim/sim-model'
import { manualClock } from '@lcm/testkit/manual-clock'
import { aWorker } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { overdrawnLicenses, wrongLicenseStatus } from './license-accounting.ts'

const model = openSimModel({ seed: 1, clock: manualClock(), licensesOwned: 1 })
const accountOf = (...machines: readonly string[]) => {
  const seats = machines.map(instance_id => {
    return { instance_id, product_uuid: instance_id, hostname: '', product: '', extra_nodes: 0, from_ms: 0 }
  })
  const smartAccount = () => seats.map(seat => ({ ...seat, left_behind: false }))
  return { machine: () => null, cml: { ...model.cml, smartAccount } }
}

it('licenses held never exceed licenses owned', () => {
  expect(overdrawnLicenses({ cloud: accountOf('i-1') })).toEqual([])
  expect(overdrawnLicenses({ cloud: accountOf('i-1', 'i-2') })).toEqual(['2 licenses are held, and 1 are owned'])
})

it('a serving worker holds the license that it reports', () => {
  const worker = aWorker({ status: 'RUNNING', service_status: 'AVAILABLE', ec2_instance_id: 'i-1' })
  const latest = (status: 'REGISTERED' | 'UNREGISTERED') =>
    new Map([[worker.id, { ...worker, license: { ...worker.license, status } }]])
  expect(wrongLicenseStatus({ cloud: accountOf('i-1'), latest: latest('REGISTERED') })).toEqual([])
  expect(wrongLicenseStatus({ cloud: accountOf(), latest: latest('UNREGISTERED') })).toEqual([])
  expect(wrongLicenseStatus({ cloud: accountOf(), latest: latest('REGISTERED') })).toHaveLength(1)
  expect(wrongLicenseStatus({ cloud: accountOf('i-1'), latest: latest('UNREGISTERED') })).toHaveLength(1)
})
