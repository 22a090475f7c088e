import type { AnswerOf } from '@lcm/contract/routes'
import { toInstant } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import { demandOf, place } from '@lcm/domain/session/placement'
import { schedule } from '@lcm/domain/session/scheduling'
import type { SchedulingStep } from '@lcm/domain/session/scheduling-types'
import type { Api } from '../../api-context.ts'
import { listAll } from '../list-documents.ts'
import { newSession } from '../session/new-session-document.ts'
import { currentSettings } from '../settings/queries.ts'
import { currentTimings } from '../timing/queries.ts'
import { listAllWorkers } from '../worker/queries.ts'
import { findDefinition } from './queries.ts'

type Preview = AnswerOf<'previewPlacement'>

/** Outcome of scheduling a session now, computed by the scheduler's own functions without side effects. */
export async function previewPlacement(api: Api, id: string): Promise<Preview> {
  const definition = await findDefinition(api, id)
  const workers = (await listAllWorkers(api)).filter(({ status }) => status !== 'TERMINATED')
  const names = new Map(workers.map(worker => [worker.id, worker.name]))
  const named = <T extends { worker_id: string }>(each: T) => ({
    ...each,
    worker_name: names.get(each.worker_id) ?? '',
  })
  const { candidates, refusals } = place(demandOf(definition), workers)
  const shown = { candidates: candidates.map(named), refusals: refusals.map(named) }
  if (definition.topology === null)
    return { ...shown, outcome: 'unschedulable', because: reason('topology_not_fetched') }
  const nowMs = api.clock.now()
  const timeslot = { start: toInstant(nowMs), end: toInstant(nowMs + definition.max_duration_minutes * 60_000) }
  const steps = schedule({
    sessions: [newSession('preview', definition, { timeslot, owner: '', by: '', reservation_id: null })],
    definitions: new Map([[definition.id, definition]]),
    workers,
    templates: await listAll(api.templates),
    settings: await currentSettings(api),
    timings: await currentTimings(api),
    region: api.config.regions[0],
    leaving: new Map(),
    nowMs,
  })
  return { ...shown, ...outcomeOf(steps) }
}

function outcomeOf(steps: readonly SchedulingStep[]): Pick<Preview, 'outcome' | 'because'> {
  const because = steps.map(step => step.because)[0] ?? reason('nothing_to_do')
  const kinds = new Set(steps.map(({ kind }) => kind))
  if (kinds.has('assign')) return { outcome: 'place', because }
  if (kinds.has('scale_up')) return { outcome: 'scale_up', because }
  if (kinds.has('resume')) return { outcome: 'resume', because }
  const isForGood = steps.some(step => step.kind === 'wait' && step.forGood)
  return { outcome: isForGood ? 'unschedulable' : 'wait', because }
}
