import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { ROUTES, type RouteName, type RouteSpec } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import type { Document, Kind } from '@lcm/store/store'
import { METAL } from '@lcm/testkit/a-control-plane'
import { recordingLogger } from '@lcm/testkit/recording-logger'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RESOURCES } from '../resources.ts'
import { aFleet, type Fleet } from '../testing/a-fleet.ts'
import { TOPOLOGY } from '../testing/bookable-fleet.ts'
import { crash } from '../testing/interruptible-store.ts'

const LICENSE = 'zQ1xL-license-token-4f1c9e'
const NEW_LICENSE = 'zQ2xN-other-license-77aa02'
const PASSWORD = 'zQ3xP-cml-password-9b3d20'
const USER_DATA = 'zQ4xU-user-data-script-c0ffee'
const BEARER = 'zQ5xB-bearer-token-51deca'
const WRONG_BEARER = 'zQ6xW-wrong-bearer-8ad0be'
/** A public text: wherever it is found, a secret would be found too. */
const CANARY = 'zQ7xC-canary-of-no-secret-1234'

const TARGET_URL = 'zQ8xT-target-path-7be1aa'
const SIGNING_KEY = 'zQ9xS-signing-key-4fe2ac'

const secrets: string[] = [LICENSE, NEW_LICENSE, PASSWORD, USER_DATA, BEARER, WRONG_BEARER, TARGET_URL, SIGNING_KEY]
const folder = mkdtempSync(join(tmpdir(), 'lcm-planted-'))
const file = join(folder, 'lcm.db')
const log = recordingLogger()
const responses: string[] = []
let fleet: Fleet
let ids: Record<string, string>
let streams: Awaited<ReturnType<Fleet['follow']>>[]
let stop: () => Promise<void>

/** Every kind of document, including future ones. */
const kindNames = Object.values(RESOURCES).map(({ name }) => name)

/** The text in every encoding, at any offset in a longer text. */
function spellings(text: string): string[] {
  const bytes = Buffer.from(text)
  const shifted = [0, 1, 2].map(shift => {
    const encoded = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .replaceAll('=', '')
    return encoded.slice(Math.ceil((shift * 4) / 3), -1)
  })
  const base64 = shifted.flatMap(each => [each, each.replaceAll('+', '-').replaceAll('/', '_')])
  const hex = bytes.toString('hex')
  return [beginningOf(text), encodeURIComponent(text), ...base64, hex, hex.toUpperCase(), [...text].reverse().join('')]
}
/** Parsers quote the first characters of what they can't parse. */
const beginningOf = (text: string) => text.slice(0, text.startsWith('lcm_') ? 12 : 6)
const found = (where: string, texts: readonly string[] = secrets) =>
  texts.filter(text => spellings(text).some(spelling => where.includes(spelling)))

/** Every response is kept, except those that are meant to carry a secret. */
async function ask(method: string, path: string, more: Parameters<Fleet['send']>[2] = {}, isSecret = false) {
  const answer = await fleet.send(method, path, more)
  if (!isSecret) responses.push(JSON.stringify({ ...answer, json: null }))
  return answer
}
const bearer = { authorization: `Bearer ${BEARER}` }

