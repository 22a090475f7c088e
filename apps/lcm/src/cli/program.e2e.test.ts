import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { onTerminal, type Terminal } from './testing/lcm-on-terminal.ts'
import { runLcm, startLcm } from './testing/lcm-process.ts'

/** Workers boot within seconds. */
const SPEED = 240
const dataDir = mkdtempSync(join(tmpdir(), 'lcm-cli-'))
const LIMIT = { timeout: 90_000 }
const NAMES = ['metal-1', 'metal-2', 'nested-1']

let up: ChildProcess | null = null
beforeAll(async () => {
  up = await startLcm(dataDir, SPEED)
  await Promise.all(NAMES.map(name => lcm('start', 'worker', name, '--wait', '--timeout', '2m')))
}, LIMIT.timeout)
afterAll(async () => {
  for (const each of terminals) each.close()
  const exited = up === null ? null : once(up, 'exit')
  up?.kill('SIGTERM')
  await exited
})

const global = (args: readonly string[]) => ['--data', dataDir, ...args]
const terminals: Terminal[] = []
function terminal(args: readonly string[], rows: number, columns: number): Terminal {
  const opened = onTerminal(global(args), rows, columns)
  terminals.push(opened)
  return opened
}
const lcm = (...args: string[]) => runLcm(global(args))
const json = async (...args: string[]) => JSON.parse((await lcm(...args, '-o', 'json')).out)
const nameIn = ({ name }: { name: string }) => name

// These tests run concurrently, because most of their time is spent waiting for the other process.
describe('views of the fleet', LIMIT, () => {
  it.concurrent('shows the plan and the services', async () => {
    const services = await json('get', 'services')
    expect(services.items.map(({ leader }: { leader: object | null }) => leader !== null)).toEqual([true, true, true])
    expect(await json('plan')).toMatchObject({ services: services.items.map(() => ({ caveat: null })) })
    expect(await lcm('plan')).toMatchObject({ code: 0, err: '' })
    const described = await lcm('describe', 'service', 'worker-controller')
    expect(described.out).toMatch(/state +healthy/)
  })

  it.concurrent('prints the load of each worker once without a terminal', async () => {
    const { code, out } = await lcm('top', '--sort', 'name')
    expect(code).toBe(0)
    const lines = out.trimEnd().split('\n')
    // 15 until the workers are registered.
    expect(lines[0]).toMatch(/^3 workers: 3 RUNNING {2}· {2}0 of \d{2,3} nodes reserved {2}· {2}\$8\.83 per hour/)
    expect(lines.slice(2).map(line => line.split(' ')[0])).toEqual(NAMES)
  })

  it.concurrent('shows the cost of each worker, which adds up', async () => {
    const cost = await json('cost', '--since', '1h')
    expect(cost.items.map(nameIn).toSorted()).toEqual(NAMES)
    const sum = cost.items.reduce((total: number, each: { spent_usd: number }) => total + each.spent_usd, 0)
    expect(sum).toBeCloseTo(cost.spent_usd, 9)
    expect(cost.by_cause.boot).toBeGreaterThan(0)
  })

  it.concurrent('shows the audit log, and no leaks', async () => {
    const { items } = await json('audit', '--actor', 'admin')
    expect(items.length).toBeGreaterThanOrEqual(NAMES.length)
    expect(await lcm('get', 'leaks')).toMatchObject({ code: 0, out: '' })
  })
})

