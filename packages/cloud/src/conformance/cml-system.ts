import { CML_STAGES, type CmlStage } from '@lcm/domain/worker/boot'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CmlProbe, CmlSystem } from '../cml-system.ts'

/** A fresh cloud with one machine in it, for one test. */
export interface OpenCmlSystem {
  readonly cml: CmlSystem
  /** Where the machine's CML is reached now; null while it has no address. */
  endpoint(): string | null
  /** Moves time until the machine next changes, and returns once that can be seen. False when it changes no more. */
  toNextChange(): Promise<boolean>
  /** Stops the machine and starts it again, and returns when it runs. */
  restart(): Promise<void>
  close(): Promise<void>
}

const OTHER_PIN = 'f'.repeat(64)

/** What every adapter of the CML System port promises. */
export function cmlSystemConformance(name: string, open: () => Promise<OpenCmlSystem>): void {
  describe(`the CML system API on ${name}`, () => {
    let opened: OpenCmlSystem | undefined
    const machine = (): OpenCmlSystem => {
      if (!opened) throw new Error('the machine is there only while a test runs')
      return opened
    }
    beforeEach(async () => {
      opened = await open()
    })
    afterEach(async () => {
      await opened?.close()
    })
    booting(machine)
    pinning(machine)
    givingUp(machine)
  })
}

type Machine = () => OpenCmlSystem

function probe({ cml, endpoint }: OpenCmlSystem, certificate_sha256: string | null = null): Promise<CmlProbe> {
  return cml.probe({ url: endpoint() ?? 'https://127.0.0.1:1', certificate_sha256 }, new AbortController().signal)
}

/** Every stage that is seen until nothing changes any more, repeated ones once. */
async function stagesUntilStill(machine: OpenCmlSystem): Promise<readonly CmlStage[]> {
  const stages: CmlStage[] = []
  do {
    const { stage } = await probe(machine)
    if (stages.at(-1) !== stage) stages.push(stage)
  } while (await machine.toNextChange())
  return stages
}

async function untilReady(machine: OpenCmlSystem): Promise<CmlProbe> {
  await stagesUntilStill(machine)
  return probe(machine)
}

function booting(machine: Machine): void {
  it('sees a first boot step by step, fooled once before the reboot', async () => {
    const once = CML_STAGES
    expect(await stagesUntilStill(machine())).toEqual([...once, ...once])
  })

  it('tells the version and the certificate of a ready server, and nothing in its way', async () => {
    const ready = await untilReady(machine())
    expect(ready).toMatchObject({ stage: 'READY', version: '2.9.1+build.7', detail: '' })
    expect(ready.certificate_sha256).toMatch(/^[0-9a-f]{64}$/)
  })

  it('says what stands in the way while it is not ready', async () => {
    const early = await probe(machine())
    expect(early).toMatchObject({ stage: 'NOTHING', version: null, certificate_sha256: null })
    expect(early.detail).not.toBe('')
  })
}

function pinning(machine: Machine): void {
  it('goes on with the pinned certificate, also after a restart at a new address', async () => {
    const { certificate_sha256 } = await untilReady(machine())
    const before = machine().endpoint()
    await machine().restart()
    expect(await stagesUntilStill(machine())).toEqual(CML_STAGES)
    expect(machine().endpoint()).not.toBe(before)
    expect(await probe(machine(), certificate_sha256)).toMatchObject({ stage: 'READY', certificate_sha256 })
  })

  it('asks nothing of a server with another certificate', async () => {
    const { certificate_sha256 } = await untilReady(machine())
    const refused = await probe(machine(), OTHER_PIN)
    expect(refused).toMatchObject({ stage: 'TLS', version: null, certificate_sha256 })
    expect(refused.detail).toContain(OTHER_PIN)
  })
}

function givingUp(machine: Machine): void {
  it('answers even when its signal has aborted or the address is nonsense', async () => {
    await untilReady(machine())
    const { cml, endpoint } = machine()
    const url = endpoint() ?? ''
    expect((await cml.probe({ url, certificate_sha256: null }, AbortSignal.abort())).stage).toBe('NOTHING')
    const nonsense = await cml.probe({ url: 'no address', certificate_sha256: null }, new AbortController().signal)
    expect(nonsense.stage).toBe('NOTHING')
  })
}
