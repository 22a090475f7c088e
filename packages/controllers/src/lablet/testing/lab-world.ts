import type { CmlLogin } from '@lcm/cloud/cml-access'
import type { CmlLab, CmlLabs } from '@lcm/cloud/cml-labs'
import { cmlControl } from '@lcm/cloud-sim/cml/cml-control-api'
import { DEFAULT_CML_LOGIN } from '@lcm/cloud-sim/cml/server'
import { machineToProbe } from '@lcm/cloud-sim/conformance/sim-fixtures'
import { simCmlLabs } from '@lcm/cloud-sim/in-process/cml-labs'
import { openSimModel, type SimModel } from '@lcm/cloud-sim/model'
import { type LocalCoordination, localCoordination } from '@lcm/coordination/local/coordination'
import { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { toInstant } from '@lcm/domain/instant'
import { portsOf } from '@lcm/domain/lab/ports'
import { needsOf, nodeDefinitionsOf, Topology } from '@lcm/domain/lab/topology'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import { anAttempt, aWorker } from '@lcm/testkit/builders'
import { type ManualClock, manualClock } from '@lcm/testkit/manual-clock'
import { type FakeApi, fakeApi } from './fake-api.ts'

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

/** One worker whose CML serves, on a manual clock, with an API beside it. */
export interface LabWorld {
  readonly clock: ManualClock
  readonly model: SimModel
  readonly labs: CmlLabs
  readonly api: FakeApi
  readonly coordination: LocalCoordination
  readonly instanceId: string
  worker(): Worker
  changeWorker(more: Partial<Worker>): void
  /** A session that has a place on the worker: its slot begins after `startsInMs` and lasts half an hour. */
  book(id: string, startsInMs?: number): LabletSession
  change(id: string, more: Partial<LabletSession>): void
  /** All labs on the server, as they are. */
  labsThere(): Promise<readonly CmlLab[]>
  /** How to do what a person with the password could. */
  login(): CmlLogin
  faults(patch: object): void
}

export const WORKER = 'w-1'

export async function labWorld(): Promise<LabWorld> {
  const clock = manualClock()
  const model = openSimModel({ seed: 11, clock })
  const coordination = localCoordination({ clock, firstEpoch: () => 1 })
  const api = fakeApi(clock, coordination.changeKeys)
  const labs = simCmlLabs(model)
  const machine = machineToProbe(model, ms => clock.advance(ms))
  while (await machine.toNextChange());
  const now = () => toInstant(clock.now())
  const certificate_sha256 = model.cml.fingerprintOf(machine.id)
  api.workers.set(
    WORKER,
    aWorker({
      ...{ id: WORKER, status: 'RUNNING', desired_status: 'RUNNING', service_status: 'AVAILABLE' },
      ...{ https_endpoint: machine.endpoint(), ec2_instance_id: machine.id, entered_status_at: now() },
      ...{ launch: anAttempt(), public_ip: new URL(machine.endpoint() ?? '').hostname },
      cml: { ...aWorker().cml, certificate_sha256 },
    }),
  )
  api.definitions.set('ld-1', aDefinition(now()))
  const worker = (): Worker => api.workers.get(WORKER) ?? aWorker()
  const login = (): CmlLogin => ({ url: machine.endpoint() ?? '', certificate_sha256, ...DEFAULT_CML_LOGIN })
  const changeWorker = (more: Partial<Worker>) =>
    void api.workers.set(WORKER, { ...worker(), ...more, version: worker().version + 1 })
  return {
    ...{ clock, model, labs, api, coordination, worker, login, changeWorker, instanceId: machine.id },
    book(id, startsInMs = 0) {
      const session = aSession(id, clock.now(), startsInMs)
      const { node_count: nodes, ...needs } = session.needs
      const reservation = { ...needs, nodes, since: now() }
      changeWorker({ reservations: { ...worker().reservations, [id]: reservation } })
      return api.saveSession(session)
    },
    change: (id, more) =>
      void api.saveSession({ ...api.session(id), ...more, version: api.session(id).version + 1, updated_at: now() }),
    labsThere: () => labs.list(login(), never),
    faults(patch) {
      const url = `/sim/v1/instances/${machine.id}/cml/faults`
      const answer = cmlControl(model)({ method: 'PATCH', url, body: JSON.stringify(patch) })
      if (answer?.status !== 200) throw new Error(JSON.stringify(answer))
    },
  }
}

function aSession(id: string, nowMs: number, startsInMs: number): LabletSession {
  const now = toInstant(nowMs)
  const timeslot = { start: toInstant(nowMs + startsInMs), end: toInstant(nowMs + startsInMs + 30 * MINUTE_MS) }
  return {
    ...{
      id,
      version: 1,
      created_at: now,
      updated_at: now,
      owner: 'ann',
      owner_name: 'Ann',
      reservation_id: null,
      timeslot,
    },
    definition: { id: 'ld-1', name: 'two-routers', version: '1.0.0' },
    needs: needsOf(Topology.parse(TOPOLOGY)),
    ...{ desired_status: 'RUNNING', desired_by: 'ann', desired_reason: '', status: 'SCHEDULED' },
    ...{ entered_status_at: now, worker_id: WORKER, lab_record_id: null, access: [], pipeline: null },
    ...{ waiting_reason: null, last_error: null, conditions: [], state_history: [], applied_keys: [], fence: {} },
  }
}