async function plant(): Promise<Record<string, string>> {
  const key = { ...bearer, 'idempotency-key': 'planting' }
  const template = { ...METAL, name: 'planted', description: CANARY, user_data: USER_DATA }
  await ask('POST', 'worker-templates', { headers: key, json: template })
  const { name: _, ...changes } = template
  await ask('PUT', 'worker-templates/planted', { headers: bearer, json: { ...changes, cost_per_hour_usd: 5 } })
  const license = { product: 'CML_Enterprise', token: LICENSE }
  const worker = { template_name: 'planted', name: CANARY, license }
  const { id } = (await ask('POST', 'workers', { headers: key, json: worker })).json
  await ask('PUT', `workers/${id}/license`, { headers: bearer, json: { ...license, token: NEW_LICENSE } })
  await ask('PUT', `workers/${id}/credentials`, { headers: bearer, json: { username: 'u', password: PASSWORD } })
  const pool = { product: 'CML_Personal', seats: 1, token: LICENSE }
  await ask('POST', 'license-pools', { headers: key, json: pool })
  await ask('PUT', 'license-pools/CML_Personal', { headers: bearer, json: { seats: 2, token: NEW_LICENSE } })
  const url = `https://u:${PASSWORD}@hooks.example/${TARGET_URL}`
  const target = { name: 'planted', type: 'webhook', url, signing_key: SIGNING_KEY }
  const notified = (await ask('POST', 'notification-targets', { headers: key, json: target })).json.id
  await ask('PATCH', `notification-targets/${notified}`, { headers: bearer, json: { url, name: 'still-planted' } })
  await ask('POST', `notification-targets/${notified}/test`, { headers: bearer })
  const token = { json: { name: CANARY, role: 'user' }, headers: key }
  const made = await ask('POST', 'tokens', token, true)
  await ask('POST', 'tokens', token, true)
  secrets.push(made.json.secret)
  const definition = { name: 'planted', title: CANARY, topology: TOPOLOGY }
  const defined = (await ask('POST', 'lablet-definitions', { headers: bearer, json: definition })).json
  const booked = (await ask('POST', 'lablet-sessions', { headers: bearer, json: { definition: 'planted' } })).json
  const seen = { lab_id: 'one', title: CANARY, owner: null, state: 'STOPPED', node_count: 1, link_count: 0 }
  const discovery = { worker_id: id, began_at: booked.created_at, is_complete: true, labs: [seen] }
  await fleet.fenced('POST', 'lab-records/discoveries', discovery, { by: 'lablet-controller' })
  const [lab] = (await ask('GET', 'lab-records', { headers: bearer })).json.items
  await ask('GET', 'info', { headers: { authorization: `Bearer ${made.json.secret}` } })
  return {
    id,
    name: 'planted',
    product: 'CML_Personal',
    service: 'worker-controller',
    instance_id: 'one',
    token: made.json.id,
    'people.id': made.json.person_id,
    'notification-targets.id': notified,
    owner: 'planter',
    'lablet-definitions.id': defined.id,
    'lablet-sessions.id': booked.id,
    'lab-records.id': lab.id,
  }
}

/** Requests that fail with a secret in them, in every way a request can fail. */
async function fail(id: string): Promise<void> {
  const license = `workers/${id}/license`
  const bodies: [string, string, object][] = [
    ['PUT', license, { product: LICENSE, token: [LICENSE] }],
    ['PUT', license, { token: LICENSE }],
    ['PUT', license, { product: 'x', token: LICENSE.repeat(200) }],
    ['PUT', license, { product: 'x', token: `${LICENSE}\u0000` }],
    ['PUT', license, { product: 'x', token: LICENSE, more: LICENSE }],
    ['POST', 'license-pools', { product: 'CML_Personal', seats: 1, token: LICENSE }],
    ['POST', 'license-pools', { product: LICENSE, seats: 0, token: [LICENSE] }],
    ['PUT', 'license-pools/CML_Personal', { seats: 1, token: `${LICENSE}\u0000`.repeat(1000) }],
    ['PUT', 'workers/w-none/license', { product: 'x', token: LICENSE }],
    ['PUT', `workers/${id}/credentials`, { password: PASSWORD }],
    ['PUT', `workers/${id}/credentials`, { username: [PASSWORD], password: { PASSWORD } }],
    ['PUT', 'workers/w-none/credentials', { username: 'u', password: PASSWORD }],
    ['POST', 'worker-templates', { ...METAL, name: 'planted', user_data: USER_DATA }],
    ['POST', 'worker-templates', { ...METAL, name: 'No Name', user_data: USER_DATA }],
    ['POST', 'worker-templates', { ...METAL, name: 'x', user_data: USER_DATA.repeat(1_000) }],
    ['PUT', 'worker-templates/none', { user_data: USER_DATA }],
    ['POST', 'workers', { template_name: 'none', license: { product: 'x', token: LICENSE } }],
    ['POST', 'workers', { template_name: 'planted', license: { product: 'x', token: LICENSE, status: LICENSE } }],
    ['POST', 'workers', { template_name: 'planted', license: LICENSE }],
    ['POST', 'notification-targets', { name: 'x', type: 'slack', url: TARGET_URL, signing_key: [SIGNING_KEY] }],
    [
      'POST',
      'notification-targets',
      { name: 'x', type: 'email', url: `https://x/${TARGET_URL}`, signing_key: SIGNING_KEY },
    ],
    ['POST', 'lablet-definitions', { name: 'x', source: `https://u:${PASSWORD}@example.org/x.yaml` }],
  ]
  for (const [method, path, json] of bodies) {
    const { status } = await ask(method, path, { headers: bearer, json })
    expect(status, `${method} ${path}`).toBeGreaterThanOrEqual(400)
  }
  for (const body of [LICENSE, `{"token":"${LICENSE}`, `{"token":${LICENSE}}`, `{"token":"${LICENSE}"} x`])
    expect((await ask('PUT', license, { headers: bearer, body })).json.code).toBe('malformed_json')
  const form = { headers: { ...bearer, 'content-type': 'text/plain' }, body: LICENSE }
  expect((await ask('PUT', license, form)).status).toBe(415)
  const reused = { template_name: 'planted', license: { product: 'x', token: LICENSE } }
  const key = { ...bearer, 'idempotency-key': 'planting' }
  expect((await ask('POST', 'workers', { headers: key, json: reused })).status).toBe(422)
  for (const authorization of [`Bearer ${WRONG_BEARER}`, `Basic ${WRONG_BEARER}`, WRONG_BEARER])
    expect((await ask('GET', 'workers', { headers: { authorization }, remote: '192.0.2.1' })).status).toBe(401)
}

