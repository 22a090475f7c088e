import type { SimInstance } from '../ec2/instance.ts'
import type { FaultPlan } from '../faults/fault-plan.ts'
import type { Dimension } from './metric.ts'

/** Inputs of a metric at one moment, each between 0 and 1. */
export interface Drive {
  /** Load of the machine. */
  readonly load: number
  /** Random per step. */
  readonly noise: number
  /** Random per machine, constant over time. */
  readonly nature: number
}

/** A metric that every machine publishes. */
export interface Measure {
  readonly namespace: 'AWS/EC2' | 'CWAgent'
  readonly name: string
  readonly unit: 'Percent' | 'Bytes' | 'Count'
  /** Interval between its points. */
  readonly stepMs: number
  /** Value of one step. An amount is divided among the samples, a level is the same in each. */
  readonly kind: 'level' | 'amount'
  value(drive: Drive): number
}

const MINUTE_MS = 60_000
const FIVE_MINUTES_MS = 5 * MINUTE_MS
const MB = 1_000_000

const percent = (value: number) => Math.min(100, Math.max(0, value))
const wavering = ({ noise }: Drive) => 0.8 + 0.4 * noise

const amount = (name: string, unit: 'Bytes' | 'Count', value: (drive: Drive) => number): Measure => ({
  namespace: 'AWS/EC2',
  name,
  unit,
  stepMs: FIVE_MINUTES_MS,
  kind: 'amount',
  value: drive => Math.round(value(drive) * wavering(drive)),
})

const check = (name: string): Measure => ({
  namespace: 'AWS/EC2',
  name,
  unit: 'Count',
  stepMs: MINUTE_MS,
  kind: 'level',
  value: () => 0,
})

const agent = (name: string, value: (drive: Drive) => number): Measure => ({
  namespace: 'CWAgent',
  name,
  unit: 'Percent',
  stepMs: MINUTE_MS,
  kind: 'level',
  value: drive => percent(value(drive)),
})

export const MEASURES: readonly Measure[] = [
  {
    namespace: 'AWS/EC2',
    name: 'CPUUtilization',
    unit: 'Percent',
    stepMs: FIVE_MINUTES_MS,
    kind: 'level',
    value: drive => percent(2 + 88 * drive.load * wavering(drive)),
  },
  amount('NetworkIn', 'Bytes', ({ load }) => (2 + 300 * load) * MB),
  amount('NetworkOut', 'Bytes', ({ load }) => (1 + 180 * load) * MB),
  amount('NetworkPacketsIn', 'Count', ({ load }) => 3000 + 250_000 * load),
  amount('NetworkPacketsOut', 'Count', ({ load }) => 2000 + 160_000 * load),
  amount('EBSReadBytes', 'Bytes', ({ load }) => (1 + 120 * load) * MB),
  amount('EBSWriteBytes', 'Bytes', ({ load }) => (4 + 260 * load) * MB),
  amount('EBSReadOps', 'Count', ({ load }) => 50 + 6000 * load),
  amount('EBSWriteOps', 'Count', ({ load }) => 200 + 14_000 * load),
  check('StatusCheckFailed'),
  check('StatusCheckFailed_Instance'),
  check('StatusCheckFailed_System'),
  agent('mem_used_percent', drive => 18 + 65 * drive.load + 2 * drive.noise),
  agent('disk_used_percent', drive => 25 + 30 * drive.nature + drive.noise),
]

const INSTANCE_ID = 'InstanceId'

/** Dimension sets under which a machine publishes a metric. Those of the agent depend on its setup. */
export function dimensionSets(
  measure: Measure,
  instance: SimInstance,
  agentDimensions: FaultPlan['agent_dimensions'],
): readonly (readonly Dimension[])[] {
  const own: readonly Dimension[] = [{ name: INSTANCE_ID, value: instance.instance_id }]
  if (measure.namespace === 'AWS/EC2') return [own]
  if (agentDimensions === 'none') return []
  const wizard = [...own, ...WIZARD.map(({ name, of }) => ({ name, value: of(instance) })), ...diskOf(measure)]
  return agentDimensions === 'instance' ? [own, wizard] : [wizard]
}

const WIZARD: readonly { readonly name: string; of(instance: SimInstance): string }[] = [
  { name: 'ImageId', of: instance => instance.image_id },
  { name: 'InstanceType', of: instance => instance.instance_type },
]

const diskOf = (measure: Measure): readonly Dimension[] =>
  measure.name === 'disk_used_percent'
    ? [
        { name: 'path', value: '/' },
        { name: 'device', value: 'nvme0n1p1' },
        { name: 'fstype', value: 'ext4' },
      ]
    : []

export const instanceIdIn = (dimensions: readonly Dimension[]): string | null =>
  dimensions.find(({ name }) => name === INSTANCE_ID)?.value ?? null
