import { apiClient, type Client } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import type { Dispatch } from '@lcm/contract/route-spec'
import type { WorkerView } from '@lcm/contract/worker'
import { type EtcdServer, startEtcd } from '@lcm/coordination/testing/etcd-server'
import { textReason } from '@lcm/domain/reason'
import { systemClock } from '@lcm/runtime/clock'
import { type MongoServer, startMongo } from '@lcm/store/testing/mongo-server'
import { type CuttableProxy, startCuttableProxy } from '../processes/cuttable-proxy.ts'
import { openProcessEnvironment, type ProcessEnvironment } from '../processes/process-environment.ts'

/** One process of the API. It keeps its address over a restart. */
export interface Replica {
  readonly name: string
  readonly url: string
  /** An administrator here. */
  readonly client: Client
  /** The administrator and the worker-controller without a client timeout. */
  readonly withoutTimeout: { readonly client: Client; readonly controller: Client }
  /** The worker-controller here. */
  readonly controller: Client
  /** The administrator, with these headers in every request. */
  with(headers: Readonly<Record<string, string>>): Client
  /** Resolves with the exit code when the process is gone. */
  end(signal: NodeJS.Signals): Promise<number | null>
  /** kill -9; resolves when the process is gone. */
  kill(): Promise<void>
  restart(): Promise<void>
  /** Output since the last start. */
  log(): string
}

/** Real processes of the API on one server with the MongoDB protocol and one etcd. */
export interface Replicas {
  readonly a: Replica
  readonly b: Replica
  readonly both: readonly [Replica, Replica]
  readonly mongo: MongoServer
  readonly etcd: EtcdServer
  /** Starts further processes. */
  readonly environment: ProcessEnvironment
  /** A further replica with proxies before the store and etcd. The test must own the store. */
  startBehindProxies(name: string): Promise<{ replica: Replica; mongo: CuttableProxy; etcd: CuttableProxy }>
  /** Registers a new leader of the worker-controller, and returns its epoch. */
  newTerm(): Promise<number>
  /** Internal errors of requests in all processes. There must be none. */
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
  const environment: Home = {
    ...openProcessEnvironment({ etcd: etcd.endpoints, store: () => store.href }),
    controllerToken: '',
  }
  const [a, b] = await Promise.all([startReplica(environment, 'a'), startReplica(environment, 'b')])
  const body = { name: 'wc', role: 'controller', service: 'worker-controller' } as const
  environment.controllerToken = (await a.client.call('createToken', { body })).secret
  const proxies: CuttableProxy[] = []
  let epoch = 0
  return {
    a,
    b,
    both: [a, b],
    mongo,
    etcd,
    environment,
    async startBehindProxies(name) {
      const { host, pathname } = store
      const proxied = { mongo: await startCuttableProxy(host), etcd: await startCuttableProxy(etcd.endpoints[0] ?? '') }
      proxies.push(proxied.mongo, proxied.etcd)
      const replica = await startReplica(environment, name, {
        LCM_STORE: `mongodb://${proxied.mongo.endpoint}${pathname}`,
        ETCD_ENDPOINTS: proxied.etcd.endpoint,
      })
      return { ...proxied, replica }
    },
    async newTerm() {
      epoch += 1
      await register(epoch % 2 === 0 ? a : b, epoch)
      return epoch
    },
    defects: environment.defects,
    async close() {
      await environment.close()
      for (const proxy of proxies) proxy.close()
      await Promise.all([mongo.close(), etcd.close()])
    },
  }
}

async function startReplica(environment: Home, name: string, more: Record<string, string> = {}): Promise<Replica> {
  const start = (port: string) =>
    environment.start(name, ['control-plane-api', '--port', port], { ...environment.apiEnv, ...more })
  let current = await start('0')
  const { url } = current
  const end = (signal: NodeJS.Signals) => {
    current.signal(signal)
    return current.exited
  }
  const transport = httpTransport({ baseUrl: url, clock: systemClock })
  const asAdmin = { token: environment.adminToken }
  return {
    name,
    url,
    client: apiClient(transport, asAdmin),
    // The token is created after both replicas have started.
    get controller() {
      return apiClient(transport, { token: environment.controllerToken })
    },
    get withoutTimeout() {
      const untimed = untimedTransport(url)
      const controller = apiClient(untimed, { token: environment.controllerToken })
      return { client: apiClient(untimed, asAdmin), controller }
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

const untimedTransport =
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
    body: { changes, decision: { action: 'report', because: textReason(`reported in epoch ${epoch}`) } },
  })

export const create = ({ client }: Replica, name: string) =>
  client.call('createWorker', { body: { template_name: 'metal', name } })

export const label = ({ client }: Replica, id: string, n: number) =>
  client.call('patchWorker', { params: { id }, body: { labels: { n: String(n) } } })

/** Terminates a worker without a machine and deletes its record. */
export async function remove(replicas: readonly [Replica, Replica], id: string, epoch: number): Promise<void> {
  const [one, other] = replicas
  const ending = await one.client.call('terminateWorker', { params: { id }, body: {} })
  const ended = await report(other, ending, epoch, { status: 'TERMINATED' })
  await one.client.call('deleteWorker', { params: { id }, ifMatch: ended.version })
}
