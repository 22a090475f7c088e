import { CloudError } from '@lcm/cloud/errors'
import { assert } from '@lcm/domain/assert'
import { toInstant } from '@lcm/domain/instant'
import { type Reason, reason, textReason } from '@lcm/domain/reason'
import { type Pipeline, UNTOUCHED } from '@lcm/domain/session/lablet-session'
import {
  begun,
  concluded,
  type NextStep,
  nextStep,
  type StepOutcome,
  type StepPlan,
} from '@lcm/domain/session/pipeline'
import { workerLost } from '@lcm/domain/worker/worker-loss'
import { type ReconciliationResult, requeue } from '@lcm/runtime'
import { reportLab } from '../api-calls.ts'
import type { LabletDependencies } from '../dependencies.ts'
import type { FencedLabs } from '../labs/fenced-labs.ts'
import { scheduleLabDeletion } from '../leave-worker.ts'
import { type ObservedDecision, recordOf } from '../observe.ts'
import { noteOf, type ReportedChanges, type SessionReconcile, writeSession } from '../report.ts'
import { allocatePorts, bindLab, resolveLab } from './lab-bind-steps.ts'
import { awaitLab, publishAccess, startLab } from './lab-start-steps.ts'
import { prepareLab } from './prepare-lab.ts'
import { failed, type RunStep, type StepContext, type StepResult, unlessLate } from './step.ts'
import { TEARDOWN } from './teardown-steps.ts'

/** Reconcile interval of a step in progress. */
const UNDER_WAY_MS = 3_000

/**
 * Ports are allocated before the import, so that a lab is never on CML without them. `tags` imports a new lab, or wipes and
 * checks a reused one.
 */
const INSTANTIATE: Readonly<Record<string, RunStep>> = {
  lab_resolve: resolveLab,
  bind: bindLab,
  ports_alloc: allocatePorts,
  tags: prepareLab,
  lab_start: startLab,
  converged: awaitLab,
  mark_ready: publishAccess,
}

const STEPS: Readonly<Record<Pipeline['name'], Readonly<Record<string, RunStep>>>> = {
  instantiate: INSTANTIATE,
  teardown: TEARDOWN,
}

type DueStep = Exclude<NextStep, { kind: 'rest' | 'done' }>

/** Announces a step; the next reconcile runs it. A step that an earlier leader announced is announced again first. */
export async function runStep(
  parts: LabletDependencies,
  context: SessionReconcile,
  deciding: ObservedDecision,
  next: DueStep,
): Promise<ReconciliationResult> {
  const { pipeline } = context.session
  assert(pipeline !== null, 'a step without a pipeline')
  if (next.kind === 'failed') return giveUp(parts, context, deciding, next)
  const { step: plan } = next
  const now = toInstant(parts.clock.now())
  if (next.kind === 'begin') return announce(parts, context, { pipeline: begun(pipeline, plan, now), plan })
  const asked = parts.memory.current().steps.requestsOf(context.session.id, runOf(pipeline, plan))
  // An earlier leader announced it: after a write of this term that leader can't report on it any more.
  if (asked === null) return announce(parts, context, { pipeline, plan })
  const step = pipeline.steps[plan.name] ?? UNTOUCHED
  const stepContext = stepContextOf(parts, context, deciding, { plan, step, asked })
  return conclude(parts, context, stepContext, await carryOut(STEPS[pipeline.name][plan.name], stepContext))
}

/** Identifies one attempt of one step. */
const runOf = ({ name, attempt, steps }: Pipeline, { name: step }: StepPlan): string =>
  `${name}:${attempt}:${step}:${steps[step]?.attempts ?? 0}`

async function announce(
  { memory }: LabletDependencies,
  context: SessionReconcile,
  { pipeline, plan }: { pipeline: Pipeline; plan: StepPlan },
): Promise<ReconciliationResult> {
  await writeSession(context, { pipeline }, { action: plan.name, because: reason('step_started', { step: plan.name }) })
  memory.current().steps.announced(context.session.id, runOf(pipeline, plan))
  return requeue(`${plan.name} is announced`, 0)
}

function stepContextOf(
  parts: LabletDependencies,
  context: SessionReconcile,
  { seen, labs: cmlLabs }: ObservedDecision,
  at: Pick<StepContext, 'plan' | 'step' | 'asked'>,
): StepContext {
  const { session, signal } = context
  return {
    ...context,
    ...at,
    counters: parts.counters,
    saves: parts.saves,
    worker: seen.worker,
    labs: cmlLabs ?? NO_WORKER,
    definition: () => parts.definitions.get(session.definition.id, signal),
    record: () => recordOf(context),
    labsChanged: () => parts.labsChanged(session.worker_id ?? ''),
  }
}

const noWorker = async (): Promise<never> => {
  throw new Error('the session has no worker')
}
const NO_WORKER: FencedLabs = {
  ownName: noWorker,
  list: noWorker,
  get: noWorker,
  nodes: noWorker,
  isConverged: noWorker,
  import: noWorker,
  start: noWorker,
  stop: noWorker,
  wipe: noWorker,
  delete: noWorker,
  consoleLog: noWorker,
  extractConfiguration: noWorker,
  download: noWorker,
}

