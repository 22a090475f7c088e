import { apiClient, type Client } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import type { Dispatch } from '@lcm/contract/route'
import type { WorkerView } from '@lcm/contract/worker'
import { type EtcdServer, startEtcd } from '@lcm/coordination/testing/etcd-server'
import { textReason } from '@lcm/domain/reason'
import { systemClock } from '@lcm/runtime/clock'
import { type MongoServer, startMongo } from '@lcm/store/testing/mongo-server'
import { type CuttableProxy, startCuttableProxy } from '../processes/cuttable-proxy.ts'
import { openProcessEnvironment, type ProcessEnvironment } from '../processes/process-environment.ts'

/** One process of the control plane. It keeps its address over a restart. */
export interface Replica {
  readonly name: string
  readonly url: string
  /** An administrator here. */
  readonly client: Client
  /** The administrator and the worker-controller, who wait for an answer however long it takes. */
  readonly patient: { readonly client: Client; readonly controller: Client }
  /** The worker-controller here. */
  readonly controller: Client
  /** The administrator, with these headers in every request. */
  with(headers: Readonly<Record<string, string>>): Client
  /** Resolves with the exit code when the process is gone. */
  end(signal: NodeJS.Signals): Promise<number | null>
  /** kill -9; resolves when the process is gone. */
  kill(): Promise<void>
  restart(): Promise<void>
  /** What it logged since its last start. */
  log(): string
}

/** Real processes of the control plane on one server that speaks MongoDB and one etcd. */
export interface Replicas {
  readonly a: Replica
  readonly b: Replica
  readonly both: readonly [Replica, Replica]
  readonly mongo: MongoServer
  readonly etcd: EtcdServer
  /** Where further processes of theirs can be started. */
  readonly household: ProcessEnvironment
  /** A further replica that can be held back from the store and from etcd. The store must be ours. */
  startGated(name: string): Promise<{ replica: Replica; mongo: CuttableProxy; etcd: CuttableProxy }>
  /** Makes a new leader of the worker-controller known, and answers its epoch. */
  newTerm(): Promise<number>
  /** What went wrong inside a request, in any process and life. There must be nothing. */
  defects(): readonly string[]
  close(): Promise<void>
}

interface Home extends ProcessEnvironment {
  controllerToken: string
}

export async function openReplicas(): Promise<Replicas> {
  const [mongo, etcd] = await Promise.all([startMongo(), startEtcd()])
  const store = new URL(mongo.uri)
  store.pathname = `/${mongo.database()}`
  const household: Home = {
    ...openProcessEnvironment({ etcd: etcd.endpoints, store: () => store.href }),
    controllerToken: '',
  }
  const [a, b] = await Promise.all([startReplica(household, 'a'), startReplica(household, 'b')])
  const body = { name: 'wc', role: 'controller', service: 'worker-controller' } as const
  household.controllerToken = (await a.client.call('createToken', { body })).secret
  const gates: CuttableProxy[] = []
  let epoch = 0
  return {
    a,
    b,
    both: [a, b],
    mongo,
    etcd,
    household,
    async startGated(name) {
      const { host, pathname } = store
      const gated = { mongo: await startCuttableProxy(host), etcd: await startCuttableProxy(etcd.endpoints[0] ?? '') }
      gates.push(gated.mongo, gated.etcd)
      const replica = await startReplica(household, name, {
        LCM_STORE: `mongodb://${gated.mongo.endpoint}${pathname}`,
        ETCD_ENDPOINTS: gated.etcd.endpoint,
      })
      return { ...gated, replica }
    },
    async newTerm() {
      epoch += 1
      await register(epoch % 2 === 0 ? a : b, epoch)
      return epoch
    },
    defects: household.defects,
    async close() {
      await household.close()
      for (const gate of gates) gate.close()
      await Promise.all([mongo.close(), etcd.close()])
    },
  }
}

async function startReplica(household: Home, name: string, more: Record<string, string> = {}): Promise<Replica> {
  const start = (port: string) =>
    household.start(name, ['control-plane-api', '--port', port], { ...household.apiEnv, ...more })
  let current = await start('0')
  const { url } = current
  const end = (signal: NodeJS.Signals) => {
    current.signal(signal)
    return current.exited
  }
  const transport = httpTransport({ baseUrl: url, clock: systemClock })
  const asAdmin = { token: household.adminToken }
  return {
    name,
    url,
    client: apiClient(transport, asAdmin),
    // The token is made by the first replica, so it is not there before all are.
    get controller() {
      return apiClient(transport, { token: household.controllerToken })
    },
    get patient() {
      const patiently = patientTransport(url)
      const controller = apiClient(patiently, { token: household.controllerToken })
      return { client: apiClient(patiently, asAdmin), controller }
    },
    with: headers =>
      apiClient(request => transport({ ...request, headers: { ...request.headers, ...headers } }), asAdmin),
    end,
    async kill() {
      await end('SIGKILL')
    },
    async restart() {
      current = await start(new URL(url).port)
    },
    log: () => current.log(),
  }
}

const patientTransport =
  (baseUrl: string): Dispatch =>
  async ({ method, url, headers, body, signal }) => {
    const answer = await fetch(new URL(url, baseUrl), { method, headers, body, signal })
    return { status: answer.status, headers: Object.fromEntries(answer.headers), body: await answer.text() }
  }

export const register = ({ controller }: Replica, epoch: number, instance_id = `leader-${epoch}`) =>
  controller.call('registerTerm', { params: { service: 'worker-controller' }, body: { epoch, instance_id } })

export const report = (
  { controller }: Replica,
  { id, version }: Pick<WorkerView, 'id' | 'version'>,
  epoch: number,
  changes: Partial<Pick<WorkerView, 'status' | 'service_status'>>,
) =>
  controller.call('reportWorkerStatus', {
    params: { id },
    ifMatch: version,
    epoch,
    body: { changes, decision: { action: 'report', because: textReason(`epoch ${epoch} says so`) } },
  })

export const create = ({ client }: Replica, name: string) =>
  client.call('createWorker', { body: { template_name: 'metal', name } })

export const label = ({ client }: Replica, id: string, n: number) =>
  client.call('patchWorker', { params: { id }, body: { labels: { n: String(n) } } })

/** Ends a worker that never had a machine, as its controller would, and removes its record. */
export async function remove(replicas: readonly [Replica, Replica], id: string, epoch: number): Promise<void> {
  const [one, other] = replicas
  const ending = await one.client.call('terminateWorker', { params: { id }, body: {} })
  const ended = await report(other, ending, epoch, { status: 'TERMINATED' })
  await one.client.call('deleteWorker', { params: { id }, ifMatch: ended.version })
}
