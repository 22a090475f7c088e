import { CloudError } from '@lcm/cloud/errors'
import { expect, it } from 'vitest'
import { crashSessions, SESSION_PATHS, type SessionPath, undisturbedSessions } from './session-crashes.ts'
import type { Spoilt } from './world.ts'

const SEED = 3

function pathWith(spoilt: Spoilt, wanted = 'book, run, end'): SessionPath {
  const path = SESSION_PATHS.find(({ name }) => name === wanted)
  if (path === undefined) throw new Error('there is no such path')
  return { ...path, options: { ...path.options, spoilt } }
}
const spoilt = (labs: NonNullable<Spoilt['labs']>): SessionPath => pathWith({ labs })

const story = (error: unknown): string => (error instanceof Error ? `${error.message}\n${story(error.cause)}` : '')

async function foundBy(run: () => Promise<unknown>): Promise<string> {
  try {
    await run()
    return 'nothing was found'
  } catch (error) {
    return story(error)
  }
}

it('an import that does not look for an earlier one is found', async () => {
  const path = spoilt(labs => ({ ...labs, list: async () => [] }))
  const names = (
    await undisturbedSessions(
      spoilt(labs => labs),
      SEED,
    )
  )['lablet-controller']
  const point = { call: names.indexOf('labs.import'), when: 'after', heir: 'standby' } as const
  const found = await foundBy(() => crashSessions(path, SEED, { ...point, service: 'lablet-controller' }))
  expect(found).toMatch(/has 2 labs|there were 2 labs/)
})

it('a lab that is taken for removed and was not is found', async () => {
  const hidden = new Set<string>()
  const gone = () => new CloudError('not_found', { code: '404', action: 'labs', message: 'no such lab' })
  const path = spoilt(labs => ({
    ...labs,
    delete: async (_, id) => void hidden.add(id),
    get: async (login, id, signal) => (hidden.has(id) ? Promise.reject(gone()) : labs.get(login, id, signal)),
    list: async (login, signal) => (await labs.list(login, signal)).filter(({ lab_id }) => !hidden.has(lab_id)),
  }))
  expect(await foundBy(() => undisturbedSessions(path, SEED))).toMatch(/is ARCHIVED and has/)
})

it('a flight of more workers than what waits needs is found', async () => {
  const asking: Spoilt['asking'] = dispatch => async request => {
    if (!request.url.includes('/workers/scale-up')) return dispatch(request)
    const asked = JSON.parse(request.body ?? '{}')
    return dispatch({ ...request, body: JSON.stringify({ ...asked, count: asked.count + 1 }) })
  }
  const found = await foundBy(() => undisturbedSessions(pathWith({ asking }, 'more than fits'), SEED))
  expect(found).toMatch(/are bought for what needs at most/)
})
