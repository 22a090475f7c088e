import type { CmlLab, CmlLabs } from '@lcm/cloud/cml-labs'
import type { CmlLogin } from '@lcm/cloud/cml-login'
import { cmlControl } from '@lcm/cloud-sim/cml/cml-control-api'
import { DEFAULT_CML_LOGIN } from '@lcm/cloud-sim/cml/server-state'
import { machineToProbe } from '@lcm/cloud-sim/conformance/compute-and-metrics-fixtures'
import { simCmlLabs } from '@lcm/cloud-sim/in-process/cml-labs'
import { openSimModel, type SimModel } from '@lcm/cloud-sim/sim-model'
import type { LocalCoordination } from '@lcm/coordination/local/coordination'
import { spanOf } from '@lcm/domain/calendar/span'
import { timingsOf } from '@lcm/domain/calendar/timings'
import { timesOf, withReservation } from '@lcm/domain/calendar/worker-ledger'
import { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { SETTING_DEFAULTS } from '@lcm/domain/fleet/settings'
import { toInstant } from '@lcm/domain/instant'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import { portsOf } from '@lcm/domain/lab/ports'
import { needsOf, nodeDefinitionsOf, Topology } from '@lcm/domain/lab/topology'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import { type AControlPlane, aControlPlane, storedDefinition } from '@lcm/testkit/a-control-plane'
import type { ManualClock } from '@lcm/testkit/manual-clock'
import { anAttempt, aSession, aWorker } from '@lcm/testkit/test-data-builders'

export const MINUTE_MS = 60_000
export const never = new AbortController().signal

const TOPOLOGY = {
  lab: { version: '0.3.0', title: 'two' },
  nodes: [
    { id: 'n0', label: 'R1', node_definition: 'alpine', x: 0, y: 0, tags: ['serial:4000', 'core'] },
    { id: 'n1', label: 'R2', node_definition: 'alpine', x: 1, y: 0, tags: ['serial:4001'] },
  ],
  links: [],
}

export function aDefinition(now: string, more: Partial<LabletDefinition> = {}): LabletDefinition {
  const topology = Topology.parse(TOPOLOGY)
  return LabletDefinition.parse({
    ...{ id: 'ld-1', version: 1, created_at: now, updated_at: now, created_by: 'author', name: 'two-routers' },
    ...{ title: 'Two routers', definition_version: '1.0.0', status: 'ACTIVE', replaces: null },
    ...{ topology: JSON.stringify(TOPOLOGY), topology_sha256: null, needs: needsOf(topology) },
    ...{ node_definitions_required: nodeDefinitionsOf(topology), port_template: portsOf(topology) },
    sync: { status: 'none', error: null, at: null, package_sha256: null },
    ...more,
  })
}

/** One worker whose CML serves, on a manual clock, with the real API. */
export interface LabRig {
  readonly clock: ManualClock
  readonly model: SimModel
  readonly labs: CmlLabs
  readonly plane: AControlPlane
  readonly coordination: LocalCoordination
  readonly instanceId: string
  /** From now on no change key is published. */
  stopAnnouncing(): Promise<void>
  worker(): Promise<Worker>
  changeWorker(more: Partial<Worker>): Promise<void>
  /** A session that is placed on the worker: its timeslot starts after `startsInMs`. */
  book(id: string, startsInMs?: number, workerId?: string): Promise<LabletSession>
  session(id?: string): Promise<LabletSession>
  define(more: Partial<LabletDefinition>): Promise<void>
  change(id: string, more: Partial<LabletSession>): Promise<void>
  /** A learner types a line on the console of a node of a session. */
  type(node: string, line: string, id?: string): Promise<void>
  /** Its owner cancels it. */
  cancel(id?: string): Promise<void>
  records(): Promise<readonly LabRecord[]>
  /** All labs on the server, as they are. */
  labsThere(): Promise<readonly CmlLab[]>
  /** The login of a user with the password. */
  login(): CmlLogin
  faults(patch: object): void
}

export const WORKER = 'w-1'

export async function labRig({ timeslotMs = 30 * MINUTE_MS } = {}): Promise<LabRig> {
  const plane = aControlPlane()
  const { clock, coordination } = plane
  const model = openSimModel({ seed: 11, clock })
  const labs = simCmlLabs(model, clock)
  const machine = machineToProbe(model, ms => clock.advance(ms))
  while (await machine.toNextChange());
  const now = () => toInstant(clock.now())
  const certificate_sha256 = model.cml.fingerprintOf(machine.id)
  await plane.put(
    'workers',
    aWorker({
      ...{ id: WORKER, status: 'RUNNING', desired_status: 'RUNNING', service_status: 'AVAILABLE' },
      ...{ https_endpoint: machine.endpoint(), ec2_instance_id: machine.id, entered_status_at: now() },
      ...{ launch: anAttempt(), public_ip: new URL(machine.endpoint() ?? '').hostname },
      ...{ created_at: now(), updated_at: now() },
      cml: { ...aWorker().cml, certificate_sha256 },
    }),
  )
  await plane.put('definitions', storedDefinition(aDefinition(now())))
  const stopAnnouncing = plane.run('announcer')
  const control = (method: string, action: string, body: object) => {
    const url = `/sim/v1/instances/${machine.id}/cml/${action}`
    const answer = cmlControl(model)({ method, url, body: JSON.stringify(body) })
    if (answer?.status !== 200) throw new Error(JSON.stringify(answer))
  }
  const login = (): CmlLogin => ({ url: machine.endpoint() ?? '', certificate_sha256, ...DEFAULT_CML_LOGIN })
  return {
    ...{ clock, model, labs, plane, coordination, stopAnnouncing, login, instanceId: machine.id },
    worker: () => plane.get('workers', WORKER),
    changeWorker: async more => void (await plane.edit('workers', WORKER, { ...more, updated_at: now() })),
    async book(id, startsInMs = 0, workerId = WORKER) {
      const startMs = clock.now() + startsInMs
      const timeslot = { start: toInstant(startMs), end: toInstant(startMs + timeslotMs) }
      const session = { ...bookedSession(id, clock.now(), timeslot), worker_id: workerId }
      const span = spanOf(session, aDefinition(now()), timingsOf([]), SETTING_DEFAULTS)
      const times = timesOf({ ...span, fromMs: Math.max(span.fromMs, clock.now()) }, now())
      await plane.put('workers', withReservation(await plane.get('workers', workerId), id, session.needs, times))
      await plane.put('sessions', session)
      return session
    },
    session: (id = 'ls-1') => plane.get('sessions', id),
    define: async more => void (await plane.edit('definitions', 'ld-1', more)),
    change: async (id, more) => void (await plane.edit('sessions', id, { ...more, updated_at: now() })),
    cancel: async (id = 'ls-1') => void (await plane.others().call('cancelSession', { params: { id } })),
    records: () => plane.all('labs'),
    labsThere: () => labs.list(login(), never),
    async type(node, line, id = 'ls-1') {
      const lab = (await labs.list(login(), never)).find(({ title }) => title.endsWith(id))
      control('POST', 'type', { lab_id: lab?.lab_id ?? '', node, line })
    },
    faults: patch => control('PATCH', 'faults', patch),
  }
}

function bookedSession(id: string, nowMs: number, timeslot: LabletSession['timeslot']): LabletSession {
  const now = toInstant(nowMs)
  return aSession({
    ...{ id, created_at: now, updated_at: now, entered_status_at: now, status: 'SCHEDULED' },
    needs: needsOf(Topology.parse(TOPOLOGY)),
    timeslot,
  })
}
