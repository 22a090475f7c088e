import type { EventEnvelope } from '@lcm/contract/events'
import type { WorkerView } from '@lcm/contract/worker'
import type { ServiceName } from '@lcm/domain/actor'
import { heldFrom } from '@lcm/domain/calendar/worker-ledger'
import type { Worker } from '@lcm/domain/worker/worker'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import type { JournalEntry } from '@lcm/store/store'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { anAttempt } from '@lcm/testkit/test-data-builders'
import type { ControlPlaneParts } from '../control-plane.ts'
import { RESOURCES } from '../resources.ts'
import { interruptibleStore } from './interruptible-store.ts'

export const RESERVATION = {
  cpu_cores: 4,
  memory_gb: 8,
  storage_gb: 10,
  nodes: 2,
  ...heldFrom('2026-01-01T00:00:00.000Z'),
}

interface Fenced {
  readonly by?: ServiceName
  readonly ifMatch?: number
  readonly epoch?: number
}

/** A control plane with controllers of every service, and helpers that bring workers into a status. */
export function aFleet(setting: Partial<ControlPlaneParts> = {}) {
  const store = interruptibleStore(setting.store ?? openSqliteStore(':memory:'))
  const plane = aControlPlane({ ...setting, store })
  const workers = store.collection(RESOURCES.workers)
  const asService = (service: ServiceName) => ({ authorization: `Bearer ${service}` })

  /** A controller's request in a term that is registered first. */
  async function fenced(method: string, path: string, json: object, more: Fenced = {}) {
    const { by = 'worker-controller', ifMatch, epoch = 1 } = more
    const term = { headers: asService(by), json: { epoch, instance_id: 'one' } }
    await plane.send('PUT', `services/${by}/term`, term)
    const versions = ifMatch === undefined ? {} : { 'if-match': `"${ifMatch}"` }
    return plane.send(method, path, { headers: { ...asService(by), 'lcm-epoch': String(epoch), ...versions }, json })
  }

  const get = async (id: string): Promise<WorkerView> => (await plane.send('GET', `workers/${id}`)).json

  /** Moves a worker through these statuses like its controller, one per second. */
  async function moveTo(id: string, ...statuses: readonly Worker['status'][]): Promise<WorkerView> {
    for (const status of statuses) {
      const { version } = await get(id)
      const machine = status === 'PROVISIONING' ? { ec2_instance_id: `i-${id.slice(-8)}` } : {}
      const answer = await plane.report(id, version, { status, ...machine })
      if (answer.status !== 200) throw new Error(`${status}: ${answer.body}`)
      await plane.clock.advance(1_000)
    }
    return get(id)
  }

  /** Writes fields that no route of the API writes. */
  async function edit(id: string, change: (worker: Worker) => Partial<Worker>): Promise<WorkerView> {
    const worker = await workers.get(id)
    if (worker === null) throw new Error(`there is no ${id}`)
    await workers.replace({ ...worker, ...change(worker), version: worker.version + 1 })
    return get(id)
  }

  return {
    ...plane,
    store,
    fenced,
    get,
    moveTo,
    edit,
    asService,
    act: (id: string, verb: string, json: object = {}) => plane.send('POST', `workers/${id}/${verb}`, { json }),
    /** On a machine that LCM launched. */
    async running(body: object = {}): Promise<WorkerView> {
      const { id } = await plane.create(body)
      await edit(id, () => ({ launch: anAttempt() }))
      return moveTo(id, 'PROVISIONING', 'STARTING', 'RUNNING')
    },
    reserve: (id: string, session = 'ls-1') => edit(id, () => ({ reservations: { [session]: RESERVATION } })),
    scaling: () => store.collection(RESOURCES.fleetScaling).get('fleet'),
    journal: (stream: string, subject?: string): Promise<readonly JournalEntry[]> =>
      store.journal.query({ streams: [stream], ...(subject === undefined ? {} : { subject }), limit: 1000 }),
    /** Runs the background services until the returned function is called. */
    run() {
      const stop = new AbortController()
      const running = Promise.all(plane.services.map(service => service.run(stop.signal)))
      return async () => {
        stop.abort()
        await plane.clock.advance(0)
        await running
      }
    },
    async follow(query = '', token = 'user') {
      const stop = new AbortController()
      const headers = { authorization: `Bearer ${token}` }
      const { body } = await plane.send('GET', `events?${query}`, { headers, signal: stop.signal })
      if (body === null || typeof body === 'string') throw new Error(`no stream: ${body}`)
      return following(plane.clock, body, stop)
    },
  }
}

export type Fleet = ReturnType<typeof aFleet>

/** Collects the events of a stream. */
function following(clock: { advance(ms: number): Promise<void> }, body: AsyncIterable<string>, stop: AbortController) {
  const texts: string[] = []
  const ended = (async () => {
    for await (const text of body) texts.push(text)
  })()
  return {
    texts,
    /** Events received so far. */
    async seen(): Promise<EventEnvelope[]> {
      await clock.advance(0)
      return texts.map(text => JSON.parse(text.replace(/^(id: .*\n)?data: /, '')))
    },
    async stop() {
      stop.abort()
      await clock.advance(0)
      await ended
    },
  }
}
