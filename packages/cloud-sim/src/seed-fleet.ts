import { TAG } from '@lcm/domain/worker/ec2-instance'
import { describeImages } from './ec2/images.ts'
import { stopInstances, terminateInstances } from './ec2/power.ts'
import { REGIONS } from './ec2/regions-and-instance-types.ts'
import { runInstances } from './ec2/run-instances.ts'
import { PRESETS } from './faults/fault-plan.ts'
import { within } from './seeded-random.ts'
import type { SimState } from './sim-state.ts'

const DAY_S = 86_400
const FATES = ['running', 'running', 'running', 'stopped', 'stopped', 'running', 'pending', 'terminated'] as const
type Fate = (typeof FATES)[number]

const TYPES: readonly string[] = ['m5zn.metal', 'm5zn.metal', 'm8i.12xlarge', 'c5.metal', 'm8i.4xlarge']
const TEAMS: readonly string[] = ['enarsi', 'sdwan', 'collab', 'devnet', 'security']
/** Every n-th machine belongs to another LCM. */
const FOREIGN_EVERY = 5

/** Machines created manually over the last weeks, for discovery to find: in several states, types and regions. */
export function seedFleet(sim: SimState, count: number): void {
  if (sim.launchCount() > 0) return
  for (let n = 0; n < count; n++) plantOne(sim, n)
}

function plantOne(sim: SimState, n: number): void {
  const draw = (purpose: string) => sim.chance.fraction('fleet', purpose, n)
  const fate: Fate = FATES[n % FATES.length] ?? 'running'
  const ageMs = fate === 'pending' ? 0 : within([2 * DAY_S, 30 * DAY_S], draw('age')) * 1000
  const region = REGIONS[n % REGIONS.length] ?? REGIONS[0]
  if (!region) return
  const instance_type = TYPES[Math.floor(draw('type') * TYPES.length)] ?? 'c5.metal'
  const subnet = region.subnets[Math.floor(draw('subnet') * 2)]
  const launched = runInstances(past(sim, ageMs), region.name, {
    image_id: newestImageIn(region.name),
    instance_type,
    subnet_id: subnet?.subnet_id ?? null,
    client_token: null,
    count: 1,
    nested_virtualization: instance_type.startsWith('m8i'),
    tags: tagsOf(n, TEAMS[Math.floor(draw('team') * TEAMS.length)] ?? 'devnet'),
    canonical: '',
  })
  const ids = launched.map(instance => instance.instance_id)
  if (fate === 'stopped') stopInstances(past(sim, ageMs / 2), region.name, { ids, force: false })
  // EC2 shows a terminated machine for one simulated hour, so it terminates just now.
  if (fate === 'terminated') terminateInstances(past(sim, 600_000 / sim.speed), region.name, ids)
}

/** The state at that time, without faults. */
function past(sim: SimState, agoMs: number): SimState {
  const atMs = sim.now() - agoMs
  const state = { ...sim.faults.state(), plan: PRESETS.calm, scarce: [] }
  return { ...sim, now: () => atMs, faults: { ...sim.faults, plan: () => PRESETS.calm, state: () => state } }
}

function newestImageIn(region: string): string {
  const filters = [{ name: 'state', values: ['available'] }]
  const query = { image_ids: [], owners: ['self'], filters, max_results: null, next_token: null }
  return describeImages(region, query).items.at(-1)?.image_id ?? ''
}

function tagsOf(n: number, team: string): Readonly<Record<string, string>> {
  const tags = { [TAG.name]: `cml-${team}-${String(n + 1).padStart(2, '0')}`, [TAG.discovery]: 'true', team }
  return n % FOREIGN_EVERY === FOREIGN_EVERY - 1 ? { ...tags, [TAG.fleet]: 'another-lcm' } : tags
}
