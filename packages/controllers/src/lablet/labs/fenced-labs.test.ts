import type { CmlLabs } from '@lcm/cloud/cml-labs'
import { NotLeadingError } from '@lcm/cloud/errors'
import { aWorker } from '@lcm/testkit/test-data-builders'
import { beforeEach, describe, expect, it } from 'vitest'
import { SupersededError } from '../../kit/fenced-write.ts'
import { never } from '../testing/lab-rig.ts'
import { type FencedLabs, fencedLabs } from './fenced-labs.ts'

let sent: string[]
let isHeld: boolean
let isWanted: boolean
let cmlLabs: FencedLabs

beforeEach(() => {
  sent = []
  isHeld = true
  isWanted = true
  const send = (name: string) => async () => void sent.push(name)
  const labs: CmlLabs = {
    list: async () => [],
    get: async () => Promise.reject(new Error('unexpected call')),
    import: async () => {
      sent.push('import')
      return { lab_id: 'lab', warnings: [] }
    },
    start: send('start'),
    stop: send('stop'),
    wipe: send('wipe'),
    delete: send('delete'),
    isConverged: async () => true,
    nodes: async () => [],
    extractConfiguration: send('extractConfiguration'),
    consoleLog: async () => '',
    download: async () => '',
    nodeQuota: async () => ({ quota: null, started: 0 }),
  }
  const url = 'https://192.0.2.1'
  const login = { url, certificate_sha256: null, username: 'lcm', password: 'lcm' }
  cmlLabs = fencedLabs(
    { labs, logins: { resolve: async () => login, forget: () => undefined } },
    {
      worker: aWorker({ https_endpoint: url, public_ip: '192.0.2.1' }),
      signal: never,
      leadership: { epoch: 1, signal: never, isHeld: () => isHeld },
      withoutSlot: work => work(),
      confirm: async () => {
        if (!isWanted) throw new SupersededError()
      },
    },
  )
})

const CHANGES: readonly [string, () => Promise<unknown>][] = [
  ['import', () => cmlLabs.import({ title: 'lab', topology: '' })],
  ['start', () => cmlLabs.start('lab')],
  ['stop', () => cmlLabs.stop('lab')],
  ['wipe', () => cmlLabs.wipe('lab')],
  ['delete', () => cmlLabs.delete('lab')],
  ['extractConfiguration', () => cmlLabs.extractConfiguration({ lab_id: 'lab', node_id: 'n' }, never)],
]

describe('D-2: changes without compare-and-set', () => {
  it.each(CHANGES)('%s is sent while the resource is unchanged and this instance leads', async (name, change) => {
    await change()
    expect(sent).toEqual([name])
  })

  it.each(CHANGES)('%s is not sent once another writer has changed the resource', async (_, change) => {
    isWanted = false
    await expect(change()).rejects.toThrow(SupersededError)
    expect(sent).toEqual([])
  })

  it.each(CHANGES)('%s is not sent once this instance has lost its leadership', async (_, change) => {
    isHeld = false
    await expect(change()).rejects.toThrow(NotLeadingError)
    expect(sent).toEqual([])
  })
})

it('reads need no leadership', async () => {
  isHeld = false
  isWanted = false
  expect([await cmlLabs.list(), await cmlLabs.nodes('lab'), await cmlLabs.isConverged('lab')]).toEqual([[], [], true])
})
