import { onMachine } from '@lcm/testkit/observation-builders'
import { anAttempt, aWorker } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { hasLogin, isTrusted, lacksLogin, mayBeLicensed } from './instance-trust.ts'
import type { Worker } from './worker.ts'

const own = { secret_refs: { cml_login: 'ref' } }

it.each<[string, Worker, { trusted: boolean; licensed: boolean; login: boolean; lacks: boolean }]>([
  ['LCM launched', onMachine(), { trusted: true, licensed: true, login: true, lacks: false }],
  ['is still to be launched', aWorker(), { trusted: false, licensed: true, login: false, lacks: false }],
  [
    'LCM imported',
    onMachine({ origin: 'DISCOVERY', launch: null }),
    { trusted: false, licensed: false, login: false, lacks: true },
  ],
  [
    'LCM imported and an operator set credentials for',
    onMachine({ origin: 'DISCOVERY', launch: null, ...own }),
    { trusted: false, licensed: false, login: true, lacks: false },
  ],
  [
    'only its tags assign to the worker',
    onMachine({ launch: anAttempt({ state: 'adopted' }) }),
    { trusted: false, licensed: false, login: false, lacks: true },
  ],
])('trust in a machine that %s', (_, worker, { trusted, licensed, login, lacks }) => {
  expect(isTrusted(worker)).toBe(trusted)
  expect(mayBeLicensed(worker)).toBe(licensed)
  expect(hasLogin(worker)).toBe(login)
  expect(lacksLogin(worker)).toBe(lacks)
})
