import type { AnswerOf, BodyOf } from '@lcm/contract/routes'
import { toMs } from '@lcm/domain/instant'
import type { Api, Request } from '../../http/api.ts'
import { currentSettings } from '../settings/queries.ts'
import { removeWorker } from './delete-worker.ts'
import { listAllWorkers } from './queries.ts'

const DAY_MS = 86_400_000

/** Removes records of workers that were terminated long ago. Leaked licences stay on record. */
export async function cleanUpWorkers(
  api: Api,
  { body, actor }: Request<object, unknown, BodyOf<'cleanUpWorkers'>>,
): Promise<AnswerOf<'cleanUpWorkers'>> {
  const days = body.retention_days ?? (await currentSettings(api)).terminated_retention_days
  const before = api.clock.now() - days * DAY_MS
  const terminated = await listAllWorkers(api, { status: 'TERMINATED' })
  const old = terminated.filter(worker => toMs(worker.entered_status_at) < before)
  const removed: string[] = []
  for (const worker of old) if (body.dry_run || (await removeWorker(api, worker, actor))) removed.push(worker.id)
  return { removed, dry_run: body.dry_run }
}
