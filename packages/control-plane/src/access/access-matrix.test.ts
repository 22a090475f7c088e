import { gzipSync } from 'node:zlib'
import { openApi } from '@lcm/contract/openapi/document'
import { type ApiResponse, mayCall, mayModify, mayView } from '@lcm/contract/route-spec'
import { API_PREFIX, ROUTES, type RouteSpec } from '@lcm/contract/routes'
import { type Actor, SERVICES } from '@lcm/domain/actor'
import { textReason } from '@lcm/domain/reason'
import type { Store } from '@lcm/store/store'
import { aControlPlane, storedDefinition } from '@lcm/testkit/a-control-plane'
import {
  aDefinition,
  aLabRecord,
  aNotification,
  anAttempt,
  aSave,
  aServingWorker,
  aSession,
  aTarget,
  aTemplate,
} from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { encrypt, sealing } from '../crypto.ts'
import { RESERVATION } from '../testing/a-fleet.ts'
import { TOPOLOGY } from '../testing/bookable-fleet.ts'

/** The ids of the contract's examples: paths and bodies made of examples name objects that exist. */
const SESSION = 'ls-5k1r2m3n8pq4t'
const LAB = 'lr-5k1r2m3n8pq4t'
const SAVE = 'sv-5k1r2m3n8pq4t'
const WORKER = 'w-5k1r2m3n8pq4t'
const DEFINITION = 'ld-5k1r2m3n8pq4t'
const EPOCH = 7

const person = (id: string, role: Actor['role']): Actor => ({ id, name: id, role, service: null })
const OWNER = person('ann', 'user')
const CONTROLLERS = SERVICES.filter(service => service !== 'control-plane-api')
const CALLERS: readonly (Actor | null)[] = [
  null,
  OWNER,
  person('bob', 'user'),
  person('author', 'author'),
  person('operator', 'operator'),
  person('admin', 'admin'),
  ...CONTROLLERS.map((service): Actor => ({ id: service, name: service, role: 'controller', service })),
]

/** One object of every kind, those with an owner of Ann. A new kind of resource needs a line here. */
async function aPlane() {
  const plane = aControlPlane({ secretKey: KEY, backup: async () => aFile() })
  for (const actor of CALLERS) if (actor !== null) plane.access.grant(actor.id, actor)
  for (const service of CONTROLLERS) await plane.registerTerm(service, EPOCH)
  const at = new Date(plane.clock.now()).toISOString()
  const stamps = { version: 1, created_at: at, updated_at: at }
  const definition = aDefinition({ id: DEFINITION, name: 'bgp-basics', topology: TOPOLOGY })
  const { id, name, definition_version: version } = definition
  const session = aSession({ id: SESSION, owner: OWNER.id, definition: { id, name, version }, worker_id: WORKER })
  const worker = aServingWorker({ id: WORKER, name: 'training-1', launch: anAttempt(), wanted_by: [SESSION] })
  const held = { reservations: { [SESSION]: RESERVATION }, ports: { [LAB]: { r1_serial: 2000 } } }
  await plane.put('templates', aTemplate())
  await plane.put('definitions', storedDefinition(definition))
  await plane.put('workers', { ...worker, ...held })
  const placed = { status: 'SCHEDULED', lab_record_id: LAB, timeslot: slotFrom(at) } as const
  await plane.put('sessions', { ...session, ...stamps, ...placed })
  await plane.put('labs', aLabRecord({ id: LAB, worker_id: WORKER, session_id: SESSION, definition_id: DEFINITION }))
  await plane.put('saves', { ...aSave({ id: SAVE, session_id: SESSION, owner: OWNER.id }), ...(await content(plane)) })
  const leak = { worker_id: WORKER, worker_name: 'training-1', udi: null, hostname: null, product: null }
  const open = { at, reason: textReason('lost'), resolved_at: null, resolved_by: null }
  await plane.put('leaks', { ...stamps, id: 'll-5k1r2m3n8pq4t', ...leak, ...open })
  const free = { seats: 4, taken: {}, secret_refs: {} }
  await plane.put('licensePools', { ...stamps, id: 'lp-5k1r2m3n8pq4t', product: 'CML_Enterprise', ...free })
  await plane.put('plans', { ...stamps, id: 'fleet', at, until: at, usd: 0, fence: {}, ...emptyPlan })
  await plane.put('notificationTargets', aTarget())
  await plane.put('notifications', aNotification())
  await plane.put('quotas', { ...stamps, id: OWNER.id, given: {}, ledger: {} })
  const bearer = { name: 'ci', role: 'user', person_id: null, service: null, expires_at: null, hash: 'none' } as const
  await plane.put('tokens', { ...stamps, id: 'tk-5k1r2m3n8pq4t', ...bearer })
  const profile = { name: 'Jane Doe', email: null, role: 'user', source: 'operator' } as const
  const state = { groups: [], signed_out_at: null, merging_into: null }
  for (const id of ['pe-5k1r2m3n8pq4t', 'pe-6m2t8v4w9xy1z'])
    await plane.put('people', { ...stamps, id, ...profile, ...state })
  return plane
}

