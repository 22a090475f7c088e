import type { BodyOf } from '@lcm/contract/routes'
import type { Api, Request } from '../../http/api.ts'
import { STREAMS } from '../journal/entries.ts'
import { findWorker } from './queries.ts'

/** A sample belongs to no version of the worker and wakes nobody. */
export async function reportMetrics(
  api: Api,
  { params, body }: Request<{ id: string }, unknown, BodyOf<'reportWorkerMetrics'>>,
): Promise<null> {
  const { id } = await findWorker(api, params.id)
  await api.store.series.append([{ series: `worker:${id}`, at: body.collected_at, body }])
  return null
}

/** Decisions that no write carries. Their ids are the controller's, so that a repeated request records them once. */
export async function recordDecisions(
  api: Api,
  { body, actor }: Request<object, unknown, BodyOf<'recordDecisions'>>,
): Promise<null> {
  const service = actor.service ?? ''
  await api.store.journal.append(
    body.decisions.map(({ id, at, resource, ...note }) => ({
      id: `${service}:${id}`,
      stream: STREAMS.decision,
      subject: resource,
      at,
      body: { service, epoch: body.epoch, ...note },
    })),
  )
  return null
}
