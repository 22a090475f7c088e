import { UnreachableError } from '@lcm/client/client'
import { PROBLEMS } from '@lcm/contract/problem-codes'
import type { ApiRequest, ApiResponse } from '@lcm/contract/route-spec'
import { describe, expect, it } from 'vitest'
import { requestSignIn, signInFailureText } from './sign-in.ts'

const answering = (status: number, body: string | null) => async (): Promise<ApiResponse> => ({
  status,
  headers: {},
  body,
})

describe('a sign-in', () => {
  it('sends the credentials in the body, never in the address', async () => {
    const seen: ApiRequest[] = []
    const transport = async (request: ApiRequest) => {
      seen.push(request)
      return { status: 204, headers: {}, body: null }
    }
    expect(await requestSignIn(transport, { token: 'a-token' })).toBeNull()
    expect(seen).toMatchObject([{ method: 'POST', url: '/login', body: '{"token":"a-token"}' }])
  })

  it('says how it failed', async () => {
    const wrong = answering(401, JSON.stringify({ code: 'login_code_invalid' }))
    expect(await requestSignIn(wrong, { code: 'x' })).toEqual({ by: 'link', code: 'login_code_invalid' })
    expect(await requestSignIn(answering(502, '<html>'), { token: 'x' })).toEqual({ by: 'token', code: 'unreadable' })
    const gone = () => Promise.reject(new UnreachableError('gone'))
    expect(await requestSignIn(gone, { token: 'x' })).toEqual({ by: 'token', code: 'unreachable' })
  })
})

it('explains every failure that the API can cause, and any other', () => {
  const general = signInFailureText({ by: 'token', code: 'something else' })
  expect(general).toContain('Try again')
  for (const failure of [
    { by: 'link', code: 'login_code_invalid' },
    { by: 'link', code: 'unauthenticated' },
    { by: 'token', code: 'unauthenticated' },
    { by: 'token', code: 'forbidden' },
    { by: 'account', code: 'unauthenticated' },
    { by: 'account', code: 'forbidden' },
    { by: 'account', code: 'identity_provider_unavailable' },
    { by: 'token', code: 'too_many_attempts' },
    { by: 'link', code: 'foreign_origin' },
  ] as const) {
    expect(PROBLEMS).toHaveProperty(failure.code)
    expect(signInFailureText(failure)).not.toBe(general)
  }
})
