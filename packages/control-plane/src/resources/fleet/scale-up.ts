import { createHash } from 'node:crypto'
import { refusedBy } from '@lcm/contract/problems'
import type { AnswerOf, BodyOf } from '@lcm/contract/routes'
import type { FleetScaling } from '@lcm/domain/fleet/fleet-scaling'
import { diskUsdPerGbMonth, diskUsdPerHour } from '@lcm/domain/fleet/machine-facts'
import type { SettingValues } from '@lcm/domain/fleet/settings'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import { type Reason, reason } from '@lcm/domain/reason'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import { type Worker, workerOfTemplate } from '@lcm/domain/worker/worker'
import type { NewEntry } from '@lcm/store/store'
import type { Api, Request } from '../../api-context.ts'
import { ID_RANDOM_BYTES, makeId } from '../ids.ts'
import { auditEntry, scalingEntry, transitionEntry } from '../journal/entries.ts'
import { assignSeats, reserveSeats } from '../license/assign-seats.ts'
import { currentSettings } from '../settings/queries.ts'
import { usableRegion, usableTemplate } from '../worker/create-worker.ts'
import { findWorker, listAllWorkers } from '../worker/queries.ts'
import { workerView } from '../worker/worker-view.ts'
import { type Affordable, affordable } from './budget-windows.ts'
import { changeScaling } from './change-fleet-scaling.ts'
import { recordRefusal } from './record-refusal.ts'

type ScaleUpRequest = Request<object, unknown, BodyOf<'scaleUp'>>
type Purchase = FleetScaling['purchases'][string]

/** Workers of an older purchase that don't exist were removed, or will never be created. */
const MAKING_MS_MAX = 10 * 60_000

/**
 * Buys the workers of one purchase. The purchase, with the ids of its workers, is stored before the first worker, so that a
 * retry after a crash creates the same workers and no more. Every doubt is a refusal.
 */
export async function scaleUp(
  api: Api,
  request: ScaleUpRequest,
): Promise<{ body: AnswerOf<'scaleUp'>; isNew: boolean }> {
  const { body } = request
  const template = await usableTemplate(api, body.template_name)
  usableRegion(api, body.aws_region)
  const settings = await currentSettings(api)
  const place = placeOf(body)
  const planned = idsOf(api, body).map(id => ({ id, name: workerOfTemplate(id, template, '').name }))
  let isNew = false
  const scaling = await changeScaling(
    api,
    async (current, now) => {
      isNew = false
      if (current.purchases[place]?.key === body.key) return null
      const workers = await listAllWorkers(api, { aws_region: body.aws_region })
      const context = { settings, workers, scaling: current, now }
      const granted = await affordable(api, context, { ...pricesOf(api, template, body.aws_region), ...body })
      const refusal = refusalOf(body, granted, context)
      if (refusal !== null) throw refusedBy('scale_up_rejected', refusal)
      const offered = planned.slice(0, granted.count)
      const unlicensed = await reserveSeats(api, template.license_product, offered)
      if (unlicensed !== null) throw refusedBy('scale_up_rejected', unlicensed)
      isNew = true
      const { count } = granted
      const purchase = { key: body.key, count, worker_ids: offered.map(({ id }) => id), at: now }
      const entries = [scalingEntry('scale_up_accepted', now, { ...body, count, worker_ids: purchase.worker_ids })]
      const purchases = { ...awaitedPurchases(body.aws_region, context), [place]: purchase }
      const commitments = granted.commitments(purchase.worker_ids)
      return { scaling: { ...current, purchases, commitments }, entries }
    },
    request,
  ).catch(error => recordRefusal(api, place, body, error))
  const purchase = scaling.purchases[place]
  const created = await createWorkers(api, request, template, purchase)
  const isPooled = await assignSeats(api, template.license_product)
  const made = isPooled ? await Promise.all(created.map(({ id }) => findWorker(api, id))) : created
  const views = await Promise.all(made.map(worker => workerView(api, worker)))
  return {
    body: { workers: views, because: reason('purchase', { key: body.key, count: purchase?.count ?? 0 }) },
    isNew,
  }
}

const pricesOf = (api: Api, { cost_per_hour_usd, root_volume_gb }: WorkerTemplate, region: string) => ({
  usdPerHour: cost_per_hour_usd,
  diskUsdPerHour: diskUsdPerHour(root_volume_gb, diskUsdPerGbMonth(region, api.config.regionFacts ?? {})),
})

/** Ids are derived from the key, so that a retry finds the same ones. */
function idsOf(api: Api, { key, template_name, aws_region, count }: ScaleUpRequest['body']): string[] {
  const now = api.clock.now()
  return Array.from({ length: count }, (_, n) => {
    const digest = createHash('sha256').update(`${template_name}|${aws_region}|${key}|${n}`).digest()
    return makeId('w', now, digest.subarray(0, ID_RANDOM_BYTES))
  })
}

