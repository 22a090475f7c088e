import { createHash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { ApiError, type Client } from '@lcm/client/client'
import { readList } from '@lcm/client/list-pages'
import type { CmlLab } from '@lcm/cloud-sim/cml/labs/lab'
import type { ApiRequest, Dispatch } from '@lcm/contract/route-spec'
import { toMs } from '@lcm/domain/instant'
import { refusedSaves } from '@lcm/domain/save/restore'
import type { Save } from '@lcm/domain/save/save'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { Clock } from '@lcm/runtime/clock'
import type { EventFollower } from '../../world/event-follower.ts'
import type { SettingsHistory } from '../settings-history.ts'
import type { LabTruth } from './lab-truth.ts'

/** An import may have read the saves shortly before another one was confirmed. */
const READ_MS = 60_000
const STORE = /\/lablet-sessions\/(ls-[^/?]+)\/saves$/

export interface KeptSaveParts {
  truthOf(session: LabletSession): LabTruth
  readonly following: Pick<EventFollower, 'sessions'>
  readonly settings: Pick<SettingsHistory, 'smallestSince'>
  readonly clock: Pick<Clock, 'now'>
  violated(rule: string): void
}

export interface KeptSaves {
  /** Notes the saves that the API confirms to the lablet-controller. */
  record(dispatch: Dispatch): Dispatch
  /** Called before LCM imports the lab of a session. */
  importing(sessionId: string, topology: string): void
  /** Reads all saves. */
  check(client: Client): Promise<void>
}

interface Confirmed {
  readonly save: Save
  readonly atMs: number
  /** What learners typed on the consoles of the lab until then. */
  readonly lines: readonly string[]
}

/** A save that the API confirmed has the work of that time, is kept and readable, and is where the next lab of the session begins. */
export function keptSaves({ truthOf, following, settings, clock, violated }: KeptSaveParts): KeptSaves {
  const confirmed = new Map<string, Confirmed>()

  function labOf(id: string): CmlLab | null {
    const session = following.sessions.get(id)
    return session === undefined ? null : truthOf(session).lab
  }

  function note(session: string, request: ApiRequest, save: Save): void {
    const { topology, began_at } = JSON.parse(request.body ?? '{}')
    const text = gunzipSync(Buffer.from(topology, 'base64')).toString('utf8')
    if (sha256(text) !== save.content_sha256)
      violated(`save ${save.number} of ${session} has another digest than its content`)
    const missing = typedLines(labOf(session), save, toMs(began_at)).filter(line => !text.includes(line))
    if (missing.length > 0) violated(`save ${save.number} of ${session} lacks ${missing.length} lines of its lab`)
    if (!confirmed.has(save.id)) confirmed.set(save.id, { save, atMs: clock.now(), lines: text.match(LINE) ?? [] })
  }

  const ofSession = (id: string): Confirmed[] =>
    [...confirmed.values()].filter(({ save }) => save.session_id === id).sort((a, b) => b.save.number - a.save.number)

  /** The saves that no setting and no end of a session allowed LCM to delete. */
  function mustExist(session: string, listed: readonly Save[]): readonly Save[] {
    const isOver = isFinal(following.sessions.get(session)?.status ?? 'TERMINATED')
    const own = ofSession(session)
    const numbers = [...own.map(({ save }) => save), ...listed.filter(each => each.session_id === session)]
    const newestFirst = [...new Set(numbers.map(({ number }) => number))].sort((a, b) => b - a)
    return own.flatMap(({ save, atMs }) => {
      const kept = isOver ? 1 : settings.smallestSince('saves_kept', atMs)
      return newestFirst.indexOf(save.number) < kept ? [save] : []
    })
  }

  return {
    record: dispatch => async request => {
      const response = await dispatch(request)
      const [, session] = (request.method === 'POST' && STORE.exec(request.url)) || []
      if (session !== undefined && response.status === 200) note(session, request, JSON.parse(String(response.body)))
      return response
    },
    importing(sessionId, topology) {
      const session = following.sessions.get(sessionId)
      const resumed = confirmed.get(session?.restore_from ?? '')
      const refused = refusedSaves({ conditions: session?.conditions ?? [] })
      const known = ofSession(sessionId).filter(({ atMs }) => clock.now() - atMs > READ_MS)
      const from = [...known, ...(resumed === undefined ? [] : [resumed])].find(({ save }) => !refused.has(save.id))
      if (from === undefined || from.lines.every(line => topology.includes(line))) return
      violated(`the lab of ${sessionId} is imported without save ${from.save.number} of ${from.save.session_id}`)
    },
    async check(client) {
      const { items } = await readList(page => client.call('listSaves', { query: page }))
      for (const save of items) {
        const broken = await unreadable(client, save)
        if (broken !== null) violated(`save ${save.number} of ${save.session_id} can't be read: ${broken}`)
      }
      const ids = new Set(items.map(({ id }) => id))
      for (const session of new Set([...confirmed.values()].map(({ save }) => save.session_id)))
        for (const { id, number } of mustExist(session, items))
          if (!ids.has(id)) violated(`save ${number} of ${session} is lost`)
    },
  }
}

const LINE = /description \d[\d.]*/g
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Lines that were typed before the save began, on the nodes that it says it saved. */
function typedLines(lab: CmlLab | null, { nodes }: Save, beganMs: number): readonly string[] {
  const saved = new Set(nodes.flatMap(({ label, outcome }) => (outcome === 'saved' ? [label] : [])))
  return (lab?.nodes ?? [])
    .filter(({ label }) => saved.has(label))
    .flatMap(({ typed = [] }) => typed.flatMap(({ at_ms, line }) => (at_ms < beganMs ? [line] : [])))
}

/** Why it can't be read; null if it can, or if it was deleted meanwhile. */
async function unreadable(client: Client, { id, content_sha256 }: Save): Promise<string | null> {
  try {
    const { topology } = await client.call('getSaveTopology', { params: { id } })
    return sha256(topology) === content_sha256 ? null : 'its content is damaged'
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return error.problem.code === 'not_found' ? null : (error.problem.detail ?? error.problem.code)
  }
}
