import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CHANGE_KEY_ROOT } from '@lcm/contract/change-keys'
import { ROUTES, type RouteSpec } from '@lcm/contract/routes'
import { ROLES } from '@lcm/domain/actor'
import { openSqliteStore } from '@lcm/store/sqlite-store'
import { recordingLogger } from '@lcm/testkit/recording-logger'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { aFleet, type Fleet } from './testing/a-fleet.ts'
import { METAL } from './testing/a-plane.ts'

/** Texts that occur nowhere by chance. */
const PLANTED = {
  license: 'planted-licence-token-7f3a',
  another: 'planted-second-licence-91cc',
  password: 'planted-cml-password-e0d2',
  userData: '#!/bin/sh planted-user-data-5b18',
}

/** As it is, and as careless code would hide it. */
const guises = (text: string) => [
  // Also a part of it: parsers like to quote what they did not understand.
  text.replace(/.*(planted-).*|^(lcm_.{8}).*$/, '$1$2'),
  encodeURIComponent(text),
  Buffer.from(text).toString('hex'),
  // The ends of base64 depend on what stands before and after, so only its middle can be looked for.
  ...[0, 1, 2].map(shift =>
    Buffer.from(`${'x'.repeat(shift)}${text}`)
      .toString('base64')
      .slice(4, -4),
  ),
  [...text].reverse().join(''),
]

let folder: string
let log: ReturnType<typeof recordingLogger>
let fleet: Fleet
let workerId: string
let emitted: { readonly where: string; readonly text: string }[]

const emit = (where: string, text: unknown) =>
  emitted.push({ where, text: typeof text === 'string' ? text : (JSON.stringify(text) ?? '') })

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lcm-planted-'))
  log = recordingLogger()
  emitted = []
  fleet = aFleet({ store: openSqliteStore(join(folder, 'lcm.sqlite')), log })
})
afterEach(async () => {
  await fleet.store.close()
  rmSync(folder, { recursive: true })
})

/** Every way in which a secret can be given, with keys that make the API remember its answers. */
async function plant(): Promise<void> {
  const once = (key: string) => ({ headers: { 'idempotency-key': key } })
  emit(
    'template',
    await fleet.send('POST', 'worker-templates', { json: { ...METAL, user_data: PLANTED.userData }, ...once('t') }),
  )
  const { name: _, ...put } = METAL
  emit(
    'put template',
    await fleet.send('PUT', 'worker-templates/metal', { json: { ...put, user_data: PLANTED.userData } }),
  )
  const license = { product: 'CML_Enterprise', token: PLANTED.license }
  const made = await fleet.send('POST', 'workers', { json: { template_name: 'metal', license }, ...once('w') })
  emit('worker', made)
  workerId = made.json.id
  emit(
    'license',
    await fleet.send('PUT', `workers/${workerId}/license`, { json: { product: 'CML', token: PLANTED.another } }),
  )
  const login = { username: 'admin', password: PLANTED.password }
  emit('credentials', await fleet.send('PUT', `workers/${workerId}/credentials`, { json: login }))
}

/** Requests that are refused while they hold a secret: the refusal must not repeat it. */
async function provoke(): Promise<void> {
  const refused = [
    ['PUT', `workers/${workerId}/license`, { product: 7, token: PLANTED.license }],
    ['PUT', `workers/${workerId}/license`, { product: 'x', token: PLANTED.license, extra: PLANTED.password }],
    ['PUT', `workers/${workerId}/license`, { product: 'x', token: `${PLANTED.license}\u0000` }],
    ['PUT', 'workers/w-none/license', { product: 'x', token: PLANTED.license }],
    ['PUT', `workers/${workerId}/credentials`, { username: 'x', password: [PLANTED.password] }],
    ['POST', 'worker-templates', { ...METAL, user_data: PLANTED.userData.repeat(2000) }],
    ['POST', 'worker-templates', { ...METAL, user_data: PLANTED.userData }],
    ['POST', 'workers', { template_name: 'metal', license: { product: '', token: PLANTED.license } }],
  ] as const
  for (const [method, path, json] of refused) {
    const answer = await fleet.send(method, path, { json })
    expect(answer.status, `${method} ${path}`).toBeGreaterThanOrEqual(400)
    emit(`refusal of ${method} ${path}`, answer)
  }
  for (const body of [`{"token": "${PLANTED.license}", `, PLANTED.license, `{"token": ${PLANTED.license}}`])
    emit('broken JSON', await fleet.send('PUT', `workers/${workerId}/license`, { body }))
}

