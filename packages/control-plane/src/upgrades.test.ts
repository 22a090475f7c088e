import { createHash } from 'node:crypto'
import { EventEnvelope } from '@lcm/contract/events'
import { RESOURCE_KINDS } from '@lcm/contract/resource-kinds'
import { ROUTES, type RouteName, type RouteSpec } from '@lcm/contract/routes'
import type { DecisionRecord } from '@lcm/domain/journal-records'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import { sqliteRows } from '@lcm/store/testing/sqlite-rows'
import { indexed } from '@lcm/store/upgrade-one-document'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { manualClock } from '@lcm/testkit/manual-clock'
import { NEW_KINDS, oldStore } from '@lcm/testkit/old-stores/old-store'
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { STREAMS } from './resources/journal/entries.ts'
import { type CollectionName, RESOURCES, STORE_SCHEMA } from './resources.ts'

const NAMES = Object.keys(RESOURCES) as CollectionName[]
const ALL = 10_000

/** The API on the store of 0.1.0, at the time when it was copied. */
function upgradedPlane() {
  const { file, copiedAt, ...old } = oldStore()
  const kinds = sqliteRows(file, 'SELECT kind FROM documents').map(({ kind }) => String(kind))
  const streams = sqliteRows(file, 'SELECT stream FROM journal').map(({ stream }) => String(stream))
  const store = openSqliteStore(file, { schema: STORE_SCHEMA })
  const clock = manualClock(new Date(copiedAt).getTime())
  const { secretKey, operatorToken } = old
  return { ...aControlPlane({ store, clock, secretKey }), clock, kinds, streams, file, operatorToken }
}

const old = upgradedPlane()
/** People are recorded when the API starts. */
beforeAll(() => old.seed([]))

/** Lists everything, gone or not. */
const LISTS: Partial<Record<RouteName, string>> = {
  listWorkers: '?include_terminated=true&limit=1000',
  listSessions: '?include_finished=true&limit=1000',
  listLabs: '?include_deleted=true&limit=1000',
  listAudit: '?scaling=true&limit=1000',
}
/** Where the parts of a path come from. */
const IDS: Readonly<Record<string, { list: RouteName; id: string }>> = {
  '/workers/{id}': { list: 'listWorkers', id: 'id' },
  '/worker-templates/{name}': { list: 'listTemplates', id: 'name' },
  '/lablet-definitions/{id}': { list: 'listDefinitions', id: 'id' },
  '/lablet-sessions/{id}': { list: 'listSessions', id: 'id' },
  '/lab-records/{id}': { list: 'listLabs', id: 'id' },
  '/people/{id}': { list: 'listPeople', id: 'id' },
}
/** Topologies are drawn one at a time, so the clock moves until there is an answer. */
async function get(path: string, as: 'admin' | 'controller') {
  let isAnswered = false
  const answer = old.send('GET', path.slice(1), { as }).finally(() => (isAnswered = true))
  while (!isAnswered) await old.clock.advance(1)
  return answer
}
const specs: readonly [RouteName, RouteSpec][] = Object.entries(ROUTES).map(([name, spec]) => [name as RouteName, spec])
/** 0.1.0 had no saves, notification targets and license pools. */
const isNew = (path: string): boolean =>
  ['/saves/{id}', '/notification-targets/{id}', '/license-pools/{product}'].some(start => path.startsWith(start))
const answered = specs.filter(([name, { method, path }]) => method === 'GET' && name !== 'events' && !isNew(path))

async function pathsOf(name: RouteName, path: string): Promise<string[]> {
  const [resource] = /^\/[^/]+\/\{\w+\}/.exec(path) ?? []
  if (resource === undefined) return [`${path}${LISTS[name] ?? ''}`]
  const source = IDS[resource]
  if (resource === '/quotas/{owner}') return ['/quotas/admin']
  if (source === undefined) throw new Error(`no ids for ${path}`)
  const { json } = await get(`${ROUTES[source.list].path}${LISTS[source.list] ?? ''}`, 'admin')
  return json.items.map((item: Record<string, string>) => path.replace(/\{\w+\}/, item[source.id] ?? ''))
}

