import type { Dispatch } from '@lcm/contract/wire'
import type { SettingsPatch } from '@lcm/domain/fleet/settings'
import type { DesiredStatus, Worker } from '@lcm/domain/worker/worker'

/** What people asked of each worker: the last wishes, and when somebody last touched it. */
export interface Wishes {
  /** The API as people meet it. */
  heard(dispatch: Dispatch): Dispatch
  /** What is wanted in people's name, and nobody of them wanted. */
  unheardOf(worker: Worker): readonly string[]
  lastTouchedMs(workerId: string): number
  /** The settings that hold, and everything that may have held within the last while: what was asked for, and what it replaced. */
  settings(withinMs: number): { readonly now: SettingsPatch; readonly recent: readonly SettingsPatch[] }
}

const WISHED: Readonly<Record<string, DesiredStatus>> = { start: 'RUNNING', stop: 'STOPPED', terminate: 'TERMINATED' }
const TOUCH = /\/workers\/(w-[^/?]+)(?:\/([a-z-]+))?/
/** The last one, and those that it may have met on its way. */
const WISHES_KEPT = 4

export function wishes(people: readonly string[], now: () => number): Wishes {
  const wished = new Map<string, readonly DesiredStatus[]>()
  const touchedMs = new Map<string, number>()
  const { settings, patched } = settingsSaid(now)

  /** The answer takes it back, unless more was wished since. */
  function wish(id: string, status: DesiredStatus): () => void {
    const before = wished.get(id) ?? ['RUNNING']
    const after = before.at(-1) === status ? before : [...before, status].slice(-WISHES_KEPT)
    wished.set(id, after)
    return () => void (wished.get(id) === after && wished.set(id, before))
  }

  return {
    settings,
    lastTouchedMs: id => touchedMs.get(id) ?? Number.NEGATIVE_INFINITY,
    heard: dispatch => async request => {
      const [, id = '', verb = ''] = request.method === 'GET' ? [] : (TOUCH.exec(request.url) ?? [])
      const touch = () => void (id !== '' && touchedMs.set(id, now()))
      const status = verb === 'drain' ? (JSON.parse(request.body ?? '{}').then ?? 'STOPPED') : WISHED[verb]
      // Before it is answered, since its event may come sooner than the answer, which may never come.
      touch()
      const unwish = id !== '' && status !== undefined ? wish(id, status) : () => undefined
      const isPatch = request.method === 'PATCH' && request.url.endsWith('/settings')
      const told = isPatch ? patched(JSON.parse(request.body ?? '{}')) : () => undefined
      try {
        const response = await dispatch(request)
        told(response.status < 300)
        // Who is told no has not been heard; of a server's failure nobody knows.
        if (response.status >= 400 && response.status < 500) unwish()
        return response
      } catch (error) {
        told(false)
        throw error
      } finally {
        touch()
      }
    },
    unheardOf({ id, name, desired_by, desired_status }) {
      if (!people.includes(desired_by)) return []
      const known = wished.get(id) ?? ['RUNNING']
      return known.includes(desired_status)
        ? []
        : [`${name} is wanted ${desired_status} by ${desired_by}, who never said so`]
    },
  }
}

interface Said {
  readonly patch: SettingsPatch
  untilMs: number
}

/** A change of the settings holds from some moment between the first time it is asked for and the answer. */
function settingsSaid(now: () => number) {
  const said: Said[] = []
  let held: SettingsPatch = {}
  return {
    settings: (withinMs: number) => ({
      now: held,
      recent: said.filter(({ untilMs }) => now() - untilMs < withinMs).map(({ patch }) => patch),
    }),
    /** The answer is called when it is over, with whether it is known to hold. */
    patched(patch: SettingsPatch): (isDone?: boolean) => void {
      const asked = { patch, untilMs: Number.POSITIVE_INFINITY }
      said.push(asked)
      return isDone => {
        asked.untilMs = now()
        if (!isDone) return
        said.push({ patch: held, untilMs: now() })
        held = { ...held, ...patch }
      }
    },
  }
}
