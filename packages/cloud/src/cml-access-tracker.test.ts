import type { Worker } from '@lcm/domain/worker/worker'
import { onMachine } from '@lcm/testkit/observation-builders'
import { beforeEach, describe, expect, it } from 'vitest'
import { type CmlAccessChange, type CmlAccessTracker, cmlAccessTracker } from './cml-access-tracker.ts'
import type { CmlLogin } from './cml-login.ts'
import { type CmlLoginResolver, cmlLoginResolver } from './cml-login-resolver.ts'
import { CloudError, type CloudErrorClass } from './errors.ts'

const T0 = Date.parse('2026-01-02T03:04:05.000Z')
const signal = new AbortController().signal
const blank = onMachine()
const worker: Worker = { ...blank, cml: { ...blank.cml, certificate_sha256: 'ab' } }
const changed: Worker = { ...worker, version: worker.version + 1, secret_refs: { cml_login: 'ref-1' } }

const failing = (errorClass: CloudErrorClass, action: string) => async () => {
  throw new CloudError(errorClass, { code: 'HTTP403', action, message: 'no' })
}
const LOGIN_REFUSED = failing('auth', 'POST /auth_extended')
const CALL_REFUSED = failing('auth', 'GET /telemetry')
const SILENT = failing('transient', 'GET /telemetry')
const FINE = async () => 'fine'

let nowMs: number
let changes: string[]
let refusals: CmlAccessTracker
let logins: CmlLoginResolver

const loggedIn = (of: Worker = worker): Promise<CmlLogin> => logins.resolve(of, 'https://here', signal)
const asked = async (login: CmlLogin, call: () => Promise<unknown>) =>
  refusals.watch(login, 'telemetry', call).catch(() => undefined)

beforeEach(() => {
  nowMs = T0
  changes = []
  const note = ({ part, refusal }: CmlAccessChange) => changes.push(`${part} ${refusal ? 'refused' : 'accepted'}`)
  refusals = cmlAccessTracker({ now: () => nowMs }, note)
  const secrets = async () => ({ cml_username: 'own', cml_password: 'secret' })
  logins = refusals.watchLogins(cmlLoginResolver(secrets, { username: 'admin', password: 'of the fleet' }))
})

describe('a rejected part', () => {
  it('is reported once, with its start, however often it is rejected', async () => {
    const login = await loggedIn()
    await asked(login, LOGIN_REFUSED)
    nowMs += 60_000
    await asked(login, LOGIN_REFUSED)
    expect(changes).toEqual(['login refused'])
    expect(refusals.accessTo(worker)).toEqual({ credentials: 'accepted', login: { message: 'no', sinceMs: T0 } })
    expect(refusals.counts().get('login')).toBe(1)
    expect(refusals.problems()).toMatchObject([
      {
        code: 'cml_refuses_on_workers',
        params: { part: 'login', workers: ['metal-1'], count: 1, worker_id: 'w-1', since: '2026-01-02T03:04:05.000Z' },
      },
    ])
  })

  it('differs from silence, which changes nothing', async () => {
    const login = await loggedIn()
    await asked(login, SILENT)
    await asked(login, failing('throttled', 'POST /auth_extended'))
    expect(changes).toEqual([])
    await asked(login, CALL_REFUSED)
    await asked(login, SILENT)
    expect(changes).toEqual(['telemetry refused'])
  })

  it('ends once CML accepts that part, and a rejected call proves that the login works', async () => {
    const login = await loggedIn()
    await asked(login, LOGIN_REFUSED)
    await asked(login, CALL_REFUSED)
    await refusals.watch(login, 'system_stats', FINE)
    expect(changes).toEqual(['login refused', 'login accepted', 'telemetry refused'])
    await asked(login, FINE)
    expect(changes.at(-1)).toBe('telemetry accepted')
    expect(refusals.problems()).toEqual([])
    expect(new Set(refusals.counts().values())).toEqual(new Set([0]))
  })

  it('names few workers and counts the rest', async () => {
    for (const n of [1, 2, 3, 4, 5])
      await asked(await loggedIn({ ...worker, id: `w-${n}`, name: `metal-${n}` }), LOGIN_REFUSED)
    expect(refusals.problems()).toMatchObject([
      { code: 'cml_refuses_on_workers', params: { workers: ['metal-1', 'metal-2', 'metal-3'], count: 5 } },
    ])
    refusals.forget('w-1')
    expect(refusals.counts().get('login')).toBe(4)
    refusals.forget('w-1')
    expect(refusals.counts().get('login')).toBe(4)
    refusals.clear()
    expect(refusals.problems()).toEqual([])
    expect(new Set(refusals.counts().values())).toEqual(new Set([0]))
  })
})

describe('credentials', () => {
  it('that are new are tried at once, and results of the old ones no longer count', async () => {
    const before = await loggedIn()
    await asked(before, LOGIN_REFUSED)
    expect([refusals.isOutdated(worker), refusals.isOutdated(changed)]).toEqual([false, true])
    const after = await loggedIn(changed)
    expect(refusals.isOutdated(changed)).toBe(false)
    await asked(after, FINE)
    await asked(before, LOGIN_REFUSED)
    // A caller that holds the worker from before.
    await asked(await loggedIn(worker), LOGIN_REFUSED)
    expect(changes).toEqual(['login refused', 'login accepted'])
  })

  it('that were never set are reported, but not as a problem of the service', async () => {
    logins = refusals.watchLogins(cmlLoginResolver(async () => ({ cml_username: null, cml_password: null }), null))
    await expect(loggedIn()).rejects.toThrow(CloudError)
    await expect(loggedIn()).rejects.toThrow(CloudError)
    expect([changes, refusals.problems()]).toEqual([['credentials refused'], []])
    logins = refusals.watchLogins(cmlLoginResolver(async () => ({ cml_username: 'a', cml_password: 'b' }), null))
    await loggedIn(changed)
    expect(changes).toEqual(['credentials refused', 'credentials accepted'])
  })

  it('are not missing where the server is not known yet', async () => {
    await expect(loggedIn({ ...worker, cml: blank.cml })).rejects.toThrow(CloudError)
    expect(changes).toEqual([])
  })
})
