/**
 * Faults of the simulated cloud. Rates are between 0 and 1. Seconds are simulated and scale with the speed, except for
 * held responses, which are network delays.
 */
export interface FaultPlan {
  /** Maximum time during which EC2 doesn't know an id that it has just returned. */
  readonly unknown_at_first_s: number
  /** Share of DescribeInstances calls that show the state of up to this many seconds ago. */
  readonly stale_read_rate: number
  readonly stale_read_s: number
  /** EC2's token buckets per region and action, in real time. */
  readonly request_limits: boolean
  /** Share of zones and types without capacity for launches and starts, drawn every three minutes. */
  readonly capacity_error_rate: number
  /** Per region; null means no limit. */
  readonly vcpu_limit: number | null
  /** Share of launches that terminate in pending, and of starts that return to stopped. */
  readonly pending_death_rate: number
  /** Share of starts after which EC2 announces the machine's retirement within hours. */
  readonly retirement_rate: number
  /**
   * Response to a client token whose machine is terminated: an error as now, or the terminated machine as before 2025.
   */
  readonly token_of_terminated: 'refused' | 'answered'
  /** How long a terminated machine is shown; its tags disappear earlier. */
  readonly terminated_shown_s: number
  readonly terminated_tags_s: number
  /** 500 and 503 before the call has any effect. */
  readonly server_error_rate: number
  /** The connection breaks before the call has any effect, or after all of it. */
  readonly lost_request_rate: number
  readonly lost_answer_rate: number
  /** Responses that are delayed by this many real seconds, if the caller still waits. */
  readonly held_answer_rate: number
  readonly held_answer_s: number
  /** A 200 with no body, half a body, or an HTML page. */
  readonly empty_answer_rate: number
  readonly truncated_answer_rate: number
  readonly html_answer_rate: number
  /** Pages after the first that fail. */
  readonly second_page_error_rate: number
  /** CloudWatch shows a period this long after its end, and leaves out this share of them. */
  readonly metric_delay_s: number
  readonly metric_gap_rate: number
  /** Dimensions of the agent's metrics: the id alone, those that its wizard adds, or no agent. */
  readonly agent_dimensions: 'instance' | 'wizard' | 'none'
}

const TRUTHFUL: FaultPlan = {
  unknown_at_first_s: 0,
  stale_read_rate: 0,
  stale_read_s: 0,
  request_limits: true,
  capacity_error_rate: 0,
  vcpu_limit: null,
  pending_death_rate: 0,
  retirement_rate: 0,
  token_of_terminated: 'refused',
  terminated_shown_s: 3600,
  terminated_tags_s: 3600,
  server_error_rate: 0,
  lost_request_rate: 0,
  lost_answer_rate: 0,
  held_answer_rate: 0,
  held_answer_s: 20,
  empty_answer_rate: 0,
  truncated_answer_rate: 0,
  html_answer_rate: 0,
  second_page_error_rate: 0,
  metric_delay_s: 60,
  metric_gap_rate: 0,
  agent_dimensions: 'instance',
}

export const PRESET_NAMES = ['plain', 'calm', 'realistic', 'hostile'] as const
export type PresetName = (typeof PRESET_NAMES)[number]

/**
 * - plain: the default of a model: no faults and no limits, except that a new id is unknown for a moment
 * - calm: no faults, for a first run
 * - realistic: EC2 on an ordinary day
 * - hostile: every fault at high rates, with which a correct controller still succeeds
 */
export const PRESETS: Readonly<Record<PresetName, FaultPlan>> = {
  plain: { ...TRUTHFUL, unknown_at_first_s: 2, request_limits: false },
  calm: TRUTHFUL,
  realistic: {
    ...TRUTHFUL,
    unknown_at_first_s: 5,
    stale_read_rate: 0.02,
    stale_read_s: 5,
    capacity_error_rate: 0.02,
    pending_death_rate: 0.002,
    retirement_rate: 0.001,
    terminated_tags_s: 900,
    server_error_rate: 0.001,
    lost_request_rate: 0.0005,
    lost_answer_rate: 0.0005,
    metric_delay_s: 120,
    metric_gap_rate: 0.01,
  },
  hostile: {
    ...TRUTHFUL,
    unknown_at_first_s: 30,
    stale_read_rate: 0.2,
    stale_read_s: 30,
    capacity_error_rate: 0.15,
    pending_death_rate: 0.05,
    retirement_rate: 0.03,
    token_of_terminated: 'answered',
    terminated_tags_s: 60,
    server_error_rate: 0.05,
    lost_request_rate: 0.05,
    lost_answer_rate: 0.1,
    held_answer_rate: 0.01,
    empty_answer_rate: 0.02,
    truncated_answer_rate: 0.02,
    html_answer_rate: 0.02,
    second_page_error_rate: 0.1,
    metric_delay_s: 240,
    metric_gap_rate: 0.2,
  },
}

export const isPresetName = (name: unknown): name is PresetName => PRESET_NAMES.some(preset => preset === name)
