import type { CloudError } from '@lcm/cloud/errors'
import { isUp, nodeStateAt } from '@lcm/cloud-sim/cml/labs/lab-element-states'
import { expect, it } from 'vitest'
import { at } from '../mutants/mutant.ts'
import { aClass } from '../stories/class-fixture.ts'
import { labsOver, SILENCES, type Silence } from '../world/cloud-ports.ts'
import { MINUTE_MS } from '../world/durations.ts'
import { CML_LOGIN } from '../world/planted-secrets.ts'
import type { Act } from './act.ts'
import { actContext } from './act-context.ts'
import { perform } from './perform.ts'

const NEVER = new AbortController().signal

/** A running session of two nodes on one machine, with one act at a time. */
async function aHand(seed: number) {
  const { world, operator, manual, learner } = await aClass(seed)
  const { id: worker } = await operator.createAndRun('metal-1')
  const { id } = await learner.book('two', { duration_minutes: 60 })
  await learner.until(id, 'RUNNING', 10 * MINUTE_MS)
  const machine = await manual.machineOf(worker)
  const context = actContext(world, { workers: 1, hours: 1, pace: 'brisk' })
  const nodes = () => world.cloud.cml.contextOf(machine)?.labs[0]?.nodes ?? []
  const url = (await world.worker(worker)).https_endpoint ?? ''
  return {
    ...{ world, manual, machine, login: { ...CML_LOGIN, url, certificate_sha256: null } },
    perform: (act: Act) => perform(context, act),
    view: () => world.cloud.machine(machine),
    nodesUp: () => nodes().filter(node => isUp(nodeStateAt(node, world.time.clock.now()))).length,
    typed: () => nodes().flatMap(({ typed = [] }) => typed.map(({ line }) => line)),
  }
}

it.each(['reboot a machine', 'reboot a machine from inside'] as const)(
  '%s stops labs; EC2 shows no start',
  async act => {
    const { perform, view, nodesUp, world } = await aHand(401)
    const started_at_ms = view()?.instance.started_at_ms
    expect(nodesUp()).toBe(2)
    await perform(at(0, act, { amount: 0.2 }))
    expect(nodesUp()).toBe(0)
    expect(view()).toMatchObject({ state: 'running', stage: 'NOTHING', instance: { started_at_ms } })
    const isShort = act === 'reboot a machine from inside'
    await world.time.runFor(2_000)
    expect(view()?.stage).toBe(isShort ? 'READY' : 'NOTHING')
  },
)

const CODES: Readonly<Record<Silence, string>> = { fails: 'HTTP500', hangs: 'ETIMEDOUT', cut: 'ECONNREFUSED' }

it.each(SILENCES)('a CML server that is silent (%s) leaves its labs running', async how => {
  const { perform, machine, manual, nodesUp, world, login } = await aHand(402)
  await perform(at(0, 'silence a CML server', { amount: 0.5 }))
  manual.silence(machine, how)
  const labs = labsOver(world.cloud, world.access, {
    faults: world.faults,
    random: world.chance,
    clock: world.time.clock,
  })
  const refusal = labs.list(login, NEVER).catch((error: CloudError) => error.code)
  await world.time.runFor(14 * MINUTE_MS)
  expect(await refusal).toBe(CODES[how])
  expect(nodesUp()).toBe(2)
  await world.time.runFor(2 * MINUTE_MS)
  expect(await labs.list(login, NEVER)).toHaveLength(1)
})

it('a learner types, stops one node, then the other, and starts the lab again', async () => {
  const { perform, nodesUp, typed, world } = await aHand(403)
  await perform(at(0, 'change a configuration', { target: 0.2 }))
  expect(typed()).toEqual(['description 0.2'])
  await perform(at(0, 'stop a node by hand'))
  await world.time.runFor(MINUTE_MS)
  expect([nodesUp(), world.ownerChanges.stops.size]).toEqual([1, 0])
  await perform(at(0, 'stop a node by hand', { amount: 0.9 }))
  await world.time.runFor(MINUTE_MS)
  expect([nodesUp(), world.ownerChanges.stops.size]).toEqual([0, 1])
  await perform(at(0, 'start a lab by hand'))
  await world.time.runFor(MINUTE_MS)
  expect([nodesUp(), world.ownerChanges.stops.size]).toEqual([2, 0])
})
