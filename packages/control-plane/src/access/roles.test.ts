import { ROUTES, type RouteName, type RouteSpec } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { beforeAll, describe, expect, it } from 'vitest'

/**
 * Access table, repeated on purpose: a mistake in the contract's own table must not pass unnoticed. Letters: a(dmin)
 * o(perator) (author) t u(ser) w(orker-controller) s(cheduler, resource-) l(ablet-controller).
 */
const EXPECTED: Readonly<Record<RouteName, string>> = {
  listWorkers: 'aotuwsl',
  createWorker: 'ao',
  getWorker: 'aotuwsl',
  patchWorker: 'ao',
  deleteWorker: 'ao',
  startWorker: 'ao',
  stopWorker: 'ao',
  terminateWorker: 'ao',
  drainWorker: 'ao',
  cancelDrainWorker: 'ao',
  refreshWorker: 'ao',
  retryWorker: 'ao',
  approveWorker: 'ao',
  repinWorker: 'ao',
  putWorkerLicense: 'ao',
  deleteWorkerLicense: 'ao',
  putWorkerCredentials: 'ao',
  getWorkerHistory: 'aotuwsl',
  getWorkerDecisions: 'aotuwsl',
  getWorkerMetrics: 'aotuwsl',
  getWorkerActivity: 'aotuwsl',
  listNotificationTargets: 'ao',
  createNotificationTarget: 'ao',
  getNotificationTarget: 'ao',
  patchNotificationTarget: 'ao',
  deleteNotificationTarget: 'ao',
  testNotificationTarget: 'ao',
  listNotifications: 'ao',
  retryNotification: 'ao',
  deleteNotification: 'ao',
  listTemplates: 'aotuwsl',
  createTemplate: 'ao',
  getTemplate: 'aotuwsl',
  putTemplate: 'ao',
  deleteTemplate: 'ao',
  enableTemplate: 'ao',
  disableTemplate: 'ao',
  getFleetSummary: 'aotuwsl',
  getFleetWarnings: 'ao',
  previewCapacity: 'ao',
  getFleetCost: 'aotuwsl',
  getCalendar: 'ao',
  getFleetUsage: 'ao',
  getPlan: 'aos',
  getFleetPlan: 'aotuwsl',
  listServices: 'aotuwsl',
  triggerService: 'ao',
  resignService: 'ao',
  getSettings: 'aotuwsl',
  patchSettings: 'a',
  listLicensePools: 'aos',
  createLicensePool: 'ao',
  getLicensePool: 'ao',
  putLicensePool: 'ao',
  deleteLicensePool: 'ao',
  listLicenseLeaks: 'aotuwsl',
  resolveLicenseLeak: 'ao',
  listDefinitions: 'aotuwsl',
  createDefinition: 'at',
  getDefinition: 'aotuwsl',
  putDefinition: 'at',
  deleteDefinition: 'at',
  syncDefinition: 'at',
  deprecateDefinition: 'at',
  previewAdmission: 'aotuwsl',
  previewPlacement: 'aotuwsl',
  listSessions: 'aotuwsl',
  listMySessions: 'aotuwsl',
  createSession: 'aotu',
  createSessions: 'aotu',
  getSession: 'aotuwsl',
  cancelSession: 'aotu',
  extendSession: 'aotu',
  requeueSession: 'aotu',
  moveSession: 'aotu',
  retrySession: 'aotu',
  saveSession: 'aotu',
  listSaves: 'aotuwsl',
  getSave: 'aotuwsl',
  getSaveTopology: 'aotul',
  deleteSave: 'aotu',
  getSessionDecisions: 'aotuwsl',
  listQuotas: 'aotu',
  listTimings: 'aotuwsl',
  getQuota: 'aotu',
  patchQuota: 'ao',
  listLabs: 'aotuwsl',
  getLab: 'aotuwsl',
  getLabTopology: 'aotuwsl',
  startLab: 'ao',
  stopLab: 'ao',
  wipeLab: 'ao',
  deleteLab: 'ao',
  listPeople: 'ao',
  createPerson: 'ao',
  getPerson: 'ao',
  patchPerson: 'ao',
  removePerson: 'ao',
  revokePerson: 'ao',
  invitePerson: 'ao',
  mergePerson: 'ao',
  listTokens: 'a',
  createToken: 'a',
  deleteToken: 'a',
  listAudit: 'ao',
  events: 'aotuwsl',
  info: 'aotuwsl',
  createLoginLink: 'aotu',
  rotateSecretKey: 'a',
  createBackup: 'a',
  reportWorkerStatus: 'w',
  openLaunchAttempt: 'w',
  reportWorkerMetrics: 'w',
  checkWorkerIdle: 'w',
  stopWorkerLabs: 'w',
  importWorker: 'w',
  putPlan: 's',
  scaleUp: 's',
  cleanUpWorkers: 's',
  getWorkerSecrets: 'wl',
  getTemplateUserData: 'w',
  permitOrphanTermination: 'w',
  reportLicenseLeak: 'w',
  recordDecisions: 'wsl',
  reportInstance: 'wsl',
  registerTerm: 'wsl',
  resetTerm: 'a',
  assignSession: 's',
  resumeWorker: 's',
  retireWorker: 's',
  reportSession: 'wsl',
  bindLab: 'l',
  releaseSession: 'wsl',
  storeSave: 'l',
  allocatePorts: 'l',
  reportLab: 'l',
  discoverLabs: 'l',
  recordSync: 'l',
}

