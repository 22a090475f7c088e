import type { ServiceName } from '@lcm/domain/actor'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import { textReason } from '@lcm/domain/reason'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import { type AControlPlane, METAL } from '@lcm/testkit/a-control-plane'
import type { ControlPlaneParts } from '../control-plane.ts'
import { aFleet } from './a-fleet.ts'

/** Two routers of 1 core and 1 GB each, with one console. */
export const TOPOLOGY = `lab:
  version: 0.3.0
  title: two routers
nodes:
  - id: n0
    label: r1
    node_definition: iol-xe
    ram: 1024
    tags: [serial:5000]
    x: 0
    y: 0
  - id: n1
    label: r2
    node_definition: iol-xe
    ram: 1024
    x: 200
    y: 0
links: []
`

/** Lets the calendar promise 100 sessions of `TOPOLOGY` at a time, on machines that may be bought. */
export async function offerMachines({ send }: Pick<AControlPlane, 'send'>): Promise<void> {
  await send('POST', 'worker-templates', { json: { ...METAL, license_product: 'CML_Enterprise' } })
}

const DECISION = { action: 'write', because: textReason('the test says so') }

/** A fleet with a definition to book, and helpers that bring sessions into a status. */
export function aCourse(setting: Partial<ControlPlaneParts> = {}) {
  const fleet = aFleet(setting)

  /** Creates a definition, and a template so that its sessions are admitted. */
  async function define(more: object = {}) {
    await offerMachines(fleet)
    return (await fleet.send('POST', 'lablet-definitions', { json: { name: 'bgp', topology: TOPOLOGY, ...more } })).json
  }

  /** Books the newest `bgp` and creates it if needed. */
  async function book(
    more: object = {},
    as: 'admin' | 'user' | 'author' | 'operator' = 'user',
  ): Promise<LabletSession> {
    if ((await fleet.send('GET', 'lablet-definitions?name=bgp')).json.items.length === 0) await define()
    const answer = await fleet.send('POST', 'lablet-sessions', { as, json: { definition: 'bgp', ...more } })
    if (answer.status !== 201) throw new Error(String(answer.body))
    return answer.json
  }

  /** A worker that labs can be placed on. */
  async function serving(more: Partial<Worker> = {}) {
    await offerMachines(fleet)
    const { id, version } = await fleet.running()
    await fleet.report(id, version, { service_status: 'AVAILABLE' })
    return fleet.edit(id, worker => ({
      license: { ...worker.license, status: 'REGISTERED', product: 'CML_Enterprise' },
      cml: { ...worker.cml, node_definitions: ['iol-xe'] },
      ...more,
    }))
  }

  const session = async (id: string): Promise<LabletSession> => (await fleet.send('GET', `lablet-sessions/${id}`)).json
  const lab = async (id: string): Promise<LabRecord> => (await fleet.send('GET', `lab-records/${id}`)).json

  const assign = (id: string, worker_id: string, epoch = 1) =>
    fleet.fenced(
      'POST',
      `lablet-sessions/${id}/assignment`,
      { worker_id, decision: DECISION },
      { by: 'resource-scheduler', epoch },
    )

  /** A controller's report on the current version of the session. */
  async function reportSession(id: string, changes: object, by: ServiceName = 'lablet-controller') {
    const { version } = await session(id)
    const json = { changes, decision: DECISION }
    return fleet.fenced('PATCH', `lablet-sessions/${id}/status`, json, { by, ifMatch: version })
  }

  async function reportLab(id: string, changes: object) {
    const { version } = await lab(id)
    const json = { changes, decision: DECISION }
    return fleet.fenced('PATCH', `lab-records/${id}/status`, json, { by: 'lablet-controller', ifMatch: version })
  }

  const asLablets = (path: string, json: object, epoch = 1) =>
    fleet.fenced('POST', path, json, { by: 'lablet-controller', epoch })
  const bind = (id: string, more: object = {}) =>
    asLablets(`lablet-sessions/${id}/lab`, { lab_id: null, title: `lab of ${id}`, ...more })
  const ports = (labId: string, taken: readonly number[] = []) => asLablets(`lab-records/${labId}/ports`, { taken })
  const release = (id: string) => asLablets(`lablet-sessions/${id}/release`, {})

  /** A session that was placed on the worker and went through these statuses. */
  async function placed(workerId: string, ...statuses: readonly LabletSession['status'][]): Promise<LabletSession> {
    const { id } = await book()
    const answer = await assign(id, workerId)
    if (answer.status !== 200) throw new Error(String(answer.body))
    for (const status of statuses) {
      const reported = await reportSession(id, { status })
      if (reported.status !== 200) throw new Error(String(reported.body))
    }
    return session(id)
  }

  /** One complete scan of a worker. */
  const scan = (worker_id: string, labs: readonly object[] = [], more: object = {}) =>
    asLablets('lab-records/discoveries', {
      worker_id,
      began_at: new Date(fleet.clock.now()).toISOString(),
      is_complete: true,
      labs: labs.map(each => ({
        title: 'a lab of a person',
        owner: null,
        state: 'STARTED',
        node_count: 2,
        link_count: 1,
        ...each,
      })),
      ...more,
    })

  return {
    ...fleet,
    define,
    book,
    serving,
    session,
    lab,
    assign,
    reportSession,
    reportLab,
    asLablets,
    bind,
    ports,
    release,
    placed,
    scan,
    /** Runs housekeeping for a bit more than a minute. */
    async tend(ms = 130_000) {
      const stop = fleet.run()
      await fleet.clock.advance(ms)
      await stop()
    },
  }
}

export type Course = ReturnType<typeof aCourse>
