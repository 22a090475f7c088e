import { apiClient } from '@lcm/client/client'
import { type Worker, withCondition } from '@lcm/domain/worker/worker'
import { expect, it } from 'vitest'
import { outputFor } from './global-options.ts'
import type { Format } from './option-parsers.ts'
import { capturedShell } from './testing/captured-shell.ts'
import { aRunningWorker, aWorker, START_MS } from './testing/resource-builders.ts'
import { settle } from './waitable-command.ts'
import { WORKER_SETTLING } from './worker/worker-wait-goal.ts'

interface Case {
  readonly worker: Worker
  readonly wait?: boolean
  readonly quiet?: boolean
  readonly format?: Format
}

async function settled({ worker, wait = false, quiet = false, format }: Case) {
  const { shell, api, out, err } = capturedShell()
  const globals = { color: false, quiet }
  const client = apiClient(api.dispatch, { token: 'secret' })
  const connect = () => Promise.reject(new Error('it is already connected'))
  const options = { wait, timeout: 1_000, ...(format === undefined ? {} : { output: format }) }
  await settle({ client, item: worker, settling: WORKER_SETTLING, message: 'requested' }, options, {
    shell,
    globals,
    connect,
    output: outputFor(globals, shell),
  })
  return [out(), err()]
}

it('prints the request, and the resulting status after a wait', async () => {
  expect(await settled({ worker: aWorker() })).toEqual(['requested\n', ''])
  expect(await settled({ worker: aRunningWorker(), wait: true })).toEqual([
    'metal-1 is RUNNING after 0s: https://203.0.113.7\n',
    'requested\n',
  ])
})

it('explains why a stop left the worker PENDING', async () => {
  const held = {
    type: 'HeldByIntent',
    status: true,
    reason: { code: 'stopped', message: 'start it to launch it', params: {} },
  }
  const worker = aWorker({ desired_status: 'STOPPED', conditions: withCondition([], held, START_MS) })
  expect(await settled({ worker, wait: true })).toEqual([
    'metal-1 is PENDING after 0s: start it to launch it\n',
    'requested\n',
  ])
})

it('prints the worker alone when a format is given', async () => {
  expect(await settled({ worker: aWorker(), format: 'name' })).toEqual(['metal-1\n', ''])
  expect(await settled({ worker: aRunningWorker(), wait: true, format: 'name' })).toEqual(['metal-1\n', 'requested\n'])
})

it('prints nothing when quiet, except with an output format', async () => {
  expect(await settled({ worker: aRunningWorker(), wait: true, quiet: true })).toEqual(['', ''])
  expect(await settled({ worker: aWorker(), quiet: true, format: 'name' })).toEqual(['metal-1\n', ''])
})
