import type { Clock } from '@lcm/runtime/clock'
import type { Compute, Image, ImageQuery } from '../compute.ts'
import { CloudError } from '../errors.ts'
import { type BatchQueue, batchQueue, getOrCreate } from './batched-compute.ts'

/** Maximum age of a cached image. */
export const IMAGE_TTL_MS = 5 * 60_000
/**
 * A missing image may be copied any minute, and a launch waits for it. Shorter than the interval between two
 * reconciliations.
 */
export const NO_IMAGE_TTL_MS = 20_000

interface CachedImage {
  readonly image: Image | null
  readonly untilMs: number
}

/**
 * Queries the newest image once per region, query and TTL, however many launches need it. Concurrent callers share a
 * request. Errors are not cached. A launch that EC2 rejects because its image is gone evicts the entry.
 */
export function imageCache(compute: Compute, clock: Clock): Compute {
  const cache = new Map<string, CachedImage>()
  const queues = new Map<string, BatchQueue<Image | null>>()

  async function latest(key: string, ask: () => Promise<Image | null>): Promise<Image | null> {
    const cached = cache.get(key)
    if (cached !== undefined && clock.monotonic() < cached.untilMs) return cached.image
    cache.delete(key)
    const image = await ask()
    cache.set(key, { image, untilMs: clock.monotonic() + (image === null ? NO_IMAGE_TTL_MS : IMAGE_TTL_MS) })
    return image
  }

  const queueOf = (region: string, wanted: ImageQuery): BatchQueue<Image | null> =>
    batchQueue(1, async (keys, signal) => {
      const answers = keys.map(
        async key => [key, await latest(key, () => compute.newestImage(region, wanted, signal))] as const,
      )
      return new Map(await Promise.all(answers))
    })

  return {
    ...compute,
    newestImage(region, wanted, signal) {
      const key = JSON.stringify([region, wanted.owner, wanted.name_pattern])
      return getOrCreate(queues, key, () => queueOf(region, wanted)).ask(key, signal)
    },
    async launch(region, request, signal) {
      try {
        return await compute.launch(region, request, signal)
      } catch (error) {
        if (isImageGone(error))
          for (const [key, { image }] of cache) if (image?.image_id === request.parameters.image_id) cache.delete(key)
        throw error
      }
    },
  }
}

/** Deregistered, or no longer shared with this account. */
const isImageGone = (error: unknown): boolean => error instanceof CloudError && error.code.startsWith('InvalidAMIID')