/** Changes with the fields of any stored document and with the names of their indexes. */
const FORMAT_SHA256 = 'd5ff9b91efb21c8697786b5fe1fcdf807bf5a34ee3fc57c70ac87094b106d532'

it('has an upgrade for every change of the stored schema', async () => {
  const format: unknown[] = [STORE_SCHEMA.upgrades.length]
  for (const name of NAMES) {
    const { schema, ...kind } = RESOURCES[name]
    const documents = await old.store
      .collection<{ id: string; version: number }>(RESOURCES[name] as never)
      .list({ limit: ALL })
    const facets = documents.flatMap(document =>
      Object.keys(indexed(kind, document).facets).filter(facet => !facet.includes(':')),
    )
    // Descriptions and names of schemas are not stored.
    const shape = z.toJSONSchema<z.ZodType>(schema, { metadata: z.registry(), reused: 'inline' })
    format.push(kind.name, kind.announced, Object.keys(kind.unique ?? {}), [...new Set(facets)].sort(), shape)
  }
  const sha256 = createHash('sha256').update(JSON.stringify(format)).digest('hex')
  const advice = `what is stored has changed: add an entry to UPGRADES, or extend its newest one if that is not released yet`
  expect(sha256, advice).toBe(FORMAT_SHA256)
})

describe('a store of 0.1.0', () => {
  it('has documents of every kind and entries of every stream', () => {
    const kinds = NAMES.map(name => RESOURCES[name].name).filter(name => !NEW_KINDS.has(name))
    expect(new Set(old.kinds)).toEqual(new Set(kinds))
    expect(new Set(old.streams)).toEqual(new Set(Object.values(STREAMS).filter(name => name !== STREAMS.removal)))
  })

  it.each(NAMES)('has the current fields in every %s', async name => {
    const kind = RESOURCES[name]
    const documents = await old.store.collection<{ id: string; version: number }>(kind as never).list({ limit: ALL })
    if (kind.name === 'person') expect(documents.length).toBeGreaterThan(0)
    if (!NEW_KINDS.has(kind.name)) expect(documents).toHaveLength(old.kinds.filter(each => each === kind.name).length)
    for (const document of documents) expect(kind.parse(document)).toEqual(document)
  })

  it.each(answered)('answers %s according to the contract', async (name, { path, access, answer, file }) => {
    const as = typeof access === 'object' && 'roles' in access ? 'admin' : 'controller'
    const paths = await pathsOf(name, path)
    expect(paths.length).toBeGreaterThan(0)
    for (const each of paths) {
      const { status, json } = await get(each, as)
      expect([each, status]).toEqual([each, 200])
      if (file === undefined) expect(answer?.parse(json)).toEqual(json)
    }
  })

  it('has the British spelling in texts only', async () => {
    const found: string[] = []
    const visit = (value: unknown, path: string): void => {
      if (typeof value === 'string' && /^[\w.-]*licen[c]e[\w.-]*$/i.test(value)) found.push(`${path}: ${value}`)
      if (typeof value !== 'object' || value === null) return
      for (const [name, each] of Object.entries(value)) {
        if (/licen[c]e/i.test(name)) found.push(`${path}.${name}`)
        visit(each, `${path}.${name}`)
      }
    }
    for (const [name, { path, access }] of answered) {
      const as = typeof access === 'object' && 'roles' in access ? 'admin' : 'controller'
      for (const each of await pathsOf(name, path)) visit((await get(each, as)).json, each)
    }
    expect(found).toEqual([])
    const facts = sqliteRows(old.file, "SELECT body FROM journal WHERE stream = 'decision'").map(({ body }) =>
      String(body),
    )
    expect(facts.join()).toMatch(/"licen[c]e":/)
  })

  it('shows no reason of a decision again as its outcome', async () => {
    const repeated = sqliteRows(old.file, "SELECT subject, body FROM journal WHERE stream = 'decision'").filter(
      ({ body }) => {
        const { because, outcome } = JSON.parse(String(body))
        return because === outcome
      },
    )
    expect(repeated.length).toBeGreaterThan(0)
    for (const { subject } of repeated) {
      const [kind, id] = String(subject).split(':')
      const resource = kind === 'worker' ? 'workers' : 'lablet-sessions'
      const { json } = await get(`/${resource}/${id}/decisions?limit=1000`, 'admin')
      const shown: DecisionRecord[] = json.items
      expect(shown.filter(({ because, outcome }) => because.message === outcome)).toEqual([])
    }
  })

  it('sends the newest event of every published document', async () => {
    const stop = new AbortController()
    const { body } = await old.send('GET', 'events?after=0', { signal: stop.signal })
    if (body === null || typeof body === 'string') throw new Error(`no stream: ${body}`)
    const sent: string[] = []
    const reading = (async () => {
      for await (const text of body) {
        const event = JSON.parse(text.replace(/^(id: .*\n)?data: /, ''))
        expect(EventEnvelope.parse(event)).toEqual(event)
        sent.push(`${event.type.split('.')[0]} ${event.id}`)
      }
    })()
    await old.clock.advance(0)
    stop.abort()
    await old.clock.advance(0)
    await reading
    for (const name of ['workers', 'sessions', 'labs'] as const) {
      const documents = await old.store
        .collection<{ id: string; version: number }>(RESOURCES[name] as never)
        .list({ limit: ALL })
      const event = RESOURCE_KINDS[name].event.name
      expect(sent.filter(each => each.startsWith(event)).sort()).toEqual(
        documents.map(({ id }) => `${event} ${id}`).sort(),
      )
    }
  })

  it('keeps its tokens and secrets', async () => {
    const headers = { authorization: `Bearer ${old.operatorToken}` }
    expect(await old.send('GET', 'audit', { headers })).toMatchObject({ status: 200 })
    const { items } = (await old.send('GET', 'workers?include_terminated=true&limit=1000')).json
    const secrets = await Promise.all(
      items.map(({ id }: { id: string }) => old.send('GET', `workers/${id}/secrets`, { as: 'controller' })),
    )
    expect(secrets.map(({ json }) => json.cml_password)).toContain('password-of-every-server')
    expect(secrets.map(({ json }) => json.license_token)).toContain('token-of-the-account')
  })

  it('has a person for every token, with the id of its actor', async () => {
    const headers = { authorization: `Bearer ${old.operatorToken}` }
    const { actor } = (await old.send('GET', 'info', { headers })).json
    expect(actor).toEqual({ id: expect.stringMatching(/^token:tk-/), name: 'ci', role: 'operator' })
    const person = { name: 'ci', role: 'operator', source: 'token' }
    expect((await old.send('GET', `people/${actor.id}`)).json).toMatchObject(person)
    const tokens = await old.all('tokens')
    const people = new Map((await old.all('people')).map(each => [each.id, each]))
    for (const { role, person_id } of tokens)
      expect([role, people.get(person_id ?? '')?.role]).toEqual([role, role === 'controller' ? undefined : role])
    await old.seed([])
    expect(await old.all('people')).toHaveLength(people.size)
  })

  it('has the indexes of today', () => {
    const table = (columns: string, name: string) =>
      sqliteRows(old.file, `SELECT ${columns} FROM ${name}`).map(row => Object.values(row).join(' '))
    const facets: string[] = []
    const unique: string[] = []
    for (const kind of STORE_SCHEMA.kinds) {
      for (const { id, body } of sqliteRows(old.file, 'SELECT id, body FROM documents WHERE kind = ?', kind.name)) {
        const found = indexed(kind, JSON.parse(String(body)))
        for (const [name, value] of Object.entries(found.facets)) facets.push(`${kind.name} ${name} ${value} ${id}`)
        for (const [field, value] of found.unique) unique.push(`${kind.name} ${field} ${value} ${id}`)
      }
    }
    expect(table('kind, name, value, id', 'facets').sort()).toEqual(facets.sort())
    expect(table('kind, field, value, id', 'unique_values').sort()).toEqual(unique.sort())
  })

  it('is refused by 0.1.0 afterwards, which supports tables up to version 3', () => {
    const [{ user_version } = {}] = sqliteRows(old.file, 'PRAGMA user_version')
    expect(user_version).toBeGreaterThan(3)
  })
})
