import { aLabRecord, aServingWorker } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { toMs } from '../instant.ts'
import type { Worker } from '../worker/worker.ts'
import { unconfirmedSince } from './lab-age.ts'

const lab = aLabRecord({ status: 'BOOTED' })
const seen = lab.last_seen_at
const after = (minutes: number) => toMs(seen) + minutes * 60_000
const silent = aServingWorker({ service_status: 'UNAVAILABLE' })

interface Case {
  readonly status?: 'DELETED'
  readonly worker?: Worker | null
  readonly minutes: number
  readonly isUnconfirmed: boolean
}

it.each<[string, Case]>([
  ['a worker that serves confirms it', { minutes: 60, isUnconfirmed: false }],
  ['a worker that was not scanned for long does not', { minutes: 121, isUnconfirmed: true }],
  ['a silent worker does not', { worker: silent, minutes: 1, isUnconfirmed: true }],
  ['a stopped worker does not', { worker: aServingWorker({ status: 'STOPPED' }), minutes: 1, isUnconfirmed: true }],
  ['an unknown worker is not judged', { worker: null, minutes: 60, isUnconfirmed: false }],
  ['a deleted lab needs none', { status: 'DELETED', worker: silent, minutes: 500, isUnconfirmed: false }],
])('the status of a lab: %s', (_, given) => {
  const { minutes, isUnconfirmed, status = lab.status } = given
  const worker = given.worker === undefined ? aServingWorker() : given.worker
  expect(unconfirmedSince({ ...lab, status }, worker, after(minutes))).toBe(isUnconfirmed ? seen : null)
})