const controller = (service: NonNullable<Actor['service']>): Actor => ({
  id: service,
  name: service,
  role: 'controller',
  service,
})
const person = (role: Actor['role']): Actor => ({ id: role, name: role, role, service: null })
const CALLERS: Readonly<Record<string, Actor>> = {
  a: person('admin'),
  o: person('operator'),
  t: person('author'),
  u: person('user'),
  w: controller('worker-controller'),
  s: controller('resource-scheduler'),
  l: controller('lablet-controller'),
}

let plane: ReturnType<typeof aControlPlane>
beforeAll(() => {
  plane = aControlPlane()
  for (const [letter, actor] of Object.entries(CALLERS)) plane.access.grant(`caller-${letter}`, actor)
})

const ask = (method: string, path: string, letter: string, json?: object) =>
  plane.send(method, path, { headers: { authorization: `Bearer caller-${letter}` }, json })

/** A service may report only for itself, so its own name is in the path. */
const pathOf = ({ path }: RouteSpec, { service }: Actor) =>
  path
    .slice(1)
    .replaceAll('{service}', service ?? 'worker-controller')
    .replaceAll(/\{\w+\}/g, 'no-such-thing')

describe('access', () => {
  for (const [name, route] of Object.entries<RouteSpec>(ROUTES)) {
    for (const [letter, actor] of Object.entries(CALLERS)) {
      const isAllowed = EXPECTED[name as RouteName].includes(letter)
      it(`${name}: ${isAllowed ? 'yes' : 'no '} ${actor.name}`, async () => {
        const answer = await ask(route.method, pathOf(route, actor), letter, route.body ? {} : undefined)
        if (isAllowed) expect([401, 403]).not.toContain(answer.status)
        else expect(answer).toMatchObject({ status: 403, json: { code: 'forbidden' } })
      })
    }
  }

  it('is declared for every route and for no other', () => {
    expect(Object.keys(EXPECTED).sort()).toEqual(Object.keys(ROUTES).sort())
  })

  it('allows a controller to write for its own service only', async () => {
    const report = await ask('PUT', 'services/lablet-controller/term', 'w', { epoch: 1, instance_id: 'one' })
    expect(report).toMatchObject({ status: 403, json: { code: 'forbidden' } })
  })
})

describe('paths outside the contract', () => {
  const paths: Readonly<Record<string, string>> = {
    '/health': 'anyone',
    '/ready': 'anyone',
    '/api/docs': 'anyone',
    '/api/docs/style.css': 'anyone',
    '/api/docs/script.js': 'anyone',
    '/api/v1/openapi.json': 'anyone',
    '/metrics': 'known',
  }
  for (const [path, who] of Object.entries(paths)) {
    it(`${path} is open to ${who}`, async () => {
      const stranger = await plane.send('GET', path, { headers: { authorization: 'Bearer unknown' } })
      expect(stranger.status).toBe(who === 'anyone' ? 200 : 401)
      for (const letter of Object.keys(CALLERS)) expect((await ask('GET', path, letter)).status).toBe(200)
    })
  }
})
