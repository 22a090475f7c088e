import { ROUTES, type RouteName, type RouteSpec } from '@lcm/contract/routes'
import { textReason } from '@lcm/domain/reason'
import { NOT_NEEDED } from '@lcm/domain/worker/worker-field-schemas'
import { METAL } from '@lcm/testkit/a-control-plane'
import { aNotification } from '@lcm/testkit/test-data-builders'
import { beforeEach, describe, expect, it } from 'vitest'
import { TOPOLOGY } from '../../testing/bookable-fleet.ts'
import { aSavedCourse, type SavedCourse, workOf } from '../../testing/saved-course.ts'

let fleet: SavedCourse
beforeEach(() => {
  const backup = async () =>
    (async function* () {
      yield Buffer.from('everything')
    })()
  fleet = aSavedCourse({ backup })
})

interface Change {
  /** Prepares a state in which the request succeeds; returns the parts of its path. */
  arrange?(): Promise<Record<string, string>>
  readonly body?: object
  readonly action: string
  /** Subject of the entry, such as `worker:`. */
  readonly about: string
  readonly before?: object
  readonly after?: object
}

const { name: _, ...METAL_BODY } = METAL
const aWorker = async () => ({ id: (await fleet.running({ name: 'mine' })).id })
const aTemplate = async () => {
  await fleet.create()
  return { name: 'metal' }
}
const aService = async () => {
  await fleet.fenced('POST', 'workers/cleanup', {}, { by: 'resource-scheduler' })
  return { service: 'resource-scheduler' }
}
const wanting = (desired_status: string) => ({
  before: { desired_status: 'RUNNING' },
  after: { desired_status },
})

const aPerson = async () => ({
  id: (await fleet.send('POST', 'people', { json: { name: 'Ann', role: 'user' } })).json.id,
})
const aPool = async () => {
  await fleet.send('POST', 'license-pools', { json: { product: 'CML_Enterprise', seats: 4, token: 'secret' } })
  return { product: 'CML_Enterprise' }
}
/** Body of a merge; the id is known when the request is made. */
const MERGE = { into: '' }
const aDefinition = async () => ({ id: (await fleet.define()).id })
const aSession = async () => ({ id: (await fleet.book()).id })
const aLab = async () => {
  const { id } = await fleet.serving()
  await fleet.scan(id, [{ lab_id: 'lab-1' }])
  return { id: (await fleet.send('GET', 'lab-records')).json.items[0].id }
}
const TARGET = { name: 'ops', type: 'slack', url: 'https://hooks.example/secret' }
const aTarget = async () => ({ id: (await fleet.send('POST', 'notification-targets', { json: TARGET })).json.id })
async function aDeadNotification() {
  const notification = aNotification()
  await fleet.put('notifications', notification)
  return { id: notification.id }
}
const { name: __, ...DEFINITION_BODY } = { name: 'bgp', topology: TOPOLOGY, title: 'BGP' }

