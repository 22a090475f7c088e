import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { apiClient, type Client } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import { toInstant } from '@lcm/domain/instant'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import { StartupError } from '@lcm/lcm/serve/startup-error'
import { type UpOptions, up } from '@lcm/lcm/serve/up'
import { systemClock } from '@lcm/runtime/clock'
import { oldStore } from '@lcm/testkit/old-stores/old-store'
import { describe, expect, it } from 'vitest'
import { durableFields, followWorkers } from './follow-workers.ts'

const SPEED = 1_200
const scratch = () => mkdtempSync(join(tmpdir(), 'lcm-up-'))
const options = (dataDir: string, more: Partial<UpOptions> = {}): UpOptions => ({
  cloud: 'sim',
  dataDir,
  port: 0,
  simPort: null,
  simPreset: null,
  simFleet: 0,
  speed: SPEED,
  env: { LCM_LOG_LEVEL: 'silent' },
  ...more,
})
const mute = { out: () => undefined, err: () => undefined, signal: AbortSignal.abort() }

/** Runs LCM in this process until the work is done. */
async function whileUp<T>(
  dataDir: string,
  work: (at: { api: string; client: Client; lines: string[] }) => Promise<T>,
  env: UpOptions['env'] = {},
): Promise<T> {
  const stop = new AbortController()
  const lines: string[] = []
  let welcomed = () => undefined as unknown
  const welcome = new Promise(resolve => {
    welcomed = () => resolve(null)
  })
  const out = (line: string) => {
    lines.push(line)
    if (line.includes('Ctrl-C')) welcomed()
  }
  const given = options(dataDir)
  const ended = up({ ...given, env: { ...given.env, ...env } }, { out, err: out, signal: stop.signal })
  await Promise.race([welcome, ended])
  const { api } = JSON.parse(readFileSync(join(dataDir, 'endpoints.json'), 'utf8'))
  const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim()
  try {
    return await work({ api, lines, client: apiClient(httpTransport({ baseUrl: api, clock: systemClock }), { token }) })
  } finally {
    stop.abort()
    await ended
  }
}

const untilAll = (client: Client, status: Worker['status']) =>
  followWorkers(client, workers => workers.length > 0 && workers.every(worker => worker.status === status))

async function untilSessionIs(client: Client, id: string, wanted: LabletSession['status']): Promise<LabletSession> {
  const { revision } = await client.call('listSessions', { query: { limit: 1 } })
  const session = await client.call('getSession', { params: { id } })
  if (session.status === wanted) return session
  for await (const { event } of client.events({ after: revision, signal: new AbortController().signal }))
    if (event.type === 'session.updated' && event.id === id && event.data.status === wanted) return event.data
  throw new Error('the events ended')
}

/** Metrics of LCM, without those of Node and the process. */
const namesIn = (metrics: string): string[] =>
  [...metrics.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name).filter(name => !/^(process|nodejs)_/.test(name))

/** The page lists the loops once, and uses `LOOP` for each of them. */
function namesOnPage(): string[] {
  const page = readFileSync(new URL('../../docs/reference/metrics.md', import.meta.url), 'utf8')
  const [, list = ''] = /^`LOOP` is one of ([^.]*)\.$/m.exec(page) ?? []
  const loops = [...list.matchAll(/`(\w+)`/g)].map(([, loop = '']) => loop)
  return [...page.matchAll(/^\| `(\w+)` \|/gm)].flatMap(([, name = '']) =>
    name.startsWith('LOOP') ? loops.map(loop => name.replace('LOOP', loop)) : [name],
  )
}

