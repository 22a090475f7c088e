import { CHANGE_KEYS } from '@lcm/contract/change-keys'
import type { ChangeKeys } from '@lcm/coordination/change-keys'
import type { Worker } from '@lcm/domain/worker/worker'
import type { HostedService, Logger } from '@lcm/runtime'
import type { Api } from './api.ts'
import { followChanges } from './follow-changes.ts'

const IDLE_MS = 60_000
const PAGE = 1000
const RETRY_MS = 1_000

/** Tells the controllers of every commit by a change key. What a crash left untold is told again at the start. */
export function announcer(api: Api, keys: ChangeKeys, log: Logger): HostedService {
  async function announceAll(): Promise<void> {
    let after = ''
    for (;;) {
      const page = await api.workers.list({ after, limit: PAGE })
      for (const worker of page) await announceWorker(keys, worker)
      const last = page.at(-1)
      if (last === undefined || page.length < PAGE) return
      after = last.id
    }
  }

  async function follow(signal: AbortSignal): Promise<void> {
    const from = await api.store.changes.position()
    await announceAll()
    for await (const followed of followChanges(api.store.changes, from, {
      clock: api.clock,
      idleMs: IDLE_MS,
      signal,
    })) {
      if (followed.kind === 'reset') await announceAll()
      if (followed.kind !== 'change' || followed.change.kind !== 'worker') continue
      const { id, version, deleted } = followed.change
      const worker = deleted ? null : await api.workers.get(id)
      if (worker) await announceWorker(keys, worker)
      else await keys.remove(CHANGE_KEYS.workers + id, version)
    }
  }

  return {
    name: 'announcer',
    async run(signal) {
      while (!signal.aborted) {
        try {
          await follow(signal)
        } catch (err) {
          log.error({ err }, 'changes could not be announced; trying again')
          await api.clock.sleep(RETRY_MS, signal)
        }
      }
    },
  }
}

/** A hint is small and holds no secret: it says that something changed, and the reader fetches the rest. */
const announceWorker = (keys: ChangeKeys, worker: Worker): Promise<unknown> =>
  keys.publish(CHANGE_KEYS.workers + worker.id, {
    id: worker.id,
    status: worker.status,
    desired_status: worker.desired_status,
    version: worker.version,
    updated_at: worker.updated_at,
  })
