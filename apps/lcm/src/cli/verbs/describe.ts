import { type Client, unlessMissing } from '@lcm/client/client'
import { readTimings } from '@lcm/client/read-timings'
import { isLearner } from '@lcm/contract/route-spec'
import type { Command } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { describeDefinition } from '../definition/definition-description.ts'
import { findDefinition, findLab, findSession, findWorker, workerLabel } from '../find-resource.ts'
import { invocation } from '../invocation.ts'
import { describeLab } from '../lab/lab-description.ts'
import { describeLicensePool, LICENSE_POOLS } from '../license/license-pool-kind.ts'
import { SERVICES } from '../resource-kinds.ts'
import { describeSave } from '../save/save-commands.ts'
import { findSave, newestSave } from '../save/save-kind.ts'
import { describeService } from '../service/service-description.ts'
import { describeSession } from '../session/session-description.ts'
import type { Colors } from '../terminal/output.ts'
import { readSlotEnds } from '../worker/drain-wait-goal.ts'
import { describeWorker } from '../worker/worker-description.ts'

type Description = (nowMs: number, colors: Colors) => string[]

interface Describable {
  readonly singular: string
  readonly summary: string
  read(client: Client, idOrName: string, signal: AbortSignal): Promise<Description>
}

const NOUNS: readonly Describable[] = [
  {
    singular: 'worker',
    summary: 'Show a worker: status, boot stages, launch and history',
    async read(client, idOrName, signal) {
      const worker = await findWorker(client, idOrName, signal)
      const ends = await readSlotEnds(worker, client, signal)
      return (nowMs, colors) => describeWorker(worker, nowMs, colors, ends)
    },
  },
  {
    singular: 'definition',
    summary: 'Show a definition: resource needs, maximum duration, when its lab starts and access',
    async read(client, idOrName, signal) {
      const definition = await findDefinition(client, idOrName, signal)
      const [timings, { settings }] = await Promise.all([
        readTimings(client, signal),
        client.call('getSettings', { signal }),
      ])
      const lead = timings.lead(definition, { boot_lead_minutes: settings.boot_lead_minutes.value })
      return (nowMs, colors) => describeDefinition({ definition, lead }, nowMs, colors)
    },
  },
  {
    singular: 'session',
    summary: 'Show a session: timeslot, worker, steps, access and history',
    async read(client, id, signal) {
      const session = await findSession(client, id, signal)
      const [label, save, { actor }] = await Promise.all([
        workerLabel(client, session.worker_id, signal),
        newestSave(client, session, signal),
        client.call('info', { signal }),
      ])
      const described = { session, workerLabel: label, save, isForLearner: isLearner(actor) }
      return (nowMs, colors) => describeSession(described, nowMs, colors)
    },
  },
  {
    singular: 'lab',
    summary: 'Show a lab: nodes, ports and runs',
    async read(client, idOrTitle, signal) {
      const lab = await findLab(client, idOrTitle, signal)
      const [label, worker] = await Promise.all([
        workerLabel(client, lab.worker_id, signal),
        unlessMissing(client.call('getWorker', { params: { id: lab.worker_id }, signal })),
      ])
      const described = { lab, workerLabel: label, worker }
      return (nowMs, colors) => describeLab(described, nowMs, colors)
    },
  },
  {
    singular: 'save',
    summary: 'Show a save: its session and the nodes that were skipped',
    async read(client, id, signal) {
      const save = await findSave(client, id, signal)
      return (nowMs, colors) => describeSave(save, nowMs, colors)
    },
  },
  {
    singular: 'license-pool',
    summary: 'Show a license pool: its seats, who holds them and who waits',
    async read(client, product, signal) {
      const pool = await LICENSE_POOLS.find(client, product, signal)
      return (nowMs, colors) => describeLicensePool(pool, nowMs, colors)
    },
  },
  {
    singular: 'service',
    summary: 'Show a controller: replicas, leader and problems',
    async read(client, name, signal) {
      const service = await SERVICES.find(client, name, signal)
      return (nowMs, colors) => describeService(service, nowMs, colors)
    },
  },
]

export function defineDescribe(describe: Command, shell: Shell): void {
  for (const { singular, summary, read } of NOUNS)
    describe
      .command(`${singular} <id>`)
      .alias(`${singular}s`)
      .description(summary)
      .action(async (idOrName: string, _: unknown, command: Command) => {
        const { output, connect } = invocation(command, shell)
        const { client } = await connect()
        const description = await read(client, idOrName, shell.signal)
        description(shell.clock.now(), output.colors).forEach(output.out)
      })
  describe.addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
Examples:
  lcm describe worker metal-3
  lcm describe definition bgp-basics
  lcm describe session ls-0n4k2m7a8q1cd     access and progress
  lcm describe lab "BGP basics"
  lcm describe save sv-0n4k2m7a8q1cd
  lcm describe license-pool CML_Enterprise
  lcm describe service worker-controller`