describe('the embedded profile', () => {
  it('upgrades a folder of 0.1.0 at its first start, and its controllers continue with the fleet', async () => {
    const dataDir = scratch()
    const old = oldStore()
    copyFileSync(old.file, join(dataDir, 'lcm.sqlite'))
    writeFileSync(join(dataDir, 'secret-key'), `${old.secretKey.toString('hex')}\n`, { mode: 0o600 })
    writeFileSync(join(dataDir, 'fleet-id'), 'lcm-1234\n', { mode: 0o600 })
    writeFileSync(join(dataDir, 'cloud'), 'sim\n', { mode: 0o600 })
    const startedAt = toInstant(systemClock.now())
    await whileUp(dataDir, async ({ client }) => {
      const { items } = await client.call('listWorkers', { query: { limit: 1000 } })
      expect(items.length).toBeGreaterThan(10)
      const unobserved = async () => {
        const newest = items.map(({ id }) => client.call('getWorkerDecisions', { params: { id }, query: { limit: 1 } }))
        return (await Promise.all(newest)).filter(page => (page.items[0]?.at ?? '') < startedAt).length
      }
      await expect.poll(unobserved).toBe(0)
      // Their timeslots have ended.
      const waiting = () => client.call('listSessions', { query: { status: 'PENDING', limit: 1000 } })
      await expect.poll(async () => (await waiting()).items).toEqual([])
    })
  })

  it('starts a first fleet, and continues after a restart', async () => {
    const dataDir = scratch()
    const before = await whileUp(dataDir, async ({ client, lines, api }) => {
      expect(lines.join('\n')).toContain(`Console      ${api}`)
      expect(lines.join('\n')).toMatch(/Log in once {2}http:\/\/localhost:\d+\/#\/sign-in\?code=\S+/)
      return untilAll(client, 'RUNNING')
    })
    expect(before.map(worker => worker.name).sort()).toEqual(['metal-1', 'metal-2', 'nested-1'])
    for (const worker of before) {
      expect(worker).toMatchObject({
        service_status: 'AVAILABLE',
        cml: { version: '2.9.1+build.7', certificate_sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
      })
      expect(worker.https_endpoint).toMatch(/^https:\/\/127\.\d+\.\d+\.\d+:\d+$/)
    }
    await whileUp(dataDir, async ({ client }) => {
      const after = await untilAll(client, 'RUNNING')
      expect(after.map(durableFields)).toEqual(before.map(durableFields))
      for (const { id } of before) await client.call('stopWorker', { params: { id }, body: {} })
      await untilAll(client, 'STOPPED')
      for (const { id } of before) await client.call('terminateWorker', { params: { id }, body: {} })
      await untilAll(client, 'TERMINATED')
    })
  })

  it('lets only admins control the simulated cloud', async () => {
    const dataDir = scratch()
    await whileUp(dataDir, async ({ api, client }) => {
      const { sim_control } = await client.call('info', {})
      const authorization = `Bearer ${readFileSync(join(dataDir, 'admin-token'), 'utf8').trim()}`
      const answer = await fetch(`${api}${sim_control}/info`, { headers: { authorization } })
      expect(await answer.json()).toMatchObject({ speed: SPEED, preset: 'calm' })
      expect((await fetch(`${api}${sim_control}/info`)).status).toBe(401)
    })
  })

  it('has a lab that can be booked at once, without a license', async () => {
    await whileUp(scratch(), async ({ client }) => {
      const { id } = await client.call('createSession', { body: { definition: 'two-routers', duration_minutes: 60 } })
      await untilAll(client, 'RUNNING')
      const session = await untilSessionIs(client, id, 'RUNNING')
      expect(session.access.map(({ protocol }) => protocol).sort()).toEqual(['serial', 'serial', 'tcp'])
      const { items: workers } = await client.call('listWorkers', { query: { limit: 100 } })
      expect(workers.map(({ origin }) => origin)).toEqual(['USER', 'USER', 'USER'])
      expect((await client.call('listDefinitions', { query: {} })).items).toMatchObject([
        { name: 'two-routers', status: 'ACTIVE' },
      ])
    })
  })

  it.each([
    ['eu-west-1', 'eu-west-1'],
    ['ap-south-2', 'us-east-1'],
  ])('with AWS_REGION=%s creates a worker without a region in %s', async (AWS_REGION, region) => {
    await whileUp(
      scratch(),
      async ({ client, lines }) => {
        expect(await client.call('createWorker', { body: { template_name: 'metal' } })).toMatchObject({
          aws_region: region,
        })
        const replaced = `The simulated cloud has no region ${AWS_REGION} (AWS_REGION): the default region of workers is`
        expect(lines.some(line => line.startsWith(replaced))).toBe(region !== AWS_REGION)
      },
      { AWS_REGION },
    )
  })

  it('uses the scale-down variables of the documents', async () => {
    const env = { SCALE_DOWN_ENABLED: 'True', MIN_WORKERS: '2', SCALE_DOWN_COOLDOWN_SECONDS: '900' }
    await whileUp(
      scratch(),
      async ({ client }) => {
        const { settings } = await client.call('getSettings', {})
        expect(settings).toMatchObject({
          scale_down_enabled: { value: true, source: 'environment' },
          min_workers: { value: 2, source: 'environment' },
          scale_down_cooldown_seconds: { value: 900, source: 'environment' },
        })
      },
      env,
    )
  })

  it('treats an empty variable as unset', async () => {
    const unset = { LCM_LOG_LEVEL: '', LCM_METRICS_PUBLIC: '' }
    await whileUp(scratch(), async ({ api }) => expect((await fetch(`${api}/metrics`)).status).toBe(401), unset)
  })

  it('serves health and metrics', async () => {
    const dataDir = scratch()
    await whileUp(dataDir, async ({ api }) => {
      expect(await (await fetch(`${api}/health`)).json()).toMatchObject({
        status: 'healthy',
        services: [{ name: 'worker-controller' }, { name: 'resource-scheduler' }, { name: 'lablet-controller' }],
      })
      expect((await fetch(`${api}/ready`)).status).toBe(200)
      expect((await fetch(`${api}/metrics`)).status).toBe(401)
      const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim()
      const metrics = await fetch(`${api}/metrics`, { headers: { authorization: `Bearer ${token}` } })
      expect(namesIn(await metrics.text()).toSorted()).toEqual(namesOnPage().toSorted())
    })
  })

  it('updates metrics on request: leaders and running workers', async () => {
    const dataDir = scratch()
    await whileUp(dataDir, async ({ api, client }) => {
      await untilAll(client, 'RUNNING')
      const authorization = `Bearer ${readFileSync(join(dataDir, 'admin-token'), 'utf8').trim()}`
      const measured = async () => (await fetch(`${api}/metrics`, { headers: { authorization } })).text()
      await expect.poll(measured, { timeout: 10_000 }).toMatch(/^worker_controller_running_workers 3$/m)
      const leaders = [...(await measured()).matchAll(/^(\w+)_leader (\d)$/gm)]
      expect(Object.fromEntries(leaders.map(([, loop, leads]) => [loop, leads]))).toEqual({
        worker_controller: '1',
        resource_scheduler: '1',
        lablet_controller: '1',
        lablet_controller_lab_actions: '1',
        lablet_controller_lab_scan: '1',
        lablet_controller_content_sync: '1',
      })
    })
  })
})

describe('a failed start', () => {
  const refusal = async (given: UpOptions): Promise<string> => {
    const error = await up(given, mute).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(StartupError)
    return error instanceof Error ? error.message : ''
  }

  it('reports the port that is in use', async () => {
    const other = createServer()
    await new Promise<void>(resolve => other.listen(0, 'localhost', resolve))
    const address = other.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const dataDir = scratch()
    expect(await refusal(options(join(dataDir, 'new'), { port }))).toContain(`port ${port} is in use`)
    expect(readdirSync(dataDir)).toEqual([])
    other.close()
  })

  it('refuses a damaged store and does not change it', async () => {
    const dataDir = scratch()
    writeFileSync(join(dataDir, 'lcm.sqlite'), 'something else')
    expect(await refusal(options(dataDir))).toMatch(/lcm\.sqlite is not an LCM store.*--data/)
    expect(readFileSync(join(dataDir, 'lcm.sqlite'), 'utf8')).toBe('something else')
  })

  it('refuses a damaged simulated cloud', async () => {
    const dataDir = scratch()
    writeFileSync(join(dataDir, 'sim.sqlite'), 'something else')
    expect(await refusal(options(dataDir))).toContain('sim.sqlite')
  })

  it('lists missing AWS variables and the valid log levels', async () => {
    expect(await refusal(options(scratch(), { cloud: 'aws' }))).toContain('AWS_REGIONS_CONFIG_PATH')
    const wrong = await refusal(options(scratch(), { env: { LCM_LOG_LEVEL: 'loud', LCM_METRICS_PUBLIC: 'perhaps' } }))
    expect(wrong).toMatch(/LCM_LOG_LEVEL=loud: .*debug.*info.*warn.*LCM_METRICS_PUBLIC=perhaps/)
  })

  it('reports a bad webhook URL with the other variables, and creates no folder', async () => {
    const dataDir = join(scratch(), 'new')
    const env = { LCM_LOG_LEVEL: 'loud', LCM_WEBHOOK_URL: 'nowhere' }
    expect(await refusal(options(dataDir, { env }))).toMatch(/LCM_LOG_LEVEL=loud: .*LCM_WEBHOOK_URL=\(hidden\): /)
    expect(existsSync(dataDir)).toBe(false)
  })

  it('releases the folder for the next start', async () => {
    const dataDir = scratch()
    await refusal(options(dataDir, { cloud: 'aws' }))
    await whileUp(dataDir, async ({ client }) => {
      expect(await client.call('info', {})).toMatchObject({ cloud: 'sim' })
    })
  })
})