const emptyPlan = {
  machines: [],
  unplaced: [{ session_id: SESSION, because: textReason('full') }],
  left_out: { machines: 0, steps: 0, session_ids: 0, unplaced: 0 },
}

const KEY = Buffer.alloc(32, 1)

/** Saved work that can be read. */
async function content({ store }: { store: Store }) {
  const key = Buffer.alloc(32, 2)
  const randomBytes = (size: number) => Buffer.alloc(size, 3)
  await store.blobs.write(SAVE, encrypt(gzipSync(TOPOLOGY), { key, purpose: SAVE, randomBytes }))
  return { sealed_key: sealing(KEY, 'secrets', randomBytes).seal(key.toString('base64url'), SAVE), needed_by: [] }
}

const slotFrom = (start: string) => ({ start, end: new Date(Date.parse(start) + 30 * 60_000).toISOString() })

async function* aFile(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('all of it')
}

/** Objects below these paths belong to an owner; other users don't learn that they exist. */
const OWNED = /^\/(lablet-sessions\/\{id\}|saves\/\{id\}|lab-records\/\{id\}|quotas\/\{owner\})/
/** A person may get limits before the first booking, so no quota is missing. */
const UPSERT: RouteSpec = ROUTES.patchQuota
/** Controllers write only for their own service, which the path names. */
const OF_A_SERVICE = '/services/{service}/'

type Verdict = 'unauthenticated' | 'forbidden' | 'hidden' | 'allowed'

/** The expected answer for an object that exists, by the access of the contract and the rules of ownership alone. */
function expectedFor(actor: Actor | null, spec: RouteSpec): Verdict {
  if (spec.access === 'open') return 'allowed'
  if (actor === null) return 'unauthenticated'
  if (!mayCall(actor, spec.access)) return 'forbidden'
  const isController = actor.role === 'controller'
  if (isController && spec.method !== 'GET' && spec.path.startsWith(OF_A_SERVICE))
    return pathOf(spec).includes(`/${actor.service}/`) ? 'allowed' : 'forbidden'
  if (!OWNED.test(spec.path)) return 'allowed'
  const isOpen = spec.method === 'GET' || isController ? mayView : mayModify
  return isOpen(actor, OWNER.id) ? 'allowed' : 'hidden'
}

function verdictOf({ status }: ApiResponse): string {
  if (status === 401) return 'unauthenticated'
  if (status === 403) return 'forbidden'
  if (status === 404) return 'hidden'
  // States, versions and references conflict once a caller was let in. A body of examples is valid.
  return status < 300 || [409, 412, 422, 501].includes(status) ? 'allowed' : `status ${status}`
}

const routes = Object.entries<RouteSpec>(ROUTES)
const { paths } = openApi('0.0.0')

