import { ProblemError } from '@lcm/contract/problems'
import { API_PREFIX, ROUTES, type RouteSpec } from '@lcm/contract/routes'
import { silentLogger } from '@lcm/runtime'
import { beforeEach, describe, expect, it } from 'vitest'
import type { AccessControl } from '../access/access-control.ts'
import type { Api } from '../api-context.ts'
import { dispatcher } from './dispatch.ts'
import type { Handlers } from './handlers.ts'

const TEAPOT = { status: 418, headers: {}, body: 'an extra route' }
const PATHS = [...new Set(Object.values<RouteSpec>(ROUTES).map(({ path }) => path))]

let asked: string[]
let answers: boolean
beforeEach(() => {
  asked = []
  answers = true
})

/** The extra routes claim every path. No request passes authentication, so nothing behind it is needed. */
const dispatch = dispatcher({
  api: {} as Api,
  handlers: {} as Handlers,
  access: {
    async identify(): Promise<never> {
      throw new ProblemError('unauthenticated', 'no token')
    },
  } as Partial<AccessControl> as AccessControl,
  log: silentLogger,
  async extra(_request, { pathname }) {
    asked.push(pathname)
    return answers ? TEAPOT : null
  },
})

const send = (method: string, url: string) =>
  dispatch({ method, url, headers: {}, body: null, signal: new AbortController().signal })

const addressOf = (path: string) => `${API_PREFIX}${path.replaceAll(/\{\w+\}/g, 'health')}`

describe('a path of the contract', () => {
  it.each(Object.entries<RouteSpec>(ROUTES))('is never answered by an extra route: %s', async (_, { method, path }) => {
    expect((await send(method, addressOf(path))).status).toBe(401)
    expect(asked).toEqual([])
  })

  it.each(PATHS)('is never answered by an extra route for another method: %s', async path => {
    const answer = await send('BREW', addressOf(path))
    expect(answer).toMatchObject({ status: 405, headers: { 'content-type': 'application/problem+json' } })
    expect(answer.headers.allow).toMatch(/\w/)
    expect(asked).toEqual([])
  })
})

describe('a path outside the contract', () => {
  const OUTSIDE = ['/', '/health', '/nothing', API_PREFIX, `${API_PREFIX}/`, `${API_PREFIX}/openapi.json`, '/workers']

  it.each(OUTSIDE)('is offered to the extra routes: %s', async path => {
    expect(await send('GET', `${path}?a=b`)).toEqual(TEAPOT)
    expect(asked).toEqual([path])
  })

  it.each(OUTSIDE)('is not found when they do not know it: %s', async path => {
    answers = false
    const answer = await send('GET', `${path}?a=b`)
    expect(answer).toMatchObject({ status: 404, headers: { 'content-type': 'application/problem+json' } })
    expect(JSON.parse(String(answer.body))).toMatchObject({
      code: 'not_found',
      detail: `nothing is at ${path}`,
      instance: path,
    })
  })
})
