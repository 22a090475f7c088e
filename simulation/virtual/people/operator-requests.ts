import { readList } from '@lcm/client/list-pages'
import type { BodyInput } from '@lcm/contract/routes'
import { RESOURCES } from '@lcm/control-plane/resources'
import type { SettingsPatch } from '@lcm/domain/fleet/settings'
import { shownCertificate } from '@lcm/domain/worker/instance-trust'
import type { Worker } from '@lcm/domain/worker/worker'
import { NOTHING_RESERVED } from '@lcm/domain/worker/worker-field-schemas'
import { LICENSE } from '../world/planted-secrets.ts'
import type { World } from '../world/world.ts'

/** In the future, so that no cleanup looks for its session, which doesn't exist. */
const NOT_BEFORE = '2099-01-01T00:00:00.000Z'
const RESERVATION = { cpu_cores: 4, memory_gb: 8, storage_gb: 10, nodes: 2, since: NOT_BEFORE }

const ROTATION_STEPS_MAX = 20

const withOneMore = ({ cpu_cores, memory_gb, storage_gb, nodes }: typeof NOTHING_RESERVED) => ({
  cpu_cores: cpu_cores + RESERVATION.cpu_cores,
  memory_gb: memory_gb + RESERVATION.memory_gb,
  storage_gb: storage_gb + RESERVATION.storage_gb,
  nodes: nodes + RESERVATION.nodes,
})

/** Requests of an operator to the API. */
export function operatorOf({ client, store, until }: World) {
  const of = (id: string) => ({ params: { id }, body: {} })
  const create = async (name: string, more: Partial<BodyInput<'createWorker'>> = {}): Promise<string> =>
    (await client.call('createWorker', { body: { template_name: 'metal', name, ...more } })).id

  /** Writes reservations straight into the document, for stories without sessions. */
  async function sessions(id: string, names: readonly string[]): Promise<void> {
    const workers = store.collection(RESOURCES.workers)
    for (;;) {
      const worker = await workers.get(id)
      if (worker === null) throw new Error(`worker ${id} not found`)
      const reservations = Object.fromEntries(names.map(name => [name, RESERVATION]))
      const reserved = names.reduce(sum => withOneMore(sum), NOTHING_RESERVED)
      const capacity = { ...worker.capacity, reserved }
      const written = await workers.replace({ ...worker, reservations, capacity, version: worker.version + 1 })
      if (written.ok) return
    }
  }

  return {
    create,
    async createAndRun(name: string, more: Partial<BodyInput<'createWorker'>> = {}): Promise<Worker> {
      return until(await create(name, more), 'RUNNING')
    },
    start: (id: string) => client.call('startWorker', of(id)),
    stop: (id: string, body: BodyInput<'stopWorker'> = {}) => client.call('stopWorker', { params: { id }, body }),
    terminate: (id: string, body: BodyInput<'terminateWorker'> = {}) =>
      client.call('terminateWorker', { params: { id }, body }),
    drain: (id: string, body: BodyInput<'drainWorker'> = {}) => client.call('drainWorker', { params: { id }, body }),
    cancelDrain: (id: string) => client.call('cancelDrainWorker', of(id)),
    retry: (id: string) => client.call('retryWorker', of(id)),
    rename: (id: string, name: string) => client.call('patchWorker', { params: { id }, body: { name } }),
    refresh: (id: string) => client.call('refreshWorker', of(id)),
    approve: (id: string, body: BodyInput<'approveWorker'> = {}) =>
      client.call('approveWorker', { params: { id }, body }),
    /** Pins the certificate that its CML showed last, if it has shown one. */
    async repin(id: string): Promise<void> {
      const fingerprint = shownCertificate(await client.call('getWorker', { params: { id } }))
      if (fingerprint !== null) await client.call('repinWorker', { params: { id }, body: { fingerprint } })
    },
    license: (id: string, body: BodyInput<'putWorkerLicense'> = LICENSE) =>
      client.call('putWorkerLicense', { params: { id }, body }),
    setCredentials: (id: string, body: BodyInput<'putWorkerCredentials'>) =>
      client.call('putWorkerCredentials', { params: { id }, body }),
    unlicense: (id: string) => client.call('deleteWorkerLicense', { params: { id } }),
    /** Repeats the request as `lcm rotate-key` does. */
    async rotateKey(): Promise<void> {
      for (let step = 0; step < ROTATION_STEPS_MAX; step += 1)
        if ((await client.call('rotateSecretKey', {})).done) return
      throw new Error('the rotation does not end')
    },
    set: (body: SettingsPatch) => client.call('patchSettings', { body }),
    sessions,
    leaks: async () => (await readList(page => client.call('listLicenseLeaks', { query: page }))).items,
    /** Newest first. */
    decisions: async (id: string) =>
      (await client.call('getWorkerDecisions', { params: { id }, query: { limit: 100 } })).items,
    journal: (stream: string, subject: string) => store.journal.query({ streams: [stream], subject, limit: 1000 }),
  }
}

export type Operator = ReturnType<typeof operatorOf>
