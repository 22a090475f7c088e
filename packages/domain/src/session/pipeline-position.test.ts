import { expect, it } from 'vitest'
import { newPipeline, PIPELINE_STEPS } from './pipeline.ts'
import { positionIn, stepsOf } from './pipeline-position.ts'

const pipeline = newPipeline('instantiate', 1)
const names = PIPELINE_STEPS.instantiate.map(({ name }) => name)
const done = (status: 'completed' | 'skipped', ...some: string[]) =>
  Object.fromEntries(some.map(name => [name, { ...stepsOf(pipeline)[0], status }]))

it('keeps the steps in order, however they are stored', () => {
  const steps = Object.fromEntries(Object.entries(pipeline.steps).reverse())
  expect(stepsOf({ ...pipeline, steps }).map(({ name }) => name)).toEqual(names)
  expect(stepsOf({ ...pipeline, steps: {} })).toEqual(stepsOf(pipeline))
})

it('is at the first step that is neither completed nor skipped', () => {
  expect(positionIn({ pipeline })).toMatchObject({ step: { name: 'lab_resolve' }, number: 1, count: 7 })
  const behind = { ...done('completed', 'lab_resolve', 'bind'), ...done('skipped', 'ports_alloc') }
  const steps = Object.assign({}, pipeline.steps, behind)
  expect(positionIn({ pipeline: { ...pipeline, steps } })).toMatchObject({
    step: { name: 'tags' },
    number: 4,
    count: 7,
  })
})

it('is null without a pipeline, and at its end', () => {
  expect(positionIn({ pipeline: null })).toBeNull()
  const steps = Object.assign({}, pipeline.steps, done('completed', ...names))
  expect(positionIn({ pipeline: { ...pipeline, steps } })).toBeNull()
})
