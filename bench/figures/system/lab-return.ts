/**
 * Figure of 4.9: labs come back with their machine, and a silent CML ends no session, on a real `lcm up` with its simulated cloud.
 * A learner's console is a TCP connection, as telnet makes it. All times are real; the simulated cloud is 60 times faster, as by
 * default, so its machines boot in seconds.
 */

import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { systemClock } from '@lcm/runtime/clock'
import { licensed, runningLcm, until } from '../../product/lcm-up-process.ts'
import { cdfChart } from '../../report/cdf-chart.ts'
import { atMost, conclude, measured, never, wordsOf } from '../../report/figure-report.ts'
import { quantilesOf } from '../../report/quantiles.ts'

const option = (name: string, otherwise: number): number => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? otherwise : Number(process.argv[at + 1])
}
const RUNS = option('runs', 20)
const SESSIONS = option('sessions', 20)
const SILENT_MS = option('silent-minutes', 30) * 60_000
const BAR_SILENCE_MS = 30_000
/** A return that takes longer counts as failed. */
const LIMIT_MS = 5 * 60_000
/** A console that does not greet for this long is lost; one try of a second fails on a busy machine. */
const CONSOLE_MS = 15_000
const ACTS = ['stop', 'reboot'] as const
type Act = (typeof ACTS)[number]

const lcm = await runningLcm(19_447, { args: ['--speed', '60'] })
const { client } = lcm
const topology = readFileSync(new URL('../../../examples/labs/two-routers.yaml', import.meta.url), 'utf8')
await client.call('createDefinition', { body: { name: 'lab-return', topology } })

const session = (id: string): Promise<LabletSession> => client.call('getSession', { params: { id } })
const isFine = ({ status, health }: LabletSession): boolean => status === 'RUNNING' && health.status === 'OK'

async function booked(): Promise<LabletSession> {
  const { id } = await client.call('createSession', { body: { definition: 'lab-return', duration_minutes: 60 } })
  return until('a session in use', async () => session(id).then(each => (isFine(each) ? each : null)), {
    withinMs: LIMIT_MS,
  })
}

/** Whether the first console of the session greets, as a learner with telnet sees it. */
async function answers(id: string): Promise<boolean> {
  const line = (await session(id)).access.find(({ protocol }) => protocol === 'serial')
  if (line === undefined) return false
  return new Promise(resolve => {
    const socket = connect({ host: line.host, port: line.port })
    const end = (isAnswer: boolean) => {
      cancel()
      socket.destroy()
      resolve(isAnswer)
    }
    const cancel = systemClock.after(1_000, () => end(false))
    socket.on('error', () => end(false)).on('close', () => end(false))
    socket.once('data', () => end(true))
    socket.write('\r\n')
  })
}

const machineOf = async (id: string): Promise<string> => {
  const { worker_id } = await session(id)
  const worker = await client.call('getWorker', { params: { id: worker_id ?? '' } })
  return worker.ec2_instance_id ?? ''
}

interface Returns {
  readonly took: number[]
  failed: number
}

/** Breaks the machine and waits until the console answers and the session is fine. */
async function returned(act: Act, id: string, returns: Returns): Promise<void> {
  const limits = { everyMs: 50, withinMs: LIMIT_MS }
  const machine = await machineOf(id)
  const startedMs = systemClock.monotonic()
  try {
    await lcm.sim.act(machine, act)
    await until('a console that is down', async () => ((await answers(id)) ? null : true), limits)
    await until('a console', async () => ((await answers(id)) && isFine(await session(id)) ? true : null), limits)
    returns.took.push(systemClock.monotonic() - startedMs)
  } catch {
    returns.failed += 1
  }
}

/** One learner per machine, so that the runs of different machines go on at the same time. */
async function learners(): Promise<readonly LabletSession[]> {
  const byWorker = new Map<string, LabletSession>()
  for (let n = 0; n < 6; n += 1) {
    const one = await booked()
    if (byWorker.has(one.worker_id ?? '')) await client.call('cancelSession', { params: { id: one.id } })
    else byWorker.set(one.worker_id ?? '', one)
  }
  return [...byWorker.values()]
}

const found: Record<Act, Returns> = { stop: { took: [], failed: 0 }, reboot: { took: [], failed: 0 } }
const ids = (await learners()).map(({ id }) => id)
for (const act of ACTS) {
  let left = RUNS
  await Promise.all(
    ids.map(async id => {
      while (left > 0) {
        left -= 1
        await returned(act, id, found[act])
        // The machine is up long enough to be seen with its labs.
        await systemClock.sleep(2_000)
      }
    }),
  )
}
for (const id of ids) await client.call('cancelSession', { params: { id } })

// Without a license each machine would run only two of these labs.
await licensed(lcm, lcm.workers)
const group: string[] = []
for (let n = 0; n < SESSIONS; n += 1) group.push((await booked()).id)
const machines = [...new Set(await Promise.all(group.map(machineOf)))]
const all = () => Promise.all(group.map(session))
async function timeUntil(what: string, is: (each: LabletSession) => boolean): Promise<number> {
  const startedMs = systemClock.monotonic()
  await until(what, async () => ((await all()).every(is) ? true : null), { everyMs: 100, withinMs: LIMIT_MS })
  return systemClock.monotonic() - startedMs
}
async function thoseThatGreet(sessions: readonly string[]): Promise<readonly string[]> {
  const limits = { withinMs: CONSOLE_MS }
  const greets = (id: string) => until('a console', async () => ((await answers(id)) ? true : null), limits)
  const results = await Promise.allSettled(sessions.map(greets))
  return sessions.filter((_, n) => results[n]?.status === 'fulfilled')
}
/** Another program may hold the port of a simulated console on this machine. */
const greeting = await thoseThatGreet(group)
await Promise.all(machines.map(id => lcm.sim.breakCml(id, { fail_one_in: 1 })))
const degradedMs = await timeUntil('DEGRADED', ({ health }) => health.status === 'DEGRADED')
await systemClock.sleep(SILENT_MS)
const ended = (await all()).filter(({ status }) => status !== 'RUNNING').length
await Promise.all(machines.map(id => lcm.sim.healCml(id)))
const fineMs = await timeUntil('OK', isFine)
const lost = greeting.length - (await thoseThatGreet(greeting)).length
await lcm.stop()

const quantiles = (act: Act) => wordsOf(quantilesOf(found[act].took))
const seconds = (ms: number) => ({ value: Math.round(ms / 100) / 10, unit: 's' })
conclude({
  bench: 'lab-return',
  figures: [
    ...ACTS.map(act => measured(`a console answers again after a ${act} of its machine`, quantiles(act))),
    never('machines whose labs did not come back', { stops: found.stop.failed, reboots: found.reboot.failed }),
    atMost(`CML fails: ${SESSIONS} sessions are DEGRADED`, BAR_SILENCE_MS / 1000, seconds(degradedMs)),
    atMost('CML answers again: all are OK', BAR_SILENCE_MS / 1000, seconds(fineMs)),
    never(`sessions after ${SILENT_MS / 60_000} min of silence`, {
      ended,
      [`lost consoles of ${greeting.length}`]: lost,
    }),
  ],
  charts: [
    cdfChart('lab-return', 'A machine is stopped or rebooted until a console answers', {
      stop: found.stop.took,
      reboot: found.reboot.took,
    }),
  ],
})
