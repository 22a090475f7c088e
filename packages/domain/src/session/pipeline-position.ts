import { type LabletSession, type Pipeline, type Step, UNTOUCHED } from './lablet-session.ts'
import { PIPELINE_STEPS } from './pipeline.ts'

export interface NamedStep extends Step {
  readonly name: string
}

/** In the order of execution, however they are stored. */
export const stepsOf = ({ name, steps }: Pipeline): NamedStep[] =>
  PIPELINE_STEPS[name].map(plan => ({ ...(steps[plan.name] ?? UNTOUCHED), name: plan.name }))

export interface PipelinePosition {
  readonly step: NamedStep
  /** The first is 1. */
  readonly number: number
  readonly count: number
}

/** The current step of a session's pipeline; null when it has none, or all are complete. */
export function positionIn({ pipeline }: Pick<LabletSession, 'pipeline'>): PipelinePosition | null {
  if (pipeline === null) return null
  const steps = stepsOf(pipeline)
  const at = steps.findIndex(({ status }) => status !== 'completed' && status !== 'skipped')
  const step = steps[at]
  return step === undefined ? null : { step, number: at + 1, count: steps.length }
}
