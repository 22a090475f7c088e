import type { Client } from '@lcm/client/client'
import type { CmlLabs } from '@lcm/cloud/cml-labs'
import { DEFAULT_CML_LOGIN } from '@lcm/cloud-sim/cml/server-state'
import { silentLogger, silentMeter } from '@lcm/runtime'
import type { Controller } from '../../kit/controller-types.ts'
import { registeredElection } from '../../kit/registered-election.ts'
import { LABLET_CONTROLLER_DEFAULTS, type LabletControllerConfig } from '../config.ts'
import type { ContentSources } from '../content/content-sources.ts'
import { labletController } from '../controller.ts'
import type { LabRig } from './lab-rig.ts'

export interface AController {
  readonly controller: Controller
  /** A clean end. */
  stop(): Promise<void>
}

const SERVICE = 'lablet-controller'
const NO_SOURCES: ContentSources = { read: async source => Promise.reject(new Error(`no content at ${source}`)) }

/** A controller that leads as soon as it can. */
export function aController(
  { plane, labs, clock, coordination }: LabRig,
  instance: string,
  more: {
    client?: Client
    labs?: CmlLabs
    sources?: ContentSources
    config?: Partial<LabletControllerConfig>
  } = {},
): AController {
  const client = more.client ?? plane.client(SERVICE)
  const election = coordination.election(SERVICE, instance)
  const controller = labletController({
    client,
    labs: more.labs ?? labs,
    sources: more.sources ?? NO_SOURCES,
    changeKeys: coordination.changeKeys,
    election: registeredElection({ election, service: SERVICE, client, clock, logger: silentLogger }),
    decisions: {
      note: () => undefined,
      written: () => undefined,
      forget: () => undefined,
      service: { name: 'none', run: async () => undefined },
    },
    clock,
    logger: silentLogger,
    meter: silentMeter,
    config: { ...LABLET_CONTROLLER_DEFAULTS, cmlDefaults: { ...DEFAULT_CML_LOGIN }, ...more.config },
  })
  const ending = new AbortController()
  const ended = controller.service.run(ending.signal)
  return {
    controller,
    async stop() {
      ending.abort()
      await clock.advance(30_000)
      await ended
    },
  }
}
