import { readFileSync } from 'node:fs'
import type { Client } from '@lcm/client/client'
import type { BodyInput } from '@lcm/contract/routes'
import type { WorkerView } from '@lcm/contract/worker'
import { systemClock } from '@lcm/runtime/clock'

export const HOSTILE = '<img src=x onerror=alert(1)>'

const LIMIT_MS = 45_000
/** The smallest template: it boots fastest. */
const TEMPLATE = 'nested'

/** Workers of one test file: all files share one product. */
export function workerFixtures(api: () => Client) {
  async function until(id: string, isSo: (worker: WorkerView) => boolean): Promise<WorkerView> {
    const startedMs = systemClock.monotonic()
    for (;;) {
      const worker = await api().call('getWorker', { params: { id } })
      if (isSo(worker)) return worker
      if (systemClock.monotonic() - startedMs > LIMIT_MS)
        throw new Error(`${worker.name} is still ${worker.status}, ${worker.license.status}`)
      await systemClock.sleep(50)
    }
  }
  const isServing = ({ status, service_status }: WorkerView) => status === 'RUNNING' && service_status === 'AVAILABLE'
  const make = (name: string, more: Partial<BodyInput<'createWorker'>> = {}) =>
    api().call('createWorker', { body: { template_name: TEMPLATE, name, ...more } })
  const licensed = async (name: string, product: string, template_name = TEMPLATE) => {
    const { id } = await make(name, { template_name, license: { product, token: 'a-token-of-the-tests' } })
    return until(id, worker => isServing(worker) && worker.license.status === 'REGISTERED')
  }
  return {
    until,
    make,
    licensed,
    serving: async (name: string) => until((await make(name)).id, isServing),
    /** With a session that no other worker can host, because only this one has the license. */
    async withSession(name: string, product: string): Promise<{ worker: WorkerView; sessionId: string }> {
      const { id } = await licensed(name, product)
      const topology = readFileSync('examples/labs/two-routers.yaml', 'utf8')
      const definition = `${name}-lab`
      await api().call('createDefinition', { body: { name: definition, topology, license_affinity: [product] } })
      const session = await api().call('createSession', { body: { definition, duration_minutes: 60 } })
      const worker = await until(
        id,
        ({ reservations, ports }) => session.id in reservations && Object.keys(ports).length > 0,
      )
      return { worker, sessionId: session.id }
    },
  }
}
