import { expect, it } from 'vitest'
import { WORKER_STATUSES } from '../worker/worker.ts'
import { type Tone, toneOf } from './status-tone.ts'

it('uses the colors that operators know', () => {
  const inTone = (tone: Tone) => WORKER_STATUSES.filter(status => toneOf(status) === tone).toSorted()
  expect(inTone('green')).toEqual(['RUNNING'])
  expect(inTone('orange')).toEqual(['PENDING', 'PROVISIONING', 'STARTING'])
  expect(inTone('red')).toEqual(['FAILED', 'TERMINATING'])
})
