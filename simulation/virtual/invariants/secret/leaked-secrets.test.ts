import type { Dispatch } from '@lcm/contract/route-spec'
import { describe, expect, it } from 'vitest'
import { CML_LOGIN } from '../../world/planted-secrets.ts'
import { scanningLogger, withoutLeakedSecrets } from './leaked-secrets.ts'

const SECRET = CML_LOGIN.password
const NEVER = new AbortController().signal

function scanned(body: string) {
  const found: string[] = []
  const answer: Dispatch = async () => ({ status: 200, headers: {}, body })
  const parts = { controllerTokens: ['controller'], violated: (rule: string) => void found.push(rule) }
  const dispatch = withoutLeakedSecrets(answer, parts)
  const send = (method: string, url: string, token: string, sent: string | null = null) =>
    dispatch({ method, url, headers: { authorization: `Bearer ${token}` }, body: sent, signal: NEVER })
  return { found, send }
}

describe('a planted secret', () => {
  it('is sent to controllers by the secret routes only', async () => {
    const { found, send } = scanned(SECRET)
    await send('GET', '/workers/w-1/secrets', 'controller')
    expect(found).toEqual([])
    await send('GET', '/workers/w-1', 'controller')
    expect(found).toEqual(['a secret was sent by GET /workers/w-1'])
  })

  it('is sent to no other user, not even by the secret routes', async () => {
    const { found, send } = scanned(SECRET)
    await send('GET', '/worker-templates/metal/user-data?version=1', 'admin')
    expect(found).toEqual(['a secret was sent by GET /worker-templates/metal/user-data'])
  })

  it('is written by no controller', async () => {
    const { found, send } = scanned('')
    await send('POST', '/decisions', 'controller', JSON.stringify({ epoch: 1, because: SECRET }))
    await send('PUT', '/workers/w-1/credentials', 'admin', JSON.stringify(CML_LOGIN))
    expect(found).toEqual(['a secret was written by POST /decisions'])
  })

  it.each<[string, object, string]>([
    ['a sentence', {}, `with ${SECRET}`],
    ['a field', { login: { password: SECRET } }, 'a login'],
    ['an error', { err: new Error('failed', { cause: new Error(`refused: ${SECRET}`) }) }, 'a failure'],
  ])('is found in %s of a log', (_, fields, message) => {
    const found: string[] = []
    const logger = scanningLogger(rule => void found.push(rule))
    logger.child({ service: 'one' }).warn({ id: 'w-1' }, 'nothing of it')
    expect(found).toEqual([])
    logger.child({ service: 'one' }).warn(fields, message)
    expect(found).toHaveLength(1)
  })
})
