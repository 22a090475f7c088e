import { readFile, realpath, stat } from 'node:fs/promises'
import { resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CloudError } from '@lcm/cloud/errors'
import { type Objects, parseS3Address } from '@lcm/cloud/object-storage'
import { isHostListed } from '@lcm/domain/outbound/host-list'
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
  /** The only hosts of https sources; null allows every host. */
  readonly hosts: readonly string[] | null
  /** Reads S3 objects; null: s3 sources are refused. */
  readonly objects: Objects | null
  /** The only buckets of s3 sources; null allows every bucket. */
  readonly buckets: readonly string[] | null
}

export const contentSources = (options: ContentSourcesOptions): ContentSources => ({
  async read(source, signal) {
    if (source.startsWith('file:')) return readBelow(options.folder, source)
    if (source.startsWith('https:')) return readHttps(options, source, signal)
    if (source.startsWith('s3:')) return readBucket(options, source, signal)
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

async function readBucket(
  { objects, buckets }: Pick<ContentSourcesOptions, 'objects' | 'buckets'>,
  source: string,
  signal: AbortSignal,
): Promise<Buffer> {
  if (objects === null)
    throw new ContentError('there is no S3 beside the simulated cloud; use a file: or https:// source')
  const place = parseS3Address(source)
  if (place === null) throw new ContentError('an s3 source is s3:// with the name of a bucket, a slash and a key')
  if (buckets?.includes(place.bucket) === false)
    throw new ContentError(`bucket ${place.bucket} is not one of those that an operator allows (LCM_CONTENT_BUCKETS)`)
  try {
    return await objects.read(place, PACKAGE_BYTES_MAX, signal)
  } catch (error) {
    if (!(error instanceof CloudError)) throw error
    throw new ContentError(`S3 did not give it out: ${error.action}: ${error.code}`, { cause: error })
  }
}

type HttpsOptions = Pick<ContentSourcesOptions, 'clock' | 'fetch' | 'hosts'>

async function readHttps(options: HttpsOptions, source: string, signal: AbortSignal): Promise<Buffer> {
  const timeout = linkedAbort(signal)
  const cancel = options.clock.after(TIMEOUT_MS, () =>
    timeout.abort(new ContentError(`nothing came within ${TIMEOUT_MS / 1000} s`)),
  )
  try {
    return await bodyOf(await follow(options, urlOf(source), timeout.signal))
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (error instanceof ContentError) throw error
    if (timeout.signal.reason instanceof ContentError) throw timeout.signal.reason
    throw new ContentError(failureText(error), { cause: error })
  } finally {
    cancel()
    timeout.unlink()
  }
}

function urlOf(text: string, base?: URL): URL {
  if (URL.canParse(text, base?.href)) return new URL(text, base)
  throw new ContentError(base === undefined ? 'that is not an address' : 'it redirects to something that is no address')
}

const NOT_PUBLIC =
  'the address of its host is not public. An operator can allow the host with LCM_OUTBOUND_PRIVATE_HOSTS'
const TLS_CODE = /CERT|^ERR_TLS_|^ERR_SSL_|^EPROTO$|SELF_SIGNED|UNABLE_TO_|LEAF_SIGNATURE/

/** The kind of failure. The message of a network error would show what answers at an address that only LCM can reach. */
function failureText(error: unknown): string {
  const code = codeOf(error)
  if (code === 'ADDRESS_REFUSED') return NOT_PUBLIC
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'its host was not found'
  if (TLS_CODE.test(code)) return 'its host does not show a certificate that LCM trusts'
  return 'the connection to its host failed'
}

/** The first code in a chain of causes. */
function codeOf(error: unknown): string {
  const { code, cause } = Object(error)
  if (typeof code === 'string') return code
  return cause === undefined || cause === null ? '' : codeOf(cause)
}

/** Follows a few redirects, within https and the allowed hosts only. */
async function follow({ fetch, hosts }: HttpsOptions, first: URL, signal: AbortSignal): Promise<Response> {
  let url = first
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    if (url.protocol !== 'https:') throw new ContentError('it redirects to an address that is not https')
    if (hosts !== null && !isHostListed(hosts, url))
      throw new ContentError(`host ${url.hostname} is not one of those that an operator allows (LCM_CONTENT_HOSTS)`)
    const response = await fetch(url, { redirect: 'manual', signal })
    const location = response.headers.get('location')
    if (response.status < 300 || response.status >= 400 || location === null) return response
    await response.body?.cancel()
    url = urlOf(location, url)
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
