import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'
import { changeKeysConformance, electionConformance } from '../conformance.ts'
import { localCoordination } from './coordination.ts'

const open = () => {
  const clock = manualClock()
  const coordination = localCoordination({ clock, firstEpoch: () => 1 })
  return { clock, ...coordination, advance: clock.advance, close: async () => undefined }
}

electionConformance('the local adapter', async () => {
  const { election, ...bench } = open()
  return { ...bench, leaseTtlMs: 15_000, candidate: instanceId => election('worker-controller', instanceId) }
})

changeKeysConformance('the local adapter', async () => {
  const { changeKeys, faults, ...bench } = open()
  return { ...bench, connect: () => changeKeys, compact: async () => faults.compact() }
})

it('advances its revision with elections too, as etcd does', async () => {
  const { election, changeKeys } = open()
  const revision = async () => (await changeKeys.source('/').list(new AbortController().signal)).revision
  const before = await revision()
  const a = election('worker-controller', 'a')
  await a.campaign(new AbortController().signal)
  await a.resign()
  expect((await revision()) - before).toBe(2)
})
