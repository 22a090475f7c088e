import { describe, expect, it } from 'vitest'
import { crashRun, undisturbed } from './crash-runs.ts'
import { PATHS, type Path } from './paths.ts'
import type { Spoilt } from './world.ts'
import { haunted } from './zombie.ts'

const SEED = 3

function spoiltPath(name: string, spoilt: Spoilt): Path {
  const path = PATHS.find(each => each.name === name)
  if (path === undefined) throw new Error(`there is no path ${name}`)
  return { ...path, options: { ...path.options, spoilt } }
}

/** The messages of an error and of all that led to it. */
const story = (error: unknown): string => (error instanceof Error ? `${error.message}\n${story(error.cause)}` : '')

async function foundBy(run: () => Promise<unknown>): Promise<string> {
  try {
    await run()
    return 'nothing was found'
  } catch (error) {
    return story(error)
  }
}

const callOf = async (path: Path, name: string): Promise<number> => (await undisturbed(path, SEED)).indexOf(name)

describe('a defect on purpose is found', () => {
  it('launches without a token that repeats', async () => {
    let launches = 0
    const token = () => {
      launches += 1
      return String(launches).padStart(64, '0')
    }
    const compute: Spoilt['compute'] = compute => ({
      ...compute,
      launch: (region, request, signal) => compute.launch(region, { ...request, client_token: token() }, signal),
      // A machine that was just launched may be in no listing: only the token stands between it and a twin.
      list: async () => [],
    })
    const path = spoiltPath('launch, stop, start, terminate', { compute })
    const point = { call: await callOf(path, 'ec2.launch'), when: 'after', heir: 'standby' } as const
    expect(await foundBy(() => crashRun(path, SEED, point))).toMatch(/live machines|machines, not 1/)
  })

  it('goes on as if it still led', async () => {
    const election: Spoilt['election'] = election => ({
      ...election,
      async campaign(signal) {
        const leadership = await election.campaign(signal)
        return leadership && { ...leadership, isHeld: () => true }
      },
    })
    const path = spoiltPath('register and deregister', { election })
    const call = await callOf(path, 'api.GET secrets')
    const found = await foundBy(async () => {
      const { mutations } = await haunted(path, SEED, call)
      if (mutations.length > 0) throw new Error('the zombie acted')
    })
    expect(found).toMatch(/zombie/)
  })

  it('believes that a licence was given back which was not', async () => {
    let isToldReturned = false
    const cml: Spoilt['cml'] = cml => ({
      ...cml,
      async deregister() {
        isToldReturned = true
        return 'returned'
      },
      async licensing(login, signal) {
        const seen = await cml.licensing(login, signal)
        return isToldReturned ? { ...seen, registration: 'NOT_REGISTERED' } : seen
      },
    })
    const path = spoiltPath('terminate with a licence', { cml })
    expect(await foundBy(() => undisturbed(path, SEED))).toMatch(/with its licence/)
  })
})
