import { join } from 'node:path'
import { DEFAULT_CML_LOGIN } from '@lcm/cloud-sim/cml/server-state'
import type { PresetName } from '@lcm/cloud-sim/faults/fault-plan'
import { startSimServer } from '@lcm/cloud-sim/server/server'
import { memorySimStore } from '@lcm/cloud-sim/sim-store'
import { pinoLogger } from '@lcm/controllers/kit/pino-logger'
import { systemClock } from '@lcm/runtime/clock'
import { closingAfter } from './close-in-reverse-order.ts'
import { openSimStore, openWorld } from './cloud-adapters.ts'
import { createFolder } from './data/data-folder.ts'
import { StartupError } from './startup-error.ts'
import type { Io } from './up.ts'

export interface ServeSimOptions {
  /** Null uses the default. */
  readonly port: number | null
  /** Null keeps the state in memory. */
  readonly dataDir: string | null
  readonly seed: number
  readonly speed: number
  readonly preset: PresetName | null
  readonly cml: 'on' | 'off'
  readonly fleet: number
}

const PORT = 9090

/** Runs only the simulated cloud, on loopback, until the signal aborts. */
export function serveSim(options: ServeSimOptions, io: Io): Promise<void> {
  return closingAfter(async onClose => {
    const log = pinoLogger({ level: 'warn', to: 'stderr' })
    const model = openWorld({ ...options, clock: systemClock }, openStore(options.dataDir))
    onClose(() => model.close())
    const port = options.port ?? PORT
    const server = await startSimServer({ model, clock: systemClock, log, port, cml: options.cml }).catch(
      (cause: unknown) => {
        throw new StartupError(`the simulated cloud can't listen on port ${port}`, {
          advice: 'choose another with --port',
          cause,
        })
      },
    )
    onClose(() => server.close())
    for (const line of welcome(server.url, model)) io.out(line)
    await aborted(io.signal)
  })
}

function openStore(dataDir: string | null) {
  if (dataDir === null) return memorySimStore()
  createFolder(dataDir)
  return openSimStore(join(dataDir, 'sim.sqlite'))
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

function welcome(url: string, model: ReturnType<typeof openWorld>): readonly string[] {
  const { preset } = model.faults.state()
  return [
    '',
    `  Simulated cloud at ${url}: ${preset}, speed ${model.speed}, seed ${model.seed}, ${counted(model.machines().length)}`,
    '',
    '  Configure any AWS client to use it:',
    `    export AWS_ENDPOINT_URL=${url} AWS_REGION=us-east-1 AWS_EC2_METADATA_DISABLED=true`,
    '    export AWS_ACCESS_KEY_ID=simulated AWS_SECRET_ACCESS_KEY=simulated',
    '  Allow the controllers to log in to its CML servers:',
    `    export CML_DEFAULT_PASSWORD=${DEFAULT_CML_LOGIN.password}`,
    '',
    '  List its machines and change its faults:',
    `    curl -s ${url}/sim/v1/instances`,
    `    curl -s -X PATCH ${url}/sim/v1/faults -d '{"preset": "hostile"}'`,
    '',
    '  Ctrl-C stops it.',
    '',
  ]
}

const counted = (machines: number): string => (machines === 1 ? '1 machine' : `${machines} machines`)
