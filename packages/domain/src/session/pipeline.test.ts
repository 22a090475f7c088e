import { describe, expect, it } from 'vitest'
import { toInstant } from '../instant.ts'
import { reason, textReason } from '../reason.ts'
import { PIPELINES, type Pipeline, STEP_STATES, type Step, UNTOUCHED } from './lablet-session.ts'
import {
  begun,
  blocked,
  concluded,
  type NextStep,
  newPipeline,
  nextOf,
  nextStep,
  PIPELINE_STEPS,
  type StepOutcome,
  type StepPlan,
} from './pipeline.ts'

const MINUTE = 60_000
const START = Date.UTC(2026, 0, 2)

/** Runs a pipeline until it is done or has failed, on a clock that runs only during backoffs. */
function run(pipeline: Pipeline, outcomeOf: (name: string, attempt: number) => StepOutcome) {
  let [current, nowMs] = [pipeline, START]
  const carriedOut: string[] = []
  for (let rounds = 0; rounds < 1000; rounds += 1) {
    const next = nextStep(current, nowMs)
    if (next.kind === 'done' || next.kind === 'failed')
      return { pipeline: current, carriedOut, end: next, tookMs: nowMs - START }
    if (next.kind === 'rest') nowMs += next.afterMs
    else if (next.kind === 'begin') current = begun(current, next.step, toInstant(nowMs))
    else {
      carriedOut.push(next.step.name)
      const attempts = current.steps[next.step.name]?.attempts ?? 0
      current = concluded(current, next.step, outcomeOf(next.step.name, attempts), toInstant(nowMs)) ?? current
      nowMs += 5_000
    }
  }
  throw new Error('it never ends')
}

const fine: StepOutcome = { kind: 'completed' }
const broken = (definite = false): StepOutcome => ({ kind: 'failed', error: 'no', definite })
const INSTANTIATE = PIPELINE_STEPS.instantiate.map(({ name }) => name)
const statuses = ({ steps }: Pipeline) => Object.values(steps).map(({ status }) => status)

describe.each(PIPELINES)('%s', name => {
  const names = PIPELINE_STEPS[name].map(step => step.name)

  it('requires only earlier steps, and has every step once', () => {
    expect(new Set(names).size).toBe(names.length)
    for (const [index, { needs }] of PIPELINE_STEPS[name].entries())
      for (const need of needs) expect(names.slice(0, index)).toContain(need)
  })

  it('begins with all steps pending and performs them in order', () => {
    const pipeline = newPipeline(name, 1)
    expect(statuses(pipeline)).toEqual(names.map(() => 'pending'))
    const { carriedOut, end } = run(pipeline, () => fine)
    expect(carriedOut).toEqual(names)
    expect(end).toEqual({ kind: 'done' })
  })

  it('is never done while a step that it needs is neither completed nor skipped', () => {
    for (const status of STEP_STATES)
      for (const step of names) {
        const steps = Object.fromEntries(
          names.map(each => [each, { ...UNTOUCHED, status: 'completed' } satisfies Step]),
        )
        const pipeline: Pipeline = { name, attempt: 1, steps: { ...steps, [step]: { ...UNTOUCHED, status } } }
        const isDone = nextStep(pipeline, START).kind === 'done'
        const isPassed = status === 'completed' || status === 'skipped' || (status === 'failed' && step === 'save')
        expect(isDone, `${step} ${status}`).toBe(isPassed)
      }
  })
})

it('D-1: after step 1 failed, later steps are pending, and the next attempt runs all steps', () => {
  const first = run(newPipeline('instantiate', 1), () => broken(true))
  expect(first.end).toMatchObject({ kind: 'failed', step: { name: 'lab_resolve' }, error: 'no' })
  expect(statuses(first.pipeline)).toEqual(['failed', ...INSTANTIATE.slice(1).map(() => 'pending')])
  const second = run(newPipeline('instantiate', 2), () => fine)
  expect(second.carriedOut).toEqual(INSTANTIATE)
})

it('retries a step that failed once, and then continues with all other steps', () => {
  const { carriedOut, end, pipeline } = run(newPipeline('instantiate', 1), (name, attempt) =>
    name === 'tags' && attempt === 1 ? broken() : fine,
  )
  expect(carriedOut).toEqual([...INSTANTIATE.slice(0, 4), ...INSTANTIATE.slice(3)])
  expect(end.kind).toBe('done')
  expect(pipeline.steps.tags).toMatchObject({ status: 'completed', attempts: 2, error: null })
})

it('fails a step after its last attempt, with backoffs between the attempts', () => {
  const { carriedOut, end, pipeline, tookMs } = run(newPipeline('instantiate', 1), () => broken())
  expect(carriedOut).toEqual(['lab_resolve', 'lab_resolve', 'lab_resolve'])
  expect(end).toMatchObject({ kind: 'failed', error: 'no' })
  expect(pipeline.steps.lab_resolve).toMatchObject({ status: 'failed', attempts: 3, error: 'no' })
  expect(tookMs).toBeGreaterThanOrEqual(30_000)
})

it("fails a step at once when a retry can't help", () => {
  expect(run(newPipeline('instantiate', 1), () => broken(true)).carriedOut).toEqual(['lab_resolve'])
})

it('continues where another leader stopped, with the outputs of earlier steps', () => {
  const [resolve, bind] = PIPELINE_STEPS.instantiate
  if (resolve === undefined || bind === undefined) throw new Error('there are such steps')
  const left = concluded(
    begun(newPipeline('instantiate', 1), resolve, toInstant(START)),
    resolve,
    { kind: 'completed', output: { lab_id: 'lab-1' } },
    toInstant(START),
  )
  if (left === null) throw new Error('it says something')
  const announced = begun(left, bind, toInstant(START))
  const { carriedOut, pipeline } = run(announced, () => fine)
  expect(carriedOut).toEqual(INSTANTIATE.slice(1))
  expect(pipeline.steps.lab_resolve?.output).toEqual({ lab_id: 'lab-1' })
})

