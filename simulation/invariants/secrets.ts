import type { ApiRequest, ApiResponse, Dispatch } from '@lcm/contract/wire'
import { LICENSE } from '../people.ts'

/** What was planted where only controllers may read it. */
const PLANTED: readonly string[] = [LICENSE.token]
/** Where secrets are handed to those who need them. */
const HANDED_OUT = /\/(secrets|user-data)(\?|$)/

const holdsSecret = (text: string | null): boolean => text !== null && PLANTED.some(secret => text.includes(secret))
const bytesHoldSecret = (data: Uint8Array): boolean =>
  PLANTED.some(secret => Buffer.from(data.buffer, data.byteOffset, data.byteLength).includes(secret))

/** No answer and no event holds what was planted as a secret, and no controller writes it anywhere. */
export function secretless(dispatch: Dispatch, violated: (rule: string) => void): Dispatch {
  return async request => {
    if (isOfController(request) && holdsSecret(request.body)) violated(`a secret was written by ${nameOf(request)}`)
    const response = await dispatch(request)
    if (HANDED_OUT.test(request.url)) return response
    if (leaks(response)) violated(`a secret was told by ${nameOf(request)}`)
    const { body } = response
    if (body === null || typeof body === 'string' || response.bytes !== undefined) return response
    return { ...response, body: watched(body, () => violated(`a secret was told by ${nameOf(request)}`)) }
  }
}

const nameOf = ({ method, url }: ApiRequest): string => `${method} ${url.split('?')[0]}`
const isOfController = ({ headers }: ApiRequest): boolean => headers['lcm-epoch'] !== undefined

function leaks(response: ApiResponse): boolean {
  if (response.bytes !== undefined) return bytesHoldSecret(response.bytes.data)
  return typeof response.body === 'string' && holdsSecret(response.body)
}

async function* watched(chunks: AsyncIterable<string>, leaked: () => void): AsyncGenerator<string> {
  for await (const chunk of chunks) {
    if (holdsSecret(chunk)) leaked()
    yield chunk
  }
}