/** Internal failures: of the store and of LCM. */
async function breakDown(id: string): Promise<void> {
  const put = { headers: bearer, json: { product: 'x', token: LICENSE } }
  const broken = () => {
    throw new TypeError('a defect')
  }
  for (const run of [crash, broken]) {
    fleet.store.interrupt({ kind: 'secret', write: 'insert', when: 'before', run })
    expect((await ask('PUT', `workers/${id}/license`, put)).status).toBeGreaterThanOrEqual(500)
    fleet.store.interrupt({ kind: 'worker', write: 'insert', when: 'before', run })
    const json = { template_name: 'planted', license: { product: 'x', token: LICENSE } }
    expect((await ask('POST', 'workers', { headers: bearer, json })).status).toBeGreaterThanOrEqual(500)
  }
}

beforeAll(async () => {
  fleet = aFleet({ store: openSqliteStore(file), log })
  fleet.access.grant(BEARER, { id: 'planter', name: 'planter', role: 'admin', service: null } satisfies Actor)
  stop = fleet.run()
  streams = [await fleet.follow('', BEARER), await fleet.follow('', 'user')]
  ids = await plant()
  await fleet.clock.advance(2_000)
  await fail(ids.id ?? '')
  await breakDown(ids.id ?? '')
  await fleet.moveTo(ids.id ?? '', 'PROVISIONING', 'STARTING', 'RUNNING')
  await fleet.act(ids.id ?? '', 'approve')
  await fleet.clock.advance(5_000)
})

afterAll(async () => {
  for (const stream of streams) await stream.stop()
  await stop()
  await fleet.store.close()
  rmSync(folder, { recursive: true })
})