/** One request for every route by which a person changes something. */
const CHANGES: Partial<Record<RouteName, Change>> = {
  createWorker: {
    arrange: aTemplate,
    body: { template_name: 'metal', name: 'new' },
    action: 'create',
    about: 'worker:',
    before: {},
    after: { name: 'new', template_name: 'metal', aws_region: 'us-east-1' },
  },
  patchWorker: {
    arrange: aWorker,
    body: { name: 'other', protected: false },
    action: 'patch',
    about: 'worker:',
    before: { name: 'mine' },
    after: { name: 'other' },
  },
  deleteWorker: {
    async arrange() {
      const { id } = await fleet.create({ name: 'gone' })
      await fleet.act(id, 'terminate')
      await fleet.moveTo(id, 'TERMINATED')
      return { id }
    },
    action: 'delete',
    about: 'worker:',
    before: { name: 'gone' },
    after: {},
  },
  startWorker: {
    async arrange() {
      const { id } = await fleet.running()
      await fleet.act(id, 'stop')
      return { id }
    },
    action: 'start',
    about: 'worker:',
    before: { desired_status: 'STOPPED', desired_until: null },
    after: { desired_status: 'RUNNING', desired_until: expect.any(String) },
  },
  stopWorker: { arrange: aWorker, action: 'stop', about: 'worker:', ...wanting('STOPPED') },
  terminateWorker: { arrange: aWorker, action: 'terminate', about: 'worker:', ...wanting('TERMINATED') },
  drainWorker: {
    arrange: aWorker,
    action: 'drain',
    about: 'worker:',
    before: { drain: null },
    after: { drain: expect.objectContaining({ by: 'operator' }) },
  },
  cancelDrainWorker: {
    async arrange() {
      const { id } = await fleet.running()
      await fleet.act(id, 'drain')
      return { id }
    },
    action: 'cancel-drain',
    about: 'worker:',
    before: { drain: expect.any(Object) },
    after: { drain: null },
  },
  refreshWorker: { arrange: aWorker, action: 'refresh', about: 'worker:' },
  retryWorker: {
    async arrange() {
      const { id } = await fleet.create()
      await fleet.moveTo(id, 'FAILED')
      return { id }
    },
    action: 'retry',
    about: 'worker:',
    before: {},
    after: {},
  },
  approveWorker: {
    async arrange() {
      const { id } = await fleet.running()
      await fleet.edit(id, () => ({ launch: null, approval: { ...NOT_NEEDED, state: 'required' } }))
      return { id }
    },
    body: { fingerprint: 'ab'.repeat(32) },
    action: 'approve',
    about: 'worker:',
    before: { approval: 'required', fingerprint: null },
    after: { approval: 'approved', fingerprint: 'ab'.repeat(32) },
  },
  repinWorker: {
    async arrange() {
      const { id, version } = await fleet.running()
      await fleet.report(id, version, { cml: { certificate_sha256: 'abc', seen_certificate_sha256: 'ab'.repeat(32) } })
      return { id }
    },
    body: { fingerprint: 'ab'.repeat(32) },
    action: 'repin',
    about: 'worker:',
    before: { certificate_sha256: 'abc' },
    after: { certificate_sha256: 'ab'.repeat(32) },
  },
  putWorkerLicense: {
    arrange: aWorker,
    body: { product: 'CML_Enterprise', token: 'secret' },
    action: 'license-register',
    about: 'worker:',
    before: { product: null, pending_operation: null },
    after: { product: 'CML_Enterprise', pending_operation: 'register' },
  },
  deleteWorkerLicense: {
    arrange: aWorker,
    action: 'license-deregister',
    about: 'worker:',
    before: { pending_operation: null },
    after: { pending_operation: 'deregister' },
  },
  putWorkerCredentials: {
    arrange: aWorker,
    body: { username: 'cml', password: 'secret' },
    action: 'set-credentials',
    about: 'worker:',
    before: {},
    after: { username: 'cml' },
  },
  createTemplate: {
    body: { ...METAL, user_data: 'secret' },
    action: 'create',
    about: 'template:',
    before: {},
    after: expect.objectContaining(METAL),
  },
  putTemplate: {
    arrange: aTemplate,
    body: { ...METAL_BODY, cost_per_hour_usd: 9 },
    action: 'put',
    about: 'template:',
    before: { cost_per_hour_usd: 4 },
    after: { cost_per_hour_usd: 9 },
  },
  deleteTemplate: {
    async arrange() {
      await fleet.send('POST', 'worker-templates', { json: METAL })
      return { name: 'metal' }
    },
    action: 'delete',
    about: 'template:',
    before: { name: 'metal' },
    after: {},
  },
  enableTemplate: {
    async arrange() {
      await fleet.send('POST', 'worker-templates', { json: { ...METAL, enabled: false } })
      return { name: 'metal' }
    },
    action: 'enable',
    about: 'template:',
    before: { enabled: false },
    after: { enabled: true },
  },
  disableTemplate: {
    arrange: aTemplate,
    action: 'disable',
    about: 'template:',
    before: { enabled: true },
    after: { enabled: false },
  },
  triggerService: { arrange: aService, action: 'trigger', about: 'service:resource-scheduler' },
  resignService: { arrange: aService, action: 'resign', about: 'service:resource-scheduler' },
  patchSettings: {
    body: { min_workers: 3 },
    action: 'patch',
    about: 'settings:fleet',
    before: {},
    after: { min_workers: 3 },
  },
  createLicensePool: {
    body: { product: 'CML_Enterprise', seats: 4, token: 'secret' },
    action: 'create',
    about: 'license_pool:',
    before: {},
    after: { product: 'CML_Enterprise', seats: 4 },
  },
  putLicensePool: {
    arrange: aPool,
    body: { seats: 5 },
    action: 'put',
    about: 'license_pool:',
    before: { seats: 4 },
    after: { seats: 5 },
  },
  deleteLicensePool: {
    arrange: aPool,
    action: 'delete',
    about: 'license_pool:',
    before: { product: 'CML_Enterprise', seats: 4 },
    after: {},
  },
  resolveLicenseLeak: {
    async arrange() {
      const leak = { worker_id: 'w-1', udi: null, hostname: null, product: null, reason: textReason('gone') }
      return { id: (await fleet.fenced('POST', 'license-leaks', leak)).json.id }
    },
    action: 'resolve',
    about: 'license_leak:',
  },
  createPerson: {
    body: { name: 'Ann', role: 'user' },
    action: 'create',
    about: 'person:',
    before: {},
    after: { name: 'Ann', email: null, role: 'user', groups: [] },
  },
  patchPerson: {
    arrange: aPerson,
    body: { role: 'author' },
    action: 'patch',
    about: 'person:',
    before: { role: 'user' },
    after: { role: 'author' },
  },
  removePerson: {
    arrange: aPerson,
    action: 'delete',
    about: 'person:',
    before: { name: 'Ann', role: 'user' },
    after: {},
  },
  revokePerson: {
    arrange: aPerson,
    action: 'revoke',
    about: 'person:',
    before: { signed_out_at: null },
    after: { signed_out_at: expect.any(String) },
  },
  invitePerson: { arrange: aPerson, action: 'invite', about: 'person:' },
  mergePerson: {
    async arrange() {
      const { id } = await aPerson()
      MERGE.into = (await aPerson()).id
      return { id }
    },
    body: MERGE,
    action: 'merge',
    about: 'person:',
    before: { merging_into: null },
    after: { merging_into: expect.any(String) },
  },
  createToken: {
    body: { name: 'ci', role: 'operator' },
    action: 'create',
    about: 'token:',
    before: {},
    after: { name: 'ci', person_id: expect.stringMatching(/^token:tk-/), role: 'operator', service: null },
  },
  deleteToken: {
    async arrange() {
      return { id: (await fleet.send('POST', 'tokens', { json: { name: 'ci', role: 'user' } })).json.id }
    },
    action: 'delete',
    about: 'token:',
    before: { name: 'ci' },
    after: {},
  },
  createDefinition: {
    body: { name: 'bgp', topology: TOPOLOGY },
    action: 'create',
    about: 'definition:',
    before: {},
    after: expect.objectContaining({ name: 'bgp', status: 'ACTIVE', topology_sha256: expect.any(String) }),
  },
  putDefinition: {
    async arrange() {
      return { id: (await fleet.define({ topology: undefined, source: 'https://example.org/bgp.yaml' })).id }
    },
    body: DEFINITION_BODY,
    action: 'put',
    about: 'definition:',
    before: expect.objectContaining({ status: 'PENDING_SYNC', title: '' }),
    after: expect.objectContaining({ status: 'ACTIVE', title: 'BGP' }),
  },
  deleteDefinition: {
    async arrange() {
      const { id } = await fleet.define()
      await fleet.send('POST', `lablet-definitions/${id}/deprecate`)
      return { id }
    },
    action: 'delete',
    about: 'definition:',
    before: { name: 'bgp', definition_version: '1.0.0' },
    after: {},
  },
  syncDefinition: {
    async arrange() {
      const { id, sync, source } = await fleet.define({ topology: undefined, source: 'https://example.org/bgp.yaml' })
      const result = { source, requested_at: sync.at, result: { error: 'no answer' } }
      await fleet.asLablets(`lablet-definitions/${id}/sync-result`, result)
      return { id }
    },
    action: 'sync',
    about: 'definition:',
  },
  deprecateDefinition: {
    arrange: aDefinition,
    action: 'deprecate',
    about: 'definition:',
    before: { status: 'ACTIVE' },
    after: { status: 'DEPRECATED' },
  },
  createSession: {
    async arrange() {
      await fleet.define()
      return {}
    },
    body: { definition: 'bgp' },
    action: 'create',
    about: 'session:',
    before: {},
    after: expect.objectContaining({ definition: expect.objectContaining({ name: 'bgp' }) }),
  },
  createSessions: {
    async arrange() {
      await fleet.define()
      return {}
    },
    body: { definition: 'bgp', seats: 1 },
    action: 'create',
    about: 'session:',
    before: {},
    after: expect.objectContaining({ admission: 'admitted' }),
  },
  patchQuota: {
    arrange: async () => ({ owner: 'oidc:jane' }),
    body: { live_sessions: 5 },
    action: 'patch',
    about: 'quota:oidc:jane',
    before: {},
    after: { live_sessions: 5 },
  },
  cancelSession: {
    arrange: aSession,
    action: 'cancel',
    about: 'session:',
    before: { desired_status: 'RUNNING' },
    after: { desired_status: 'TERMINATED' },
  },
  extendSession: {
    async arrange() {
      return { id: (await fleet.book({ duration_minutes: 30 })).id }
    },
    body: { minutes: 10 },
    action: 'extend',
    about: 'session:',
    before: { timeslot: expect.any(Object) },
    after: { timeslot: expect.any(Object) },
  },
  requeueSession: {
    async arrange() {
      return { id: (await fleet.placed((await fleet.serving()).id)).id }
    },
    action: 'requeue',
    about: 'session:',
  },
  saveSession: {
    async arrange() {
      return { id: (await fleet.inSlot()).id }
    },
    action: 'save',
    about: 'session:',
  },
  deleteSave: {
    async arrange() {
      return { id: (await fleet.saved((await fleet.inSlot()).id, workOf('one'))).id }
    },
    action: 'delete',
    about: 'save:',
  },
  createNotificationTarget: {
    body: TARGET,
    action: 'create',
    about: 'notification_target:',
    before: {},
    after: expect.objectContaining({ name: 'ops', type: 'slack' }),
  },
  patchNotificationTarget: {
    arrange: aTarget,
    body: { min_severity: 'critical', url: 'https://other.example/secret' },
    action: 'patch',
    about: 'notification_target:',
    before: { min_severity: 'info', url_host: 'hooks.example' },
    after: { min_severity: 'critical', url_host: 'other.example' },
  },
  deleteNotificationTarget: {
    arrange: aTarget,
    action: 'delete',
    about: 'notification_target:',
    before: { name: 'ops' },
    after: {},
  },
  testNotificationTarget: { arrange: aTarget, action: 'test', about: 'notification_target:' },
  retryNotification: { arrange: aDeadNotification, action: 'retry', about: 'notification:' },
  deleteNotification: { arrange: aDeadNotification, action: 'delete', about: 'notification:' },
  moveSession: {
    async arrange() {
      return { id: (await fleet.placed((await fleet.serving()).id)).id }
    },
    action: 'move',
    about: 'session:',
  },
  retrySession: {
    async arrange() {
      const { id } = await fleet.placed((await fleet.serving()).id, 'INSTANTIATING')
      await fleet.reportSession(id, { last_error: 'lab_start: CML refused' })
      return { id }
    },
    action: 'retry',
    about: 'session:',
  },
  startLab: { arrange: aLab, action: 'start', about: 'lab_record:' },
  stopLab: { arrange: aLab, action: 'stop', about: 'lab_record:' },
  wipeLab: { arrange: aLab, action: 'wipe', about: 'lab_record:' },
  deleteLab: { arrange: aLab, action: 'delete', about: 'lab_record:' },
  rotateSecretKey: {
    action: 'rotate-key',
    about: 'key_ring:keys',
    before: { active_key: expect.any(String) },
    after: { active_key: expect.any(String) },
  },
  createBackup: { action: 'backup', about: 'store:backup' },
  createLoginLink: { action: 'login-link', about: 'login_code:' },
  resetTerm: {
    arrange: aService,
    action: 'reset-term',
    about: 'service:resource-scheduler',
    before: { epoch: 1, instance_id: 'one', generation: 0 },
    after: { epoch: 0, instance_id: '', generation: 1 },
  },
}

