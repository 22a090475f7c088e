import { type FaultPlan, isPresetName, PRESET_NAMES, PRESETS, type PresetName } from './fault-plan.ts'

/** An invalid fault plan was requested. The message lists valid values. */
export class FaultPlanError extends Error {
  override readonly name = 'FaultPlanError'
}

interface Rule {
  readonly wanted: string
  fits(value: unknown): boolean
}

const isNumber = (value: unknown, most: number) => typeof value === 'number' && value >= 0 && value <= most
const SECONDS_MAX = 7 * 86_400

const rate: Rule = { wanted: 'a share from 0 to 1, such as 0.05', fits: value => isNumber(value, 1) }
const seconds: Rule = { wanted: `seconds from 0 to ${SECONDS_MAX}`, fits: value => isNumber(value, SECONDS_MAX) }
const flag: Rule = { wanted: 'true or false', fits: value => typeof value === 'boolean' }
const oneOf = (...words: readonly string[]): Rule => ({
  wanted: `one of ${words.join(', ')}`,
  fits: value => words.some(word => word === value),
})

const RULES: Readonly<Record<keyof FaultPlan, Rule>> = {
  unknown_at_first_s: seconds,
  stale_read_rate: rate,
  stale_read_s: seconds,
  request_limits: flag,
  capacity_error_rate: rate,
  vcpu_limit: {
    wanted: 'a whole number of vCPUs, or null for no limit',
    fits: value => value === null || (Number.isInteger(value) && isNumber(value, 1e9)),
  },
  pending_death_rate: rate,
  retirement_rate: rate,
  token_of_terminated: oneOf('refused', 'answered'),
  terminated_shown_s: seconds,
  terminated_tags_s: seconds,
  server_error_rate: rate,
  lost_request_rate: rate,
  lost_answer_rate: rate,
  held_answer_rate: rate,
  held_answer_s: seconds,
  empty_answer_rate: rate,
  truncated_answer_rate: rate,
  html_answer_rate: rate,
  second_page_error_rate: rate,
  metric_delay_s: seconds,
  metric_gap_rate: rate,
  agent_dimensions: oneOf('instance', 'wizard', 'none'),
}

const isField = (name: string): name is keyof FaultPlan => Object.hasOwn(RULES, name)

/** Applies the changes to the plan; an invalid change rejects all of them. */
export function patchPlan(plan: FaultPlan, patch: object): FaultPlan {
  for (const [name, value] of Object.entries(patch)) {
    if (!isField(name)) {
      throw new FaultPlanError(`there is no fault "${name}"; there are ${Object.keys(RULES).join(', ')}`)
    }
    if (!RULES[name].fits(value)) throw new FaultPlanError(`${name} must be ${RULES[name].wanted}`)
  }
  return { ...plan, ...patch }
}

export function presetNamed(name: unknown): { readonly name: PresetName; readonly plan: FaultPlan } {
  if (isPresetName(name)) return { name, plan: PRESETS[name] }
  throw new FaultPlanError(`there is no preset "${String(name)}"; there are ${PRESET_NAMES.join(', ')}`)
}