interface PurchaseContext {
  readonly settings: SettingValues
  readonly workers: readonly Worker[]
  readonly scaling: FleetScaling
  readonly now: Instant
}

function refusalOf(body: ScaleUpRequest['body'], granted: Affordable, context: PurchaseContext): Reason | null {
  const { settings, workers, scaling } = context
  const last = scaling.purchases[placeOf(body)]
  if (!settings.scale_up_enabled) return reason('scale_up_disabled')
  if (scaling.held_since !== null) return reason('fleet_held')
  const present = presentIn(body.aws_region, context)
  const limit = settings.max_workers_per_region
  if (present + body.count > limit)
    return reason('region_limit', { region: body.aws_region, workers: present, count: body.count, limit })
  if (granted.count === 0) return granted.refusal
  if (last === undefined) return null
  const seconds = cooldownOf(last, context)
  if (seconds > 0) return reason('scale_up_cooldown', { template: body.template_name, last_at: last.at, seconds })
  const inProgress = workersInProgress(last, workers)
  return inProgress > 0 ? reason('scale_up_in_progress', { workers: inProgress }) : null
}

const placeOf = ({ template_name, aws_region, group }: ScaleUpRequest['body']): string =>
  `${template_name}/${aws_region}${group === '' ? '' : `/${group}`}`
const isIn = (region: string, place: string): boolean => place.split('/')[1] === region

const cooldownOf = ({ at }: Purchase, { settings, now }: Pick<PurchaseContext, 'settings' | 'now'>): number =>
  Math.ceil(settings.scale_up_cooldown_seconds - (toMs(now) - toMs(at)) / 1000)

const workersInProgress = ({ worker_ids }: Purchase, workers: readonly Worker[]): number =>
  worker_ids.filter(id => isInProgress(workers.find(each => each.id === id))).length

const isBeingMade = ({ at }: Purchase, now: Instant): boolean => toMs(now) - toMs(at) < MAKING_MS_MAX

/** A purchase that no other one must wait for is forgotten: every hour with sessions has one of its own. */
function awaitedPurchases(region: string, context: PurchaseContext): FleetScaling['purchases'] {
  const { scaling, workers, now } = context
  const isAwaited = (purchase: Purchase): boolean =>
    isBeingMade(purchase, now) || cooldownOf(purchase, context) > 0 || workersInProgress(purchase, workers) > 0
  return Object.fromEntries(
    Object.entries(scaling.purchases).filter(([place, purchase]) => !isIn(region, place) || isAwaited(purchase)),
  )
}

/** Workers of the region, and granted ones that are still to be created. */
function presentIn(region: string, { workers, scaling, now }: PurchaseContext): number {
  const known = new Set(workers.map(worker => worker.id))
  const granted = Object.entries(scaling.purchases).filter(
    ([place, purchase]) => isIn(region, place) && isBeingMade(purchase, now),
  )
  const toBeCreated = granted.flatMap(([, purchase]) => purchase.worker_ids.filter(id => !known.has(id)))
  return workers.filter(each => each.status !== 'TERMINATED').length + toBeCreated.length
}

/**
 * DRAINING and later statuses don't count: they may take hours. A worker that was stopped before its launch stays PENDING
 * until a person starts it. UNKNOWN counts as in progress.
 */
const isInProgress = (worker: Worker | undefined): boolean =>
  worker?.desired_status === 'RUNNING' && ['PENDING', 'PROVISIONING', 'STARTING', 'UNKNOWN'].includes(worker.status)

async function createWorkers(
  api: Api,
  { actor, body, fence }: ScaleUpRequest,
  template: WorkerTemplate,
  purchase: Purchase | undefined,
): Promise<Worker[]> {
  const made: Worker[] = []
  // Workers that don't exist by then were removed, and are not bought a second time.
  const isOver = purchase === undefined || !isBeingMade(purchase, toInstant(api.clock.now()))
  for (const id of purchase?.worker_ids ?? []) {
    const worker: Worker = {
      ...workerOfTemplate(id, template, purchase?.at ?? ''),
      origin: 'SCALE_UP',
      aws_region: body.aws_region,
      desired_by: actor.name,
      desired_reason: `for ${body.session_ids.length} waiting sessions`,
      wanted_by: body.session_ids,
      fence: actor.service === null || fence === null ? {} : { [actor.service]: fence },
    }
    const entries = [
      auditEntry(actor, 'create', worker.created_at, { after: { name: worker.name, template_name: template.name } }),
      ...worker.state_history.map(change => transitionEntry(change, actor.name)),
    ]
    const stored = (await api.workers.get(id)) ?? (isOver ? null : await inserted(api, worker, entries))
    if (stored !== null) made.push(stored)
  }
  return made
}

async function inserted(api: Api, worker: Worker, entries: readonly NewEntry[]): Promise<Worker | null> {
  return (await api.workers.insert(worker, entries)).ok ? worker : api.workers.get(worker.id)
}
