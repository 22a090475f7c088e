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
  /** What was last said of the settings, and what held before. */
  settings(): { readonly now: SettingsPatch; readonly before: SettingsPatch; readonly changedMs: number }
}

const WISHED: Readonly<Record<string, DesiredStatus>> = { start: 'RUNNING', stop: 'STOPPED', terminate: 'TERMINATED' }
const TOUCH = /\/workers\/(w-[^/?]+)(?:\/([a-z-]+))?/
/** The last one, and those that it may have met on its way. */
const WISHES_KEPT = 4

export function wishes(people: readonly string[], now: () => number): Wishes {
  const wished = new Map<string, DesiredStatus[]>()
  const touchedMs = new Map<string, number>()
  let settings: ReturnType<Wishes['settings']> = { now: {}, before: {}, changedMs: Number.NEGATIVE_INFINITY }
  const wish = (id: string, status: DesiredStatus) =>
    wished.set(id, [...(wished.get(id) ?? ['RUNNING']), status].slice(-WISHES_KEPT))
  return {
    settings: () => settings,
    lastTouchedMs: id => touchedMs.get(id) ?? Number.NEGATIVE_INFINITY,
    heard: dispatch => async request => {
      const [, id = '', verb = ''] = request.method === 'GET' ? [] : (TOUCH.exec(request.url) ?? [])
      if (id !== '') touchedMs.set(id, now())
      const status = verb === 'drain' ? (JSON.parse(request.body ?? '{}').then ?? 'STOPPED') : WISHED[verb]
      // Before it is answered, since its event may come sooner than the answer.
      const before = wished.get(id)
      if (id !== '' && status !== undefined) wish(id, status)
      if (request.method === 'PATCH' && request.url.endsWith('/settings'))
        settings = {
          now: { ...settings.now, ...JSON.parse(request.body ?? '{}') },
          before: settings.now,
          changedMs: now(),
        }
      const response = await dispatch(request)
      // Who is told no has not been heard; of a server's failure nobody knows.
      if (response.status >= 400 && response.status < 500 && before !== undefined) wished.set(id, before)
      return response
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