describe('a secret', () => {
  it('is found in every encoding', () => {
    for (const text of [CANARY, BEARER]) {
      const wrapped = [`"${text}"`, `x${text}x`, `xy${text}`].flatMap(each => {
        const bytes = Buffer.from(each)
        return [each, bytes.toString('base64'), bytes.toString('base64url'), bytes.toString('hex'), encodeURI(each)]
      })
      for (const each of wrapped) expect(found(each, [text]), each).toEqual([text])
    }
    expect(found('..."zQ7xC-cana"...', [CANARY])).toEqual([CANARY])
    expect(found('zQ7x', [CANARY])).toEqual([])
  })

  it('can be read by controllers', async () => {
    const { json } = await fleet.send('GET', `workers/${ids.id}/secrets`, { as: 'controller' })
    expect(json).toMatchObject({ license_token: NEW_LICENSE, cml_username: 'u', cml_password: PASSWORD })
    const userData = await fleet.send('GET', 'worker-templates/planted/user-data', { as: 'controller' })
    expect(userData.json.user_data).toBe(USER_DATA)
  })

  it('is in no response so far', () => {
    const all = responses.join('\n')
    expect(found(all, [CANARY])).toEqual([CANARY])
    expect(found(all)).toEqual([])
  })

  const tellsSecrets: readonly RouteName[] = ['getWorkerSecrets', 'getTemplateUserData']
  const roles = ['admin', 'operator', 'author', 'user', 'worker-controller', 'resource-scheduler', 'lablet-controller']

  it.each(roles)('is in no response that %s can read', async role => {
    const headers = { authorization: `Bearer ${role}` }
    const answers: string[] = []
    for (const [name, spec] of Object.entries<RouteSpec>(ROUTES)) {
      if (spec.method !== 'GET' || spec.stream) continue
      if (tellsSecrets.some(each => each === name)) continue
      const [area = ''] = spec.path.slice(1).split('/')
      const path = spec.path
        .slice(1)
        .replaceAll(/\{(\w+)\}/g, (_, part: string) => ids[`${area}.${part}`] ?? ids[part] ?? '')
      const { status, body } = await fleet.send('GET', path, { headers })
      const isOwned = area.startsWith('lab') || area === 'quotas' || area === 'saves'
      expect(isOwned ? [200, 403, 404] : [200, 403], `${name}: ${status}`).toContain(status)
      answers.push(String(body))
    }
    for (const path of ['/health', '/ready', '/metrics', '/api/v1/openapi.json', '/api/docs', '/login'])
      answers.push(String((await fleet.send('GET', path, { headers })).body))
    const all = answers.join('\n')
    expect(found(all, [CANARY])).toEqual([CANARY])
    expect(found(all)).toEqual([])
  })

  it('is in no event', async () => {
    for (const stream of streams) {
      const events = await stream.seen()
      expect(new Set(events.map(event => event.type))).toContain('decision')
      const all = stream.texts.join('')
      expect(found(all, [CANARY])).toEqual([CANARY])
      expect(found(all)).toEqual([])
    }
  })

  it('is in no change key', async () => {
    const { entries } = await fleet.changeKeys.source('/lcm/').list(new AbortController().signal)
    expect(entries.map(({ key }) => key)).toEqual(
      expect.arrayContaining([`/lcm/workers/${ids.id}`, '/lcm/services/worker-controller']),
    )
    expect(found(JSON.stringify(entries))).toEqual([])
  })

  it('is in no line of the log', () => {
    expect(log.messages('error')).toContain('request failed')
    expect(found(log.lines.map(line => inspect(line, { depth: 20, showHidden: true })).join('\n'))).toEqual([])
  })

  it('is in no stored document, entry or sample', async () => {
    expect(kindNames.length).toBeGreaterThanOrEqual(11)
    const all: string[] = []
    for (const name of kindNames) {
      const kind: Kind<Document> = { name, parse: body => body as Document, announced: false }
      all.push(JSON.stringify(await fleet.store.collection(kind).list({ limit: 1_000 })))
    }
    for (const stream of ['audit', 'transition', 'decision', 'scaling', 'cost'])
      all.push(JSON.stringify(await fleet.journal(stream)))
    all.push(JSON.stringify(await fleet.store.series.recent('', 1_000)))
    const text = all.join('\n')
    for (const part of ['sealed', 'sealed_body', 'hash', CANARY]) expect(text).toContain(part)
    expect(found(text)).toEqual([])
  })

  it('is in no byte of the database files', async () => {
    const backup = join(folder, 'backup.db')
    await fleet.store.backup?.(backup)
    const files = [file, `${file}-wal`, `${file}-shm`, backup].filter(each => existsSync(each))
    expect(files.length).toBeGreaterThanOrEqual(3)
    const all = files.map(each => readFileSync(each).toString('latin1')).join('\n')
    expect(found(all, [CANARY])).toEqual([CANARY])
    expect(found(all)).toEqual([])
  })
})