const pathOf = ({ path, params = {} }: RouteSpec, exists = true): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const example = name === 'owner' ? OWNER.id : (params[name]?.example ?? '')
    return exists ? example : `${example.slice(0, -1)}${example.endsWith('0') ? '1' : '0'}`
  })

/** The example of the contract, which is valid and names existing objects. */
function bodyOf({ method, path }: RouteSpec): string | null {
  const body = paths[path]?.[method.toLowerCase()]?.requestBody?.content['application/json']
  return body === undefined ? null : JSON.stringify(body.example)
}

interface Answer extends ApiResponse {
  readonly text: string
}

async function ask(plane: Awaited<ReturnType<typeof aPlane>>, spec: RouteSpec, actor: Actor | null, exists: boolean) {
  const leave = new AbortController()
  const response = await plane.send(spec.method, API_PREFIX + pathOf(spec, exists), {
    headers: {
      authorization: actor === null ? '' : `Bearer ${actor.id}`,
      ...(spec.ifMatch === undefined ? {} : { 'if-match': '"1"' }),
      ...(spec.fenced === undefined ? {} : { 'lcm-epoch': String(EPOCH) }),
    },
    body: bodyOf(spec),
    signal: leave.signal,
  })
  const parts: string[] = []
  const { body } = response
  if (typeof body === 'string') parts.push(body)
  else
    for await (const part of body ?? []) {
      parts.push(part)
      leave.abort()
    }
  return { ...response, text: parts.join('') } satisfies Answer
}

const hasObject = (spec: RouteSpec): boolean =>
  spec.path.includes('{') && !spec.path.startsWith(OF_A_SERVICE) && spec !== UPSERT
const cells = routes.flatMap(([name, spec]) =>
  CALLERS.flatMap(actor => (hasObject(spec) ? [true, false] : [true]).map(exists => ({ name, spec, actor, exists }))),
)
const titleOf = (actor: Actor | null) => actor?.id ?? 'no token'

/** The answers that mention Ann's session, apart from those of its own paths. */
const mentions = new Set<string>()

describe(`${cells.length} cells of route x caller x object`, () => {
  it.each(routes)('%s', async (name, spec) => {
    let plane = await aPlane()
    const deviations: string[] = []
    const hidden = new Map<string, Answer>()
    for (const { actor, exists } of cells.filter(cell => cell.name === name)) {
      const answer = await ask(plane, spec, actor, exists)
      const expected = expectedFor(actor, spec)
      const due = expected === 'allowed' && !exists ? 'hidden' : expected
      const who = `${titleOf(actor)}, ${exists ? 'existing' : 'missing'}`
      if (verdictOf(answer) !== due) deviations.push(`${who}: ${verdictOf(answer)} instead of ${due}: ${answer.text}`)
      if (spec.method === 'GET' && due === 'allowed' && answer.status !== spec.status)
        deviations.push(`${who}: ${answer.status} instead of ${spec.status}`)
      if (expected === 'hidden') hidden.set(who, answer)
      if (!OWNED.test(spec.path) && answer.text.includes(SESSION)) mentions.add(`${name} to ${titleOf(actor)}`)
      if (spec.method !== 'GET' && answer.status < 300) plane = await aPlane()
    }
    expect(deviations).toEqual([])
    // What a caller may not see is answered like what is missing, but for the id.
    const [existing, missing] = [true, false].map(exists => pathOf(spec, exists).split('/')[2] ?? '')
    for (const [who, { status, headers, text }] of hidden) {
      const other = hidden.get(who.replace('existing', 'missing'))
      expect({ status, headers, text: text.replaceAll(existing ?? '', missing ?? '') }, who).toEqual({
        status: other?.status,
        headers: other?.headers,
        text: other?.text,
      })
    }
  })

  it('mention a session only to its owner and to callers who see all sessions', () => {
    const found = [...mentions]
    expect(found).toEqual(expect.arrayContaining(['listSessions to ann', 'listLabs to ann', 'getWorker to ann']))
    expect(found.filter(each => /to (bob|author|no token)$/.test(each))).toEqual([])
  })
})
