import { describe, expect, it } from 'vitest'
import { run } from './program.ts'
import { capturedShell } from './testing/captured-shell.ts'
import { aSession, aTemplate, aWorker } from './testing/resource-builders.ts'

/** Names that were stored before the API refused them, or that CML or an identity provider gave. */
const NAME = 'invoice \u202efdp.exe\u2066 \u009b2J\u0085'
const OBEYED = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u
const WORKER = 'w-0abcdefgh0001'

function aShell() {
  const captured = capturedShell()
  captured.api.actAs({ name: NAME })
  captured.api.putTemplate(aTemplate({ description: NAME }))
  captured.api.put(aWorker({ id: WORKER, name: NAME, desired_by: NAME, desired_reason: NAME, labels: { note: NAME } }))
  const { id, version, created_at, updated_at } = aTemplate()
  const token = {
    id,
    version,
    created_at,
    updated_at,
    role: 'user',
    person_id: null,
    service: null,
    expires_at: null,
  } as const
  captured.api.putToken({ ...token, name: NAME })
  captured.api.sessions.put(aSession({ owner_name: NAME, reservation_id: NAME }))
  const quota = { id: 'oidc:ann', version, created_at, updated_at, given: {}, ledger: {} } as const
  const state = { groups: [], signed_out_at: null, merging_into: null }
  const person = { name: NAME, email: null, role: 'user', source: 'provider', ...state } as const
  captured.api.seed(async () => {
    await captured.api.plane.put('quotas', quota)
    await captured.api.plane.put('people', { id: quota.id, version, created_at, updated_at, ...person })
  })
  return captured
}

async function printed(...args: string[]): Promise<string> {
  const { shell, out, err } = aShell()
  await run(args, shell)
  return out() + err()
}

describe.each(['table', 'json', 'yaml', 'name'])('as %s', format => {
  it.each([['workers'], ['worker', WORKER], ['sessions'], ['templates'], ['tokens'], ['quotas']])(
    'get %s prints nothing that a terminal obeys',
    async (...what) => {
      const text = await printed('get', ...what, '-o', format)
      expect(text).not.toBe('')
      expect(text).not.toMatch(OBEYED)
    },
  )
})

it.each([
  [['describe', 'worker', WORKER]],
  [['why', 'worker', WORKER]],
  [['why', 'worker', WORKER, '-o', 'json']],
  [['cordon', 'worker', WORKER]],
  [['stop', 'worker', WORKER, '--yes']],
  [['start', 'worker', WORKER, '-o', 'yaml']],
  [['approve', 'worker', WORKER]],
  [['repin', 'worker', WORKER, '--fingerprint', 'ab'.repeat(32)]],
  [['set', 'quota', 'oidc:ann', '--live', '3']],
  [['top']],
  [['cost']],
])('lcm %s prints nothing that a terminal obeys', async args => {
  const text = await printed(...args)
  expect(text).not.toBe('')
  expect(text).not.toMatch(OBEYED)
})

it('prints no such name that a person typed, known or not', async () => {
  for (const name of [NAME, `${NAME}!`]) expect(await printed('describe', 'worker', name)).not.toMatch(OBEYED)
})

it.each(['table', 'json', 'yaml'])('audit as %s prints nothing that a terminal obeys', async format => {
  const { shell, out } = aShell()
  await run(['cordon', 'worker', WORKER], shell)
  await run(['audit', '-o', format], shell)
  expect(out()).toContain('cordon')
  expect(out()).not.toMatch(OBEYED)
})

it('prints the name in JSON as escapes of the same text', async () => {
  const text = await printed('get', 'worker', WORKER, '-o', 'json')
  expect(text).toContain('\\u202efdp.exe')
  expect(JSON.parse(text)).toMatchObject({ name: NAME })
})
