import { ApiError } from '@lcm/client/client'
import { systemClock } from '@lcm/runtime/clock'
import { eventually } from '../failover-run.ts'
import type { ChaosCluster } from './chaos-cluster.ts'
import type { Fault } from './fault-under-load.ts'
import { repeated } from './process-faults.ts'
import type { SmallDisk } from './small-disk.ts'

const FULL_FOR_MS = 3_000

export const fullDisks = (rounds: number): Fault => ({
  name: 'disk-full',
  description:
    'no free block on the disk of the store until writes are refused and for 3 s more, and once with kill -9 of the API',
  steps: repeated(rounds, [
    { what: 'disk full', inject: fillDisk },
    { what: 'disk full and the API killed', inject: fillAndKill },
  ]),
})

async function fillDisk(setup: ChaosCluster): Promise<void> {
  const disk = diskOf(setup)
  disk.fill()
  try {
    await untilRefused(setup)
    await systemClock.sleep(FULL_FOR_MS)
    await readOn(setup)
  } finally {
    disk.freeSpace()
  }
}

async function fillAndKill(setup: ChaosCluster): Promise<void> {
  const disk = diskOf(setup)
  disk.fill()
  const { process } = setup.api
  try {
    await untilRefused(setup)
    process.signal('SIGKILL')
    await process.exited
  } finally {
    disk.freeSpace()
  }
  await setup.api.start()
}

/** The API must keep running and refuse the write. */
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
  description: 'the API is killed and started on a read-only disk, which then becomes writable again',
  steps: repeated(rounds, [
    { what: 'store read-only', inject: startReadOnly },
    { what: 'store read-only again', inject: startReadOnly },
  ]),
})

/** The error must name the read-only disk. */
async function startReadOnly(setup: ChaosCluster): Promise<void> {
  const disk = diskOf(setup)
  const { process } = setup.api
  process.signal('SIGKILL')
  await process.exited
  disk.setReadOnly(true)
  try {
    const message = await setup.api.start().then(
      () => 'the API started',
      (error: Error) => error.message,
    )
    if (!/read-?only/i.test(message)) throw new Error(`the API on a read-only disk: ${message}`)
  } finally {
    disk.setReadOnly(false)
  }
  await setup.api.start()
}

function diskOf({ disk }: ChaosCluster): SmallDisk {
  if (disk === null) throw new Error('the store has no small disk')
  return disk
}