it('writes nothing while a step is in progress, and records a skip as skipped', () => {
  const [resolve] = PIPELINE_STEPS.instantiate
  if (resolve === undefined) throw new Error('there is such a step')
  const running = begun(newPipeline('instantiate', 1), resolve, toInstant(START))
  expect(concluded(running, resolve, { kind: 'again', because: textReason('it starts') }, toInstant(START))).toBeNull()
  expect(concluded(running, resolve, { kind: 'skipped' }, toInstant(START))?.steps.lab_resolve?.status).toBe('skipped')
})

describe('a step that takes too long', () => {
  const plans = (more: Partial<StepPlan> = {}): StepPlan[] => [
    { name: 'a', needs: [], timeoutMs: 5 * MINUTE, attemptsMax: 2, ...more },
    { name: 'b', needs: ['a'], timeoutMs: 5 * MINUTE, attemptsMax: 1 },
  ]
  const running = (attempts: number): Pipeline['steps'] => ({
    a: { ...UNTOUCHED, status: 'running', attempts, started_at: toInstant(START) },
  })
  const kindAt = (minutes: number, attempts: number, more: Partial<StepPlan> = {}): [NextStep['kind'], string] => {
    const next = nextOf(plans(more), running(attempts), START + minutes * MINUTE)
    return [next.kind, next.kind === 'done' ? '' : next.step.name]
  }

  it('runs until its timeout, and a little longer, so that the controller can report the reason', () => {
    expect(kindAt(0, 1)).toEqual(['carry_out', 'a'])
    expect(kindAt(6, 1)).toEqual(['carry_out', 'a'])
  })

  it('is started again while it has attempts left, also after hours without a controller', () => {
    expect(kindAt(6.1, 1)).toEqual(['begin', 'a'])
    expect(kindAt(600, 1)).toEqual(['begin', 'a'])
  })

  it('fails when it has no attempts left', () => {
    expect(nextOf(plans(), running(2), START + 7 * MINUTE)).toMatchObject({
      kind: 'failed',
      step: { name: 'a' },
      error: 'timed out after 5 min',
    })
  })

  it('has as much time as the slowest node of its lab needs, with a minimum', () => {
    const limitOf = (boot_s: number) => {
      const done: Step = { ...UNTOUCHED, status: 'completed' }
      const before = Object.fromEntries(PIPELINE_STEPS.instantiate.slice(0, 4).map(({ name }) => [name, done]))
      const steps = { ...before, lab_start: { ...done, output: { boot_s } } }
      const next = nextStep({ name: 'instantiate', attempt: 1, steps }, START)
      return next.kind === 'begin' && next.step.name === 'converged' ? next.step.timeoutMs / MINUTE : null
    }
    expect(limitOf(60)).toBe(30)
    expect(limitOf(3600)).toBe(75)
  })

  it('is skipped when it is optional', () => {
    expect(kindAt(7, 2, { isOptional: true })).toEqual(['begin', 'b'])
  })
})

it('continues without a failed optional step, and not without any other', () => {
  const plans: StepPlan[] = [
    { name: 'a', needs: [], timeoutMs: MINUTE, attemptsMax: 1, isOptional: true },
    { name: 'b', needs: ['a'], timeoutMs: MINUTE, attemptsMax: 1 },
  ]
  const failed: Step = { ...UNTOUCHED, status: 'failed', error: 'no' }
  expect(nextOf(plans, { a: failed }, START)).toMatchObject({ kind: 'begin', step: { name: 'b' } })
  expect(nextOf(plans, { a: failed, b: failed }, START)).toMatchObject({
    kind: 'failed',
    step: { name: 'b' },
    error: 'no',
  })
})

describe('a step that is blocked', () => {
  const [plan] = PIPELINE_STEPS.instantiate
  if (plan === undefined) throw new Error('a pipeline without steps')
  const fresh = newPipeline('instantiate', 1)
  const stepOf = (pipeline: Pipeline | null) => pipeline?.steps[plan.name]
  const because = reason('worker_not_serving', { worker: 'metal-1' })

  it('before it began loses no attempt and no time, and records the reason once', () => {
    const running = begun(fresh, plan, toInstant(START))
    const held = blocked(running, plan, because)
    expect(stepOf(held)).toMatchObject({ status: 'blocked', attempts: 0, started_at: null, error: because.message })
    expect(held && blocked(held, plan, because)).toBeNull()
    const later = START + 24 * 60 * MINUTE
    expect(held && nextStep(held, later)).toMatchObject({ kind: 'begin', step: plan })
    expect(stepOf(held && begun(held, plan, toInstant(later)))).toMatchObject({
      status: 'running',
      attempts: 1,
      error: null,
    })
  })

  it('after it began continues where it was, and is bounded like any other', () => {
    const running = begun(fresh, plan, toInstant(START))
    const held = concluded(running, plan, { kind: 'blocked', because }, toInstant(START))
    expect(stepOf(held)).toMatchObject({ status: 'blocked', attempts: 1, error: because.message })
    if (held === null) throw new Error('nothing was written')
    expect(concluded(held, plan, { kind: 'blocked', because }, toInstant(START))).toBeNull()
    expect(nextStep(held, START + MINUTE).kind).toBe('carry_out')
    const again = concluded(held, plan, { kind: 'again', because }, toInstant(START))
    expect(stepOf(again)).toEqual(stepOf(running))
    expect(nextStep(held, START + plan.timeoutMs + 2 * MINUTE).kind).toBe('begin')
  })
})
