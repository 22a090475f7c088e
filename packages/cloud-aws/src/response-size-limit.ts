import { malformedResponse } from './cloud-call.ts'

/** Two hundred machines with all the tags that EC2 allows stay below it. */
const BODY_BYTES_MAX = 16 * 1024 * 1024

/** Position of the middleware: next to the wire, before anything is parsed. */
export const RESPONSE_SIZE_LIMIT = { step: 'deserialize', priority: 'low', name: 'lcmBoundAnswers' } as const

/** The SDK collects an answer however long it is; a body that never ends would take all the memory there is. */
export const limitResponseSize =
  <Args, Result extends { response: unknown }>(next: (args: Args) => Promise<Result>) =>
  async (args: Args): Promise<Result> => {
    const result = await next(args)
    const { response } = result
    if (hasBody(response) && isStream(response.body)) response.body = await wholeBody(response.body)
    return result
  }

const hasBody = (response: unknown): response is { body: unknown } =>
  typeof response === 'object' && response !== null && 'body' in response

const isStream = (body: unknown): body is AsyncIterable<Uint8Array> =>
  typeof body === 'object' && body !== null && Symbol.asyncIterator in body

/** Leaving the loop early destroys the stream, and its connection with it. */
async function wholeBody(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of stream) {
    bytes += chunk.byteLength
    if (bytes > BODY_BYTES_MAX) throw malformedResponse('reading', `an answer of more than ${BODY_BYTES_MAX} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
