import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { apiClient } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import { up } from '@lcm/lcm/serve/up'
import { systemClock } from '@lcm/runtime/clock'
import { expect, it } from 'vitest'
import { greetings } from './session-stories.ts'

const LIMIT_MS = 240_000
/** Long, because other tests run at the same time. */
const inTime = { interval: 200, timeout: 100_000 }

it('restores access to the lab after its machine was stopped', { timeout: LIMIT_MS }, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'lcm-console-'))
  const stop = new AbortController()
  const lines: string[] = []
  const out = (line: string) => void lines.push(line)
  const sim = { cloud: 'sim', simPort: null, simPreset: null, simFleet: 0, speed: 300 } as const
  const env = { LCM_LOG_LEVEL: 'silent' }
  const ended = up({ ...sim, dataDir, port: 0, env }, { out, err: out, signal: stop.signal })
  await expect.poll(() => lines.join('\n'), inTime).toContain('Ctrl-C')
  const { api } = JSON.parse(readFileSync(join(dataDir, 'endpoints.json'), 'utf8'))
  const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim()
  const client = apiClient(httpTransport({ baseUrl: api, clock: systemClock }), { token })
  try {
    const { id } = await client.call('createSession', { body: { definition: 'two-routers', duration_minutes: 60 } })
    const session = () => client.call('getSession', { params: { id } })
    /** First text of each console, or the error. */
    const consoles = async () => (await greetings(await session()).catch((error: unknown) => [error])).join('\n')
    await expect.poll(session, inTime).toMatchObject({ status: 'RUNNING' })
    await expect.poll(consoles, inTime).toContain(id)
    const { worker_id } = await session()
    const { ec2_instance_id, name } = await client.call('getWorker', { params: { id: worker_id ?? '' } })
    const { sim_control } = await client.call('info', {})
    const url = `${api}${sim_control}/instances/${ec2_instance_id}/stop`
    const stopped = await fetch(url, { method: 'POST', headers: { authorization: `Bearer ${token}` }, body: '{}' })
    expect(stopped.status).toBeLessThan(300)
    await expect.poll(consoles, inTime).not.toContain(id)
    await expect.poll(consoles, inTime).toContain(id)
    await expect.poll(session, inTime).toMatchObject({
      status: 'RUNNING',
      last_error: null,
      conditions: expect.arrayContaining([expect.objectContaining({ type: 'LabStopped', status: false })]),
    })
    const { items } = await client.call('getSessionDecisions', { params: { id }, query: { limit: 100 } })
    expect(items.map(({ because }) => because)).toContainEqual(
      expect.objectContaining({
        code: 'lab_stopped_by_restart',
        params: expect.objectContaining({ worker: name }),
      }),
    )
  } finally {
    stop.abort()
    await ended
  }
})
