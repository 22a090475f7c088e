import { cmlLabsClient } from '@lcm/cloud-aws/cml/cml-labs'
import { LABLET_CONTROLLER_DEFAULTS } from '@lcm/controllers/lablet/config'
import { labletController } from '@lcm/controllers/lablet/controller'
import { systemClock as clock } from '@lcm/runtime/clock'
import { cmlDefaultsOf, type LabletControllerEnvironment, labletLoopsOf } from './environment/environment.ts'
import { contentSourcesOf } from './outbound/content-setting.ts'
import { s3ObjectsOf } from './s3-objects.ts'
import { type At, serveController } from './serve-controller.ts'
import type { Io } from './up.ts'

export function serveLabletController(env: LabletControllerEnvironment, at: At, io: Io): Promise<void> {
  const config = { ...LABLET_CONTROLLER_DEFAULTS, ...labletLoopsOf(env), cmlDefaults: cmlDefaultsOf(env) }
  const process = { service: 'lablet-controller', env, instanceId: env.LABLET_CONTROLLER_INSTANCE_ID, at } as const
  return serveController(process, io, (parts, onClose) => {
    const labs = cmlLabsClient({ clock })
    onClose(() => labs.close())
    const folder = env.LCM_CONTENT_FOLDER ?? null
    const sources = contentSourcesOf(env, { folder, objects: s3ObjectsOf(env, { clock }) })
    return labletController({ ...parts, labs, sources, config })
  })
}
