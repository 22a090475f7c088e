import type { Election, Leadership } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'
import { type RecordingLogger, recordingLogger } from '@lcm/testkit/recording-logger'
import { type EtcdCoordination, type EtcdCoordinationOptions, etcdCoordination } from '../etcd/coordination.ts'
import { eventually } from './eventually.ts'

/** An etcd client with what tests inspect. */
export interface TestClient extends EtcdCoordination {
  readonly logger: RecordingLogger
}

export interface Contender {
  readonly election: Election
  readonly client: TestClient
  /** Newest leadership that it won. */
  readonly leadership: Leadership | undefined
  /** Resolves when it leads; fails on timeout. */
  leads(timeoutMs?: number): Promise<{ readonly leadership: Leadership; readonly tookMs: number }>
}

export type Tweaks = Partial<Omit<EtcdCoordinationOptions, 'endpoints' | 'clock' | 'logger'>>

/** Opens clients and candidates, and closes them all. */
export function testClients(endpoints: () => readonly string[], defaults: Tweaks = {}) {
  const clients: TestClient[] = []
  const stop = new AbortController()
  const connect = (tweaks: Tweaks = {}, given = endpoints()): TestClient => {
    const logger = recordingLogger()
    const options = { endpoints: given, clock: systemClock, logger, leaseTtlMs: 2_000, retryIntervalMs: 200 }
    const client = { ...etcdCoordination({ ...options, ...defaults, ...tweaks }), logger }
    clients.push(client)
    return client
  }
  return {
    connect,
    contend: (instanceId: string, service = 'worker-controller', client = connect()): Contender =>
      campaigning(client, client.election(service, instanceId), stop.signal),
    async close() {
      stop.abort()
      await Promise.all(clients.map(client => client.close()))
    },
  }
}

/** Campaigns again whenever leadership is lost. */
function campaigning(client: TestClient, election: Election, signal: AbortSignal): Contender {
  let newest: Leadership | undefined
  const run = async () => {
    while (!signal.aborted) {
      const leadership = await election.campaign(signal)
      if (leadership === null) return
      newest = leadership
      await new Promise<void>(resolve => leadership.signal.addEventListener('abort', () => resolve(), { once: true }))
    }
  }
  void run()
  return {
    election,
    client,
    get leadership() {
      return newest
    },
    async leads(timeoutMs) {
      const leadership = () => newest?.isHeld() && newest
      const { found, tookMs } = await eventually(`${election.instanceId} leading`, leadership, timeoutMs)
      return { leadership: found, tookMs }
    },
  }
}