describe('commands, and live views on a terminal', LIMIT, () => {
  it.concurrent('registers a license without showing its token, and deregisters it', async () => {
    const token = 'a-secret-license-token'
    const args = ['license', 'register', 'metal-1', '--product', 'CML_Enterprise', '--wait']
    const registered = await runLcm(global(args), `${token}\n`)
    expect(registered).toMatchObject({ code: 0, out: expect.stringMatching(/^the license of metal-1 is REGISTERED/) })
    const outputs = [await lcm('audit', '-o', 'json'), await lcm('get', 'worker', 'metal-1', '-o', 'json'), registered]
    expect(JSON.stringify(outputs)).not.toContain(token)
    expect(await lcm('license', 'deregister', 'metal-1', '--wait')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^the license of metal-1 is UNREGISTERED/),
    })
  })

  it.concurrent('drains a worker until it is stopped', async () => {
    const drained = await lcm('drain', 'worker', 'metal-2', '--wait')
    expect(drained).toMatchObject({ code: 0, out: expect.stringMatching(/^metal-2 is STOPPED after/) })
    const again = await lcm('drain', 'worker', 'metal-2')
    expect(again).toMatchObject({ code: 4, out: '' })
    expect(again.err).toMatch(/^error: metal-2 is STOPPED; .*: stop or terminate it without draining\n$/)
  })

  it.concurrent('protects a worker until it is unprotected', async () => {
    await lcm('protect', 'worker', 'nested-1')
    expect(await lcm('terminate', 'worker', 'nested-1', '--yes')).toMatchObject({
      code: 4,
      err: expect.stringContaining('`lcm unprotect worker ID`'),
    })
    expect(await lcm('unprotect', 'worker', 'nested-1')).toMatchObject({ code: 0 })
  })

  it.concurrent('sets and clears faults of the cloud', async () => {
    expect(await json('chaos', 'fault', 'metric_gap_rate=0.5')).toMatchObject({ plan: { metric_gap_rate: 0.5 } })
    expect((await lcm('chaos', 'list')).out).toContain('metric_gap_rate 0.5')
    expect(await lcm('chaos', 'fault', 'nonsense=1')).toMatchObject({ code: 2, out: '' })
    expect(await lcm('chaos', 'fault', '--clear')).toMatchObject({
      out: 'Preset: calm, no faults\n',
    })
  })

  it.concurrent.each([
    [3, ['chaos', 'stop', 'metal-99']],
    [3, ['describe', 'service', 'nonsense']],
    [5, ['top', '--token', 'wrong']],
    [6, ['plan', '--url', 'http://127.0.0.1:1']],
  ])('exits with %i from %j and prints only one sentence', async (code, args) => {
    const ended = await lcm(...args)
    expect(ended).toMatchObject({ code, out: '' })
    expect(ended.err).toMatch(/^error: [^\n]+\n$/)
  })

  it.concurrent('top fits the terminal, handles keys, and restores the terminal', async () => {
    const top = terminal(['top', '--sort', 'name'], 24, 120)
    await top.until(screen => screen.includes('nested-1') && screen.includes('SPENT'))
    expect(top.screen()[3]).toMatch(/^metal-1 /)
    await top.resize(8, 40)
    await top.until(screen => !screen.includes('SPENT'))
    expect(top.screen()).toHaveLength(8)
    expect(
      Math.max(
        ...top
          .screen()
          .slice(5, -1)
          .map(line => line.length),
      ),
    ).toBeLessThanOrEqual(40)
    expect(top.screen().at(-1)).toContain('… and 2 more')
    top.type('i')
    await top.until(screen => screen.includes('by idle'))
    top.type('q')
    expect(await top.ended).toBe(0)
    expect(top.written().indexOf('\u001b[?1049h')).toBeLessThan(top.written().indexOf('\u001b[?1049l'))
  })

  it.concurrent('get workers --watch shows the recovery of a worker that was stopped outside LCM, until Ctrl-C', async () => {
    const watch = terminal(['get', 'workers', '--watch'], 24, 140)
    await watch.until(screen => /nested-1 .* RUNNING /.test(screen))
    await lcm('chaos', 'stop', 'nested-1')
    await lcm('services', 'trigger', 'worker-controller')
    // The worker may recover before the test reads: earlier output counts too.
    await watch.until(() => /nested-1 .* \S+ -> RUNNING/.test(watch.written()))
    await watch.until(screen => screen.includes('nested-1') && !screen.includes('-> RUNNING'))
    watch.type('\u0003')
    expect(await watch.ended).toBe(0)
  })

  it.concurrent('does not echo the token that it prompts for', async () => {
    const prompt = terminal(['license', 'register', 'nested-1', '--product', 'CML_Enterprise'], 24, 120)
    await prompt.until(screen => screen.includes('input hidden:'))
    prompt.type('typed-in-secret\r')
    expect(await prompt.ended).toBe(0)
    expect(prompt.written()).toContain('will be registered')
    expect(prompt.written()).not.toContain('typed-in-secret')
  })
})

it('says in one sentence that AWS credentials are missing', LIMIT, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'lcm-aws-'))
  const regions = join(folder, 'regions.yaml')
  const region = 'us-east-1: { security_group_ids: [sg-0123456789abcdef0], subnets: [subnet-0123456789abcdef0] }'
  writeFileSync(regions, `aws_region_configs:\n  ${region}\n`)
  const env = { HOME: folder, AWS_EC2_METADATA_DISABLED: 'true', AWS_REGIONS_CONFIG_PATH: regions }
  const args = ['up', '--cloud', 'aws', '--port', '0', '--data', join(folder, 'data')]
  const { code, out, err } = await runLcm(args, '', env)
  expect({ code, out, lines: err.trim().split('\n').length }).toEqual({ code: 2, out: '', lines: 1 })
  expect(err).toMatch(/^error: --cloud aws found no AWS credentials: set AWS_PROFILE/)
})
