import { WORKER_STATUSES } from '@lcm/domain/worker/worker'
import { expect, it } from 'vitest'
import { lookOf, type Tone, toneOf } from './status-look.ts'

it('tells every two statuses of workers apart without colours', () => {
  expect(new Set(WORKER_STATUSES.map(status => lookOf(status).shape)).size).toBe(WORKER_STATUSES.length)
})

it('has the colours that operators know', () => {
  const inTone = (tone: Tone) => WORKER_STATUSES.filter(status => toneOf(status) === tone).toSorted()
  expect(inTone('green')).toEqual(['RUNNING'])
  expect(inTone('orange')).toEqual(['PENDING', 'PROVISIONING', 'STARTING'])
  expect(inTone('red')).toEqual(['FAILED', 'TERMINATING'])
})
