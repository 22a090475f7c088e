import type { CmlLabs } from '@lcm/cloud/cml-labs'
import type { CmlLogin } from '@lcm/cloud/cml-login'
import type { SimModel } from '@lcm/cloud-sim/sim-model'
import { toInstant, toMs } from '@lcm/domain/instant'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Collection } from '@lcm/store/store'
import { CLOCK_MS_MAX } from '../../world/controller-process.ts'
import type { LabAct, Mutation } from '../cloud-mutation.ts'
import type { DecisionIndex } from '../decision-index.ts'
import type { KeptSaves } from './kept-saves.ts'
import type { SessionPromises } from './session-promises.ts'

const SERVICE = 'lablet-controller'

/** Lab changes that each pipeline step allows. A reused or deleted lab is stopped and wiped first. */
const ALLOWED_BY_STEP: Readonly<Record<string, readonly LabAct[]>> = {
  tags: ['import', 'stop', 'wipe', 'delete'],
  lab_start: ['start'],
  stop: ['stop'],
  wipe: ['stop', 'wipe'],
  delete: ['stop', 'wipe', 'delete'],
}
/** Lab changes that each requested lab action allows. */
const ALLOWED_BY_ACTION: Readonly<Record<string, readonly LabAct[]>> = {
  start: ['start'],
  stop: ['stop'],
  wipe: ['stop', 'wipe'],
  delete: ['stop', 'wipe', 'delete'],
}

export interface LabMutationMonitorParts {
  readonly cloud: SimModel
  readonly decided: DecisionIndex
  readonly sessions: Collection<LabletSession>
  readonly labs: Collection<LabRecord>
  workerOf(machine: string): Promise<{ readonly id: string; readonly name: string } | null>
  now(): number
  onMutation(mutation: Mutation): void
  violated(rule: string): void
  readonly promises: Pick<SessionPromises, 'starting'>
  readonly saves: Pick<KeptSaves, 'importing'>
}

interface Changed {
  readonly act: LabAct
  readonly labId: string | null
  readonly title: string
  readonly workerId: string
}

const sessionIn = (title: string): string | null => / (ls-[0-9a-z-]+)$/.exec(title)?.[1] ?? null

/** Wraps the labs port: every change must have been announced and decided. */
export function labMutationMonitor(parts: LabMutationMonitorParts): (by: string, labs: CmlLabs) => CmlLabs {
  const { cloud, decided } = parts

  /** The records of the lab: by its id, and by the session in its title. */
  async function recordsOf({ labId, title, workerId }: Changed): Promise<readonly LabRecord[]> {
    const all = await parts.labs.list({ where: { worker_id: workerId }, limit: 1000 })
    return all.filter(({ lab_id, title: own }) => (labId !== null && lab_id === labId) || own === title)
  }

  async function isRequested(record: LabRecord, act: LabAct): Promise<boolean> {
    const { pending_action: pending } = record
    if (pending === null || pending.attempts === 0 || !ALLOWED_BY_ACTION[pending.action]?.includes(act)) return false
    // Its time is from the requester, whose clock may be wrong.
    const since = toInstant(toMs(pending.at) - CLOCK_MS_MAX)
    return decided.has(SERVICE, `lab_record:${record.id}`, since)
  }

  async function isStepOf(id: string | null, act: LabAct): Promise<boolean> {
    const session = id === null ? null : await parts.sessions.get(id)
    if (session === null) return false
    const running = Object.entries(session.pipeline?.steps ?? {}).filter(
      ([, { status }]) => status === 'running' || status === 'blocked',
    )
    if (!running.some(([name]) => ALLOWED_BY_STEP[name]?.includes(act))) return false
    const since = session.state_history.at(-1)?.at ?? session.created_at
    return decided.has(SERVICE, `session:${session.id}`, since)
  }

  async function isExplained(changed: Changed): Promise<boolean> {
    const records = await recordsOf(changed)
    const sessions = new Set([sessionIn(changed.title), ...records.map(({ session_id }) => session_id)])
    for (const record of records) if (await isRequested(record, changed.act)) return true
    for (const id of sessions) if (await isStepOf(id, changed.act)) return true
    return false
  }

  async function before(by: string, act: LabAct, at: { login: CmlLogin; labId: string | null; title?: string }) {
    const machine = cloud.cml.reachedAt(at.login.url)
    const worker = machine === null ? null : await parts.workerOf(machine)
    if (machine === null || worker === null) return
    const lab = cloud.cml.contextOf(machine)?.labs.find(({ id }) => id === at.labId)
    // A missing lab can't be changed.
    if (at.labId !== null && lab === undefined) return
    const title = at.title ?? lab?.title ?? ''
    if (act === 'start') parts.promises.starting(at.labId ?? '', sessionIn(title)).forEach(parts.violated)
    parts.onMutation({ atMs: parts.now(), by, service: SERVICE, act: `${act} lab`, machine, worker: worker.id })
    if (!(await isExplained({ act, labId: at.labId, title, workerId: worker.id })))
      parts.violated(`${by}: ${act} of the lab ${title} on ${worker.name} without a decision`)
  }

  return (by, labs) => {
    const monitored =
      (act: Exclude<LabAct, 'import'>) => async (login: CmlLogin, labId: string, signal: AbortSignal) => {
        await before(by, act, { login, labId })
        return labs[act](login, labId, signal)
      }
    return {
      ...labs,
      start: monitored('start'),
      stop: monitored('stop'),
      wipe: monitored('wipe'),
      delete: monitored('delete'),
      async import(login, request, signal) {
        await before(by, 'import', { login, labId: null, title: request.title })
        parts.saves.importing(sessionIn(request.title) ?? '', request.topology)
        return labs.import(login, request, signal)
      },
    }
  }
}
