import { ApiError } from '@lcm/client/client'
import { systemClock } from '@lcm/runtime/clock'
import { eventually } from '../failover.ts'
import type { ChaosCluster } from './chaos-cluster.ts'
import type { Fault } from './fault-under-load.ts'
import { repeated } from './process-faults.ts'
import type { SmallDisk } from './small-disk.ts'

const FULL_FOR_MS = 3_000

export const fullDisks = (rounds: number): Fault => ({
  name: 'disk-full',
  told: 'not one free block on the disk of the store, until writes are refused and for 3 s more; also kill -9 of the API then',
  strokes: repeated(rounds, [
    { what: 'disk full', strike: fillDisk },
    { what: 'disk full and the API killed', strike: fillAndKill },
  ]),
})

async function fillDisk(place: ChaosCluster): Promise<void> {
  const disk = diskOf(place)
  disk.fill()
  try {
    await untilRefused(place)
    await systemClock.sleep(FULL_FOR_MS)
    await readOn(place)
  } finally {
    disk.makeRoom()
  }
}

async function fillAndKill(place: ChaosCluster): Promise<void> {
  const disk = diskOf(place)
  disk.fill()
  const { process } = place.api
  try {
    await untilRefused(place)
    process.signal('SIGKILL')
    await process.exited
  } finally {
    disk.makeRoom()
  }
  await place.api.start()
}

/** The API must live on and say that nothing was written. */
const untilRefused = ({ api }: ChaosCluster) =>
  eventually('a refused write', async () => {
    const refusal = await api.client.call('createLoginLink', {}).then(
      () => null,
      (error: unknown) => error,
    )
    if (refusal === null) return null
    if (refusal instanceof ApiError && refusal.problem.code === 'store_unavailable') return true
    throw new Error(`a write on a full disk ended with ${String(refusal)}`)
  })

/** Existing documents stay readable. */
async function readOn({ api }: ChaosCluster): Promise<void> {
  const { items } = await api.client.call('listWorkers', { query: { limit: 10 } })
  if (items.length === 0) throw new Error('nothing can be read on a full disk')
}

export const readOnlyDisks = (rounds: number): Fault => ({
  name: 'read-only',
  told: 'the API is killed and started on a disk that can only be read; then the disk can be written again',
  strokes: repeated(rounds, [
    { what: 'store read-only', strike: startReadOnly },
    { what: 'store read-only again', strike: startReadOnly },
  ]),
})

/** It must say why it can not go on: by its exit, or by what it answers. */
async function startReadOnly(place: ChaosCluster): Promise<void> {
  const disk = diskOf(place)
  const { process } = place.api
  process.signal('SIGKILL')
  await process.exited
  disk.setReadOnly(true)
  try {
    const said = await place.api.start().then(
      () => 'it listens as if nothing were wrong',
      (error: Error) => error.message,
    )
    if (!/read-?only/i.test(said)) throw new Error(`on a read-only disk the API said: ${said}`)
  } finally {
    disk.setReadOnly(false)
  }
  await place.api.start()
}

function diskOf({ disk }: ChaosCluster): SmallDisk {
  if (disk === null) throw new Error('the store is on no disk of its own')
  return disk
}
