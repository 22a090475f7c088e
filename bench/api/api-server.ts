import { controlPlane } from '@lcm/control-plane/control-plane'
import { startServer } from '@lcm/control-plane/http/server'
import { givenKeys } from '@lcm/control-plane/keys/secret-keys'
import { STORE_SCHEMA } from '@lcm/control-plane/resources'
import { localCoordination } from '@lcm/coordination/local/coordination'
import { host, silentLogger } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import { seededRandom } from '@lcm/testkit/seeded-random'

/**
 * The embedded control plane alone in a process: `serve FILE TOKEN [CONSOLE]`. Reports its address and its CPU time. The token
 * of a worker-controller is `<TOKEN>-of-a-controller`.
 */
const [, , file = '', token = '', consoleDir = null] = process.argv
const random = seededRandom(7)
const stop = new AbortController()
const store = openSqliteStore(file, { schema: STORE_SCHEMA, gather: setImmediate })
const plane = controlPlane({
  store,
  changeKeys: localCoordination({ clock: systemClock, firstEpoch: () => 1 }).changeKeys,
  clock: systemClock,
  randomBytes: size => random.bytes(size),
  secretKeys: givenKeys([random.bytes(32)]),
  config: { version: '0.0.0', profile: 'embedded', cloud: 'sim', regions: ['us-east-1', 'eu-west-1'], settings: {} },
  log: silentLogger,
  process: { health: () => ({ status: 'healthy' }), waitsFor: () => null, metrics: async () => '' },
  limits: { requestsPerSecond: Number.POSITIVE_INFINITY, burst: Number.POSITIVE_INFINITY },
})
plane.access.grant(token, { id: 'admin', name: 'admin', role: 'admin', service: null })
const controller = { id: 'controller', name: 'controller', role: 'controller', service: 'worker-controller' } as const
plane.access.grant(`${token}-of-a-controller`, controller)
const server = await startServer({
  dispatch: plane.dispatch,
  clock: systemClock,
  host: '127.0.0.1',
  port: 0,
  hostnames: ['127.0.0.1'],
  consoleDir,
})
process.on('message', () => process.send?.({ cpuMs: (process.cpuUsage().user + process.cpuUsage().system) / 1000 }))
process.once('SIGTERM', () => stop.abort())
process.once('disconnect', () => stop.abort())
process.send?.({ port: Number(new URL(server.url).port) })
await host([...plane.services], stop.signal, { logger: silentLogger })
await server.close()
await store.close()
process.disconnect?.()