/** It only reads. */
const UNAUDITED: readonly RouteName[] = ['previewAdmission', 'previewCapacity', 'previewPlacement']

const specs: readonly [RouteName, RouteSpec][] = Object.entries(ROUTES).map(([name, spec]) => [name as RouteName, spec])
const people = ({ access }: RouteSpec) => (typeof access === 'object' && 'roles' in access ? access.roles : [])

describe('every change by a person', () => {
  it('has a row in this table', () => {
    const changing = specs.filter(([, spec]) => spec.method !== 'GET' && people(spec).length > 0)
    expect([...Object.keys(CHANGES), ...UNAUDITED].sort()).toEqual(changing.map(([name]) => name).sort())
  })

  it.each(specs.filter(([name]) => CHANGES[name] !== undefined))(
    'writes one entry with its actor: %s',
    async (name, spec) => {
      const change = CHANGES[name]
      const as = people(spec).includes('operator') ? 'operator' : 'admin'
      const parts = (await change?.arrange?.()) ?? {}
      const path = spec.path.slice(1).replaceAll(/\{(\w+)\}/g, (_, part: string) => parts[part] ?? '')
      await fleet.clock.advance(1_000)
      const earlier = new Set((await fleet.journal('audit')).map(entry => entry.id))
      const json = change?.body ?? (spec.body === undefined ? undefined : { reason: 'because' })
      const answer = await fleet.send(spec.method, path, json === undefined ? { as } : { as, json })
      expect(answer.status, String(answer.body)).toBe(spec.status)
      const { items } = (await fleet.send('GET', 'audit', { as: 'operator' })).json
      const added = items.filter((entry: { id: string }) => !earlier.has(entry.id))
      expect(added).toHaveLength(1)
      const [entry] = added
      expect(entry).toMatchObject({ actor: { id: as, name: as, role: as }, action: change?.action })
      expect(entry.resource).toMatch(new RegExp(`^${change?.about}`))
      if (change?.before) expect(entry.before).toEqual(change.before)
      if (change?.after) expect(entry.after).toEqual(change.after)
      if (change?.body === undefined && spec.body !== undefined) expect(entry.reason).toBe('because')
      expect(JSON.stringify(entry)).not.toContain('secret')
    },
  )

  it('writes no entry when it is refused', async () => {
    const { id } = await fleet.running({ protected: true })
    const before = await fleet.journal('audit')
    await fleet.act(id, 'terminate')
    await fleet.act('w-none', 'stop')
    await fleet.send('DELETE', `workers/${id}`)
    await fleet.send('POST', 'workers', { json: { template_name: 'none' } })
    await fleet.send('PATCH', 'settings', { json: { min_workers: -1 } })
    await fleet.send('PATCH', `workers/${id}`, { as: 'user', json: { name: 'x' } })
    expect(await fleet.journal('audit')).toEqual(before)
  })

  it('is recorded with the names of tokens and controllers', async () => {
    const { id, secret } = (await fleet.send('POST', 'tokens', { json: { name: 'ci', role: 'operator' } })).json
    const worker = await fleet.create()
    await fleet.send('POST', `workers/${worker.id}/stop`, { headers: { authorization: `Bearer ${secret}` } })
    const [stopped] = await fleet.journal('audit', `worker:${worker.id}`)
    expect(stopped?.body).toMatchObject({ actor: { id: `token:${id}`, name: 'ci', role: 'operator' } })
    await fleet.fenced('POST', 'workers/cleanup', {}, { by: 'resource-scheduler', epoch: 7 })
    const [led] = await fleet.journal('audit', 'service:resource-scheduler')
    expect(led?.body).toEqual({
      actor: { id: 'resource-scheduler', name: 'resource-scheduler', role: 'controller' },
      action: 'lead',
      before: { epoch: 0, instance_id: '' },
      after: { epoch: 7, instance_id: 'one' },
      reason: '',
    })
  })
})
