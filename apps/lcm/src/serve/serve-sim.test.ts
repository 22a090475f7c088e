import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { z } from 'zod'
import { type ServeSimOptions, serveSim } from './serve-sim.ts'

const OPTIONS: ServeSimOptions = {
  port: 0,
  dataDir: null,
  seed: 5,
  speed: 60,
  preset: null,
  cml: 'off',
  fleet: 0,
}

const folders: string[] = []
const folder = () => {
  const made = mkdtempSync(join(tmpdir(), 'lcm-serve-sim-'))
  folders.push(made)
  return made
}
afterEach(() => {
  for (const each of folders.splice(0)) rmSync(each, { recursive: true, force: true })
})

interface Served {
  readonly url: string
  readonly lines: readonly string[]
}

/** Serves until `use` is done with it. */
async function whileServing<Result>(
  options: Partial<ServeSimOptions>,
  use: (served: Served) => Promise<Result>,
): Promise<Result> {
  const stop = new AbortController()
  const lines: string[] = []
  let arrived = (_: string): void => undefined
  const url = new Promise<string>(resolve => {
    arrived = resolve
  })
  const out = (line: string) => {
    lines.push(line)
    const at = /AWS_ENDPOINT_URL=(\S+)/.exec(line)?.[1]
    if (at !== undefined) arrived(at)
  }
  const done = serveSim({ ...OPTIONS, ...options }, { out, err: () => undefined, signal: stop.signal })
  try {
    await Promise.race([url, done])
    return await use({ url: await url, lines })
  } finally {
    stop.abort()
    await done.catch(() => undefined)
  }
}

const Machines = z.object({
  items: z.array(z.object({ instance_id: z.string(), state: z.string(), region: z.string(), tags: z.looseObject({}) })),
})
const machines = async (url: string) => Machines.parse(await (await fetch(`${url}/sim/v1/instances`)).json()).items

it('prints how to reach it, and stops listening when it ends', async () => {
  const url = await whileServing({ preset: 'realistic' }, async served => {
    expect(served.lines.join('\n')).toContain(`export AWS_ENDPOINT_URL=${served.url}`)
    expect(served.lines.join('\n')).toContain('realistic, speed 60, seed 5')
    expect(served.lines.join('\n')).toContain('export CML_DEFAULT_PASSWORD=lablet')
    return served.url
  })
  await expect(fetch(url)).rejects.toThrow()
})

it('creates the same fleet each time, with several states, regions and owners', async () => {
  const listed = () => whileServing({ fleet: 16 }, ({ url }) => machines(url))
  const fleet = await listed()
  expect(fleet).toHaveLength(16)
  expect(new Set(fleet.map(({ state }) => state))).toEqual(new Set(['running', 'stopped', 'pending', 'terminated']))
  expect(new Set(fleet.map(({ region }) => region)).size).toBe(3)
  expect(fleet.every(({ tags }) => 'cml-managed' in tags)).toBe(true)
  expect(fleet.filter(({ tags }) => 'lcm:fleet' in tags)).toHaveLength(3)
  expect((await listed()).map(({ instance_id }) => instance_id)).toEqual(fleet.map(({ instance_id }) => instance_id))
})

it('stores its state and faults in a folder, and creates the fleet only once', async () => {
  const dataDir = join(folder(), 'world')
  const kept = { dataDir, fleet: 4 }
  const before = await whileServing({ ...kept, preset: 'hostile' }, ({ url }) => machines(url))
  const after = await whileServing({ ...kept, seed: 77 }, async ({ url }) => {
    expect(await (await fetch(`${url}/sim/v1/faults`)).json()).toMatchObject({ preset: 'hostile' })
    return machines(url)
  })
  expect(after.map(({ instance_id }) => instance_id)).toEqual(before.map(({ instance_id }) => instance_id))
})

it('reports a port or a folder that is in use', async () => {
  const dataDir = folder()
  await whileServing({ dataDir }, async ({ url }) => {
    const port = Number(new URL(url).port)
    await expect(whileServing({ port }, async () => undefined)).rejects.toMatchObject({
      message: expect.stringContaining(`port ${port}`),
      advice: 'choose another with --port',
    })
    await expect(whileServing({ dataDir }, async () => undefined)).rejects.toThrow('sim.sqlite')
  })
})
