import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import { spanOf } from '@lcm/domain/calendar/span'
import { ledgerTime } from '@lcm/domain/calendar/worker-ledger'
import { toInstant, toMs } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import { demandOf } from '@lcm/domain/session/demand'
import { place } from '@lcm/domain/session/placement'
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

const MINUTE_MS = 60_000

/** Outcome of scheduling a session now for that time, computed by the scheduler's own functions without side effects. */
export async function previewPlacement(api: Api, id: string, query: QueryOf<'previewPlacement'>): Promise<Preview> {
  const definition = await findDefinition(api, id)
  const nowMs = api.clock.now()
  const [timings, settings] = await Promise.all([currentTimings(api), currentSettings(api)])
  const startMs = Math.max(nowMs, query.start === undefined ? nowMs : toMs(query.start))
  const minutes = query.duration_minutes ?? definition.max_duration_minutes
  const timeslot = { start: toInstant(startMs), end: toInstant(startMs + minutes * MINUTE_MS) }
  const { fromMs, untilMs } = spanOf({ timeslot }, definition, timings, settings)
  const span = { fromMs: Math.max(nowMs, fromMs), untilMs }
  const workers = (await listAllWorkers(api)).filter(({ status }) => status !== 'TERMINATED')
  const names = new Map(workers.map(worker => [worker.id, worker.name]))
  const named = <T extends { worker_id: string }>(each: T) => ({
    ...each,
    worker_name: names.get(each.worker_id) ?? '',
  })
  const { candidates, refusals } = place(demandOf(definition, null, span), workers, ledgerTime(nowMs, timings))
  const shown = { candidates: candidates.map(named), refusals: refusals.map(named) }
  if (definition.topology === null)
    return { ...shown, outcome: 'unschedulable', because: reason('topology_not_fetched') }
  const { steps } = schedule({
    sessions: [newSession('preview', definition, { timeslot, owner: '', by: '', reservation_id: null })],
    definitions: new Map([[definition.id, definition]]),
    workers,
    templates: await listAll(api.templates),
    // As if it were placed now, however late it starts.
    settings: { ...settings, schedule_ahead_minutes: Math.ceil((startMs - nowMs) / MINUTE_MS) },
    timings,
    region: api.config.regions[0],
    leaving: new Map(),
    previous: null,
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