const SECRET_ROUTES = new Set(['getWorkerSecrets', 'getTemplateUserData'])

/** Everything that anybody can read, and what is written beside it. */
async function collect(): Promise<void> {
  for (const [name, route] of Object.entries<RouteSpec>(ROUTES)) {
    if (route.method !== 'GET' || route.stream) continue
    const path = route.path.slice(1).replace('{id}', workerId).replace('{name}', 'metal')
    for (const role of ROLES) {
      if (SECRET_ROUTES.has(name) && role === 'controller') continue
      emit(`${name} as ${role}`, await fleet.send('GET', path, { as: role }))
    }
  }
  const { entries } = await fleet.changeKeys.source(CHANGE_KEY_ROOT).list(new AbortController().signal)
  emit('change keys', entries)
  emit('log', log.lines)
  const streams = ['audit', 'transition', 'decision', 'scaling', 'cost']
  emit('journal', await fleet.store.journal.query({ streams, limit: 1000 }))
}

function findings(): string[] {
  const texts = Object.values(PLANTED).flatMap(guises)
  return emitted.filter(({ text }) => texts.some(each => text.includes(each))).map(({ where }) => where)
}

describe('a planted secret', () => {
  it('appears in no answer, event, change key, log line or journal entry', async () => {
    const stop = fleet.run()
    const stream = await fleet.follow('after=0', 'admin')
    await plant()
    await provoke()
    await fleet.report(workerId, (await fleet.get(workerId)).version, { service_status: 'STARTING' })
    await fleet.clock.advance(3_000)
    await collect()
    emit('events', (await stream.seen()).length > 3 ? stream.texts : 'too few events')
    await stream.stop()
    await stop()
    expect(emitted.find(({ where }) => where === 'events')?.text).toContain('worker.updated')
    expect(findings()).toEqual([])
  })

  it('lies nowhere in the files of the store', async () => {
    await plant()
    await provoke()
    for (const file of readdirSync(folder)) emit(file, readFileSync(join(folder, file)).toString('latin1'))
    expect(emitted.filter(({ where }) => where.startsWith('lcm.sqlite')).length).toBeGreaterThan(0)
    expect(findings()).toEqual([])
  })

  it('is handed to the controllers that need it, as it was given', async () => {
    await plant()
    const secrets = await fleet.send('GET', `workers/${workerId}/secrets`, { as: 'controller' })
    expect(secrets.json).toEqual({
      license_token: PLANTED.another,
      cml_username: 'admin',
      cml_password: PLANTED.password,
    })
    const userData = await fleet.send('GET', 'worker-templates/metal/user-data', { as: 'controller' })
    expect(userData.json).toEqual({ user_data: PLANTED.userData })
  })

  it('can be found by this test where it is', async () => {
    emit('plain', `x${PLANTED.license}x`)
    emit('base64', Buffer.from(`some ${PLANTED.password} text`).toString('base64'))
    emit('hex', Buffer.from(PLANTED.userData).toString('hex'))
    expect(findings()).toEqual(['plain', 'base64', 'hex'])
  })
})

it('a token that the API made is in no answer but the one that made it, and not in the store', async () => {
  const headers = { 'idempotency-key': 'token' }
  const made = await fleet.send('POST', 'tokens', { json: { name: 'ci', role: 'operator' }, headers })
  const again = await fleet.send('POST', 'tokens', { json: { name: 'ci', role: 'operator' }, headers })
  expect(again.json.secret).toBe(made.json.secret)
  for (const file of readdirSync(folder)) emit(file, readFileSync(join(folder, file)).toString('latin1'))
  for (const path of ['tokens', 'audit']) emit(path, await fleet.send('GET', path))
  emit('log', log.lines)
  expect(emitted.filter(({ text }) => guises(made.json.secret).some(each => text.includes(each)))).toEqual([])
})
