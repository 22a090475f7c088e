import type { SimState } from '../sim-state.ts'
import type { BootMoment } from './boot-plan.ts'
import { imageNamed } from './images.ts'
import { namedInstances } from './power.ts'

export interface ConsoleOutput {
  readonly instance_id: string
  readonly at_ms: number
  readonly text: string
}

const SAYS: Readonly<Record<BootMoment['stage'], string>> = {
  NOTHING: 'Linux version 6.8.0 (cml-controller) booting',
  TCP: 'systemd[1]: Started nginx.service',
  TLS: 'nginx: certificate loaded',
  GATEWAY: 'systemd[1]: Starting virl2-controller.service',
  API: 'virl2-controller: API is up',
  READY: 'virl2-controller: ready',
}

/** Console output so far, one line for each completed stage. */
export function consoleOutput(sim: SimState, region: string, instanceId: string): ConsoleOutput | null {
  const instance = namedInstances(sim, region, [instanceId])[0]
  if (!instance) return null
  const nowMs = sim.now()
  const come = instance.boot.filter(moment => moment.from_ms <= nowMs)
  const { cml_version } = imageNamed(region, instance.image_id)
  const lines = come.map(({ stage, from_ms }) => `[${seconds(from_ms - instance.started_at_ms)}] ${SAYS[stage]}`)
  const text = [...lines, ...(come.length > 0 ? [`CML ${cml_version}`] : [])].join('\n')
  return { instance_id: instanceId, at_ms: come.at(-1)?.from_ms ?? instance.started_at_ms, text }
}

const seconds = (ms: number) => (ms / 1000).toFixed(6).padStart(12)