/** Error classes of CML that a retry may solve. */
const PASSING: ReadonlySet<string> = new Set(['throttled', 'transient', 'state', 'not_found'])

async function carryOut(run: RunStep | undefined, stepContext: StepContext): Promise<StepResult> {
  assert(run !== undefined, `unknown step ${stepContext.plan.name}`)
  try {
    return await run(stepContext)
  } catch (error) {
    if (!(error instanceof CloudError)) throw error
    if (!PASSING.has(error.errorClass)) return failed(error.message, { definite: false })
    return unlessLate(stepContext, textReason(error.message))
  }
}

async function conclude(
  parts: LabletDependencies,
  context: SessionReconcile,
  stepContext: StepContext,
  result: StepResult,
): Promise<ReconciliationResult> {
  const { plan } = stepContext
  const { pipeline } = context.session
  assert(pipeline !== null, 'a step without a pipeline')
  const { outcome } = result
  const after = concluded(pipeline, plan, outcome, toInstant(parts.clock.now()))
  if (after !== null) return writeOutcome(parts, context, { pipeline: after, plan }, result)
  assert('because' in outcome, `${plan.name} neither ends nor waits for anything`)
  return writeProgress(parts, context, stepContext, { ...result, pipeline, because: outcome.because })
}

interface StepProgress extends StepResult {
  readonly pipeline: Pipeline
  readonly because: Reason
}

/** The step goes on; only its progress and conditions are written. */
async function writeProgress(
  parts: LabletDependencies,
  context: SessionReconcile,
  { plan: { name: action }, step }: StepContext,
  { pipeline, because, progress, conditions }: StepProgress,
): Promise<ReconciliationResult> {
  if (conditions !== undefined) {
    await writeSession(context, { conditions }, { action, because })
    return requeue(because.message, 0)
  }
  if (progress !== undefined && JSON.stringify(progress) !== JSON.stringify(step.output)) {
    const written = { ...pipeline, steps: { ...pipeline.steps, [action]: { ...step, output: progress } } }
    await writeSession(context, { pipeline: written }, { action, because })
  } else {
    // No write records this wait, such as for a CML that does not answer.
    parts.decisions.note(`session:${context.session.id}`, context.epoch, noteOf(context, { action: 'wait', because }))
  }
  return requeue(`${action}: ${because.message}`, UNDER_WAY_MS)
}

/** One write holds the outcome of the step and the next one. */
async function writeOutcome(
  parts: LabletDependencies,
  context: SessionReconcile,
  { pipeline, plan }: { pipeline: Pipeline; plan: StepPlan },
  { outcome, access, version }: StepResult,
): Promise<ReconciliationResult> {
  const nowMs = parts.clock.now()
  const next = nextStep(pipeline, nowMs)
  const follows = next.kind === 'begin' && outcome.kind !== 'failed' ? next.step : null
  const written = follows === null ? pipeline : begun(pipeline, follows, toInstant(nowMs))
  const changes: ReportedChanges = { pipeline: written, ...(access === undefined ? {} : { access }) }
  const because = reasonOf(plan, outcome)
  await writeSession(context, changes, { action: plan.name, because, ...(version === undefined ? {} : { version }) })
  if (follows !== null) parts.memory.current().steps.announced(context.session.id, runOf(written, follows))
  return requeue(`${plan.name}: ${because.message}`, 0)
}

function reasonOf({ name: step }: StepPlan, outcome: StepOutcome): Reason {
  if (outcome.kind === 'failed') return reason('step_failed', { step, error: outcome.error })
  return 'because' in outcome ? outcome.because : reason('step_ended', { step, outcome: outcome.kind })
}

/**
 * A teardown that can't go on. The session ends; its capacity stays reserved until a scan has seen its lab stopped or
 * gone. A lost worker may come back, and then its lab is deleted.
 */
async function giveUp(
  parts: LabletDependencies,
  context: SessionReconcile,
  { seen }: ObservedDecision,
  { step, error }: Extract<NextStep, { kind: 'failed' }>,
): Promise<ReconciliationResult> {
  const because = reason('step_failed', { step: step.name, error })
  const last_error = because.message
  const record = await recordOf(context)
  if (record !== null && workerLost(seen.worker, parts.clock.now()) !== null)
    await scheduleLabDeletion(context, because)
  else if (record !== null)
    await reportLab(context, record.id, {
      changes: { status: 'ERROR', last_error },
      action: step.name,
      because,
    })
  await writeSession(
    context,
    { status: 'STOPPED', last_error: context.session.last_error ?? last_error },
    { action: 'STOPPED', because: reason('teardown_given_up', { step: step.name, error }) },
  )
  parts.counters.add('sessions_stopped')
  return requeue(last_error, 0)
}
