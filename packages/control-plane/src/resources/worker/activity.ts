import type { AnswerOf } from '@lcm/contract/routes'
import { effectiveIdleAction } from '@lcm/domain/fleet/idle'
import type { Api } from '../../http/api.ts'
import { currentSettings } from '../settings/queries.ts'
import { findWorker } from './queries.ts'

export async function workerActivity(api: Api, id: string): Promise<AnswerOf<'getWorkerActivity'>> {
  const worker = await findWorker(api, id)
  const settings = await currentSettings(api)
  return {
    worker_id: worker.id,
    idle_detection_enabled: worker.idle_detection_enabled,
    activity: worker.activity,
    pause: worker.pause,
    policy: {
      enabled: settings.idle_detection_enabled && worker.idle_detection_enabled,
      timeout_seconds: settings.idle_timeout_seconds,
      snooze_seconds: settings.idle_snooze_seconds,
      action: effectiveIdleAction(settings),
    },
  }
}
