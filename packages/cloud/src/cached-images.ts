import type { Clock } from '@lcm/runtime/clock'
import { entryOf, type Line, newLine } from './batched-compute.ts'
import type { Compute, Image, ImageQuery } from './compute.ts'
import { CloudError } from './errors.ts'

/** How old an answer may be. */
export const IMAGE_TTL_MS = 5 * 60_000
/** The image that is missing may be copied any minute, and a launch waits for it. Shorter than the time between two looks. */
export const NO_IMAGE_TTL_MS = 20_000

interface Known {
  readonly image: Image | null
  readonly untilMs: number
}

/**
 * Asks for the newest image once per region, query and TTL, however many launches need it. Callers that come while it is asked
 * share that call. Errors are not cached. A launch that EC2 refuses because its image is gone ends the entry.
 */
export function cachedImages(compute: Compute, clock: Clock): Compute {
  const known = new Map<string, Known>()
  const lines = new Map<string, Line<Image | null>>()

  async function latest(key: string, ask: () => Promise<Image | null>): Promise<Image | null> {
    const cached = known.get(key)
    if (cached !== undefined && clock.monotonic() < cached.untilMs) return cached.image
    known.delete(key)
    const image = await ask()
    known.set(key, { image, untilMs: clock.monotonic() + (image === null ? NO_IMAGE_TTL_MS : IMAGE_TTL_MS) })
    return image
  }

  const lineOf = (region: string, wanted: ImageQuery): Line<Image | null> =>
    newLine(1, async (keys, signal) => {
      const answers = keys.map(
        async key => [key, await latest(key, () => compute.newestImage(region, wanted, signal))] as const,
      )
      return new Map(await Promise.all(answers))
    })

  return {
    ...compute,
    newestImage(region, wanted, signal) {
      const key = JSON.stringify([region, wanted.owner, wanted.name_pattern])
      return entryOf(lines, key, () => lineOf(region, wanted)).ask(key, signal)
    },
    async launch(region, request, signal) {
      try {
        return await compute.launch(region, request, signal)
      } catch (error) {
        if (isImageGone(error))
          for (const [key, { image }] of known) if (image?.image_id === request.parameters.image_id) known.delete(key)
        throw error
      }
    },
  }
}

/** Deregistered, or no longer shared with this account. */
const isImageGone = (error: unknown): boolean => error instanceof CloudError && error.code.startsWith('InvalidAMIID')
