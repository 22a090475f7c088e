import { readFile, realpath, stat } from 'node:fs/promises'
import { resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CloudError } from '@lcm/cloud/errors'
import { type Objects, parseS3Address } from '@lcm/cloud/object-storage'
import { linkedAbort } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'

export const PACKAGE_BYTES_MAX = 20 * 1024 * 1024
const TIMEOUT_MS = 60_000
const REDIRECTS_MAX = 3

/** Reads content packages from files, https and S3. */
export interface ContentSources {
  /** Rejects with a ContentError, or with the reason of the signal. */
  read(source: string, signal: AbortSignal): Promise<Buffer>
}

export interface ContentSourcesOptions {
  readonly clock: Clock
  /** Files are read below this folder only; null: none are. */
  readonly folder: string | null
  readonly fetch: typeof globalThis.fetch
  /** Reads S3 objects; null: s3 sources are refused. */
  readonly objects: Objects | null
}

export const contentSources = ({ clock, folder, fetch, objects }: ContentSourcesOptions): ContentSources => ({
  async read(source, signal) {
    if (source.startsWith('file:')) return readBelow(folder, source)
    if (source.startsWith('https:')) return readHttps({ clock, fetch }, source, signal)
    if (source.startsWith('s3:')) return readBucket(objects, source, signal)
    throw new ContentError('a source begins with file:, https:// or s3://')
  },
})

async function readBelow(folder: string | null, source: string): Promise<Buffer> {
  if (folder === null) throw new ContentError('no folder is set up for file: sources')
  const root = await realpath(folder).catch(() => null)
  if (root === null) throw new ContentError('the folder for file: sources is not there')
  const asked = source.startsWith('file://') ? pathOf(source) : resolve(root, source.slice('file:'.length))
  // Links are resolved before the path is checked.
  const path = await realpath(asked).catch(() => null)
  if (path === null || !path.startsWith(root.endsWith(sep) ? root : root + sep))
    throw new ContentError('there is no such file below the folder for file: sources')
  try {
    const { size } = await fileAt(path)
    if (size > PACKAGE_BYTES_MAX) throw tooLarge()
    return await readFile(path)
  } catch (error) {
    if (error instanceof ContentError) throw error
    throw new ContentError("the file can't be read", { cause: error })
  }
}

/** Opening a pipe may never end, so only regular files are opened. */
async function fileAt(path: string): Promise<{ size: number }> {
  const found = await stat(path)
  if (!found.isFile()) throw new ContentError('that is not a file')
  return found
}

function pathOf(source: string): string {
  try {
    return fileURLToPath(source)
  } catch (cause) {
    throw new ContentError('that is not a file URL', { cause })
  }
}

const tooLarge = () => new ContentError(`the package is larger than ${PACKAGE_BYTES_MAX} bytes`)

async function readBucket(objects: Objects | null, source: string, signal: AbortSignal): Promise<Buffer> {
  if (objects === null)
    throw new ContentError('there is no S3 beside the simulated cloud; use a file: or https:// source')
  const place = parseS3Address(source)
  if (place === null) throw new ContentError('an s3 source is s3:// with the name of a bucket, a slash and a key')
  try {
    return await objects.read(place, PACKAGE_BYTES_MAX, signal)
  } catch (error) {
    if (!(error instanceof CloudError)) throw error
    throw new ContentError(`S3 did not give it out: ${error.message}`, { cause: error })
  }
}

async function readHttps(
  { clock, fetch }: Pick<ContentSourcesOptions, 'clock' | 'fetch'>,
  source: string,
  signal: AbortSignal,
): Promise<Buffer> {
  const timeout = linkedAbort(signal)
  const cancel = clock.after(TIMEOUT_MS, () =>
    timeout.abort(new ContentError(`nothing came within ${TIMEOUT_MS / 1000} s`)),
  )
  try {
    return await bodyOf(await follow(fetch, new URL(source), timeout.signal))
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (error instanceof ContentError) throw error
    if (timeout.signal.reason instanceof ContentError) throw timeout.signal.reason
    throw new ContentError(`it could not be fetched: ${causeOf(error)}`, { cause: error })
  } finally {
    cancel()
    timeout.unlink()
  }
}

const causeOf = (error: unknown): string => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  return cause instanceof Error ? cause.message : String(cause)
}

/** Follows a few redirects, within https only. */
async function follow(fetch: typeof globalThis.fetch, first: URL, signal: AbortSignal): Promise<Response> {
  let url = first
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    if (url.protocol !== 'https:') throw new ContentError('it redirects to an address that is not https')
    const response = await fetch(url, { redirect: 'manual', signal })
    const location = response.headers.get('location')
    if (response.status < 300 || response.status >= 400 || location === null) return response
    await response.body?.cancel()
    url = new URL(location, url)
  }
  throw new ContentError(`it redirects more than ${REDIRECTS_MAX} times`)
}

async function bodyOf(response: Response): Promise<Buffer> {
  if (response.status !== 200) throw new ContentError(`it answered with status ${response.status}`)
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > PACKAGE_BYTES_MAX) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** A package can't be fetched or used. The message is shown to the author of the definition. */
export class ContentError extends Error {
  override readonly name = 'ContentError'
}
